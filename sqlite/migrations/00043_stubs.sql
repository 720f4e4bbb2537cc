-- +goose Up

-- How far a session's window shows results of older turns by their size alone.
ALTER TABLE heads ADD COLUMN context_stubbed INTEGER NOT NULL DEFAULT 0; -- up to this sequence; 0: none

-- +goose Down
ALTER TABLE heads DROP COLUMN context_stubbed;
