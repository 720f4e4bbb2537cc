-- +goose Up

-- How far a session's window shows results of older turns by their size alone.
ALTER TABLE parley.heads ADD COLUMN context_stubbed bigint NOT NULL DEFAULT 0; -- up to this sequence; 0: none

-- +goose Down
ALTER TABLE parley.heads DROP COLUMN context_stubbed;
