-- +goose Up

-- What a provider did not read of a call's request, by its own count: JSON {sent_tokens, read_tokens}.
ALTER TABLE parley.calls ADD COLUMN truncated text;

-- +goose Down
ALTER TABLE parley.calls DROP COLUMN truncated;
