-- +goose Up

-- Summaries that a turn waits for are written before those that nobody waits for.
ALTER TABLE compactions ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE compactions DROP COLUMN awaited;
