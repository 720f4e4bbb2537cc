-- +goose Up

-- Summaries that a turn waits for are written before those that nobody waits for.
ALTER TABLE parley.compactions ADD COLUMN awaited boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE parley.compactions DROP COLUMN awaited;
