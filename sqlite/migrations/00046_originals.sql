-- +goose Up

-- A summary may be written from the messages alone, earlier summaries apart: made_from is then 'originals'.
ALTER TABLE compactions ADD COLUMN made_from TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE compactions DROP COLUMN made_from;
