-- +goose Up

-- A summary may be written from the messages alone, earlier summaries apart: made_from is then 'originals'.
ALTER TABLE parley.compactions ADD COLUMN made_from text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE parley.compactions DROP COLUMN made_from;
