-- +goose Up

-- The messages that an item cites: [{session_id, sequence, message_id}], checked when it was made.
ALTER TABLE inbox_items ADD COLUMN citations TEXT NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE inbox_items DROP COLUMN citations;
