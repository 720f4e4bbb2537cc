-- +goose Up

-- What a provider did not read of a call's request, by its own count: JSON {sent_tokens, read_tokens}.
ALTER TABLE calls ADD COLUMN truncated TEXT;

-- +goose Down
ALTER TABLE calls DROP COLUMN truncated;
