-- +goose Up

-- What a session's window leaves out for length, and that the model's length is unknown, are said once.
ALTER TABLE heads ADD COLUMN context_dropped INTEGER NOT NULL DEFAULT 0; -- the first of the messages dropped before context_anchor; 0: none
ALTER TABLE heads ADD COLUMN context_assumed INTEGER NOT NULL DEFAULT 0; -- it was said that the model's length is assumed

-- +goose Down
ALTER TABLE heads DROP COLUMN context_assumed;
ALTER TABLE heads DROP COLUMN context_dropped;
