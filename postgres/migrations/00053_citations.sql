-- +goose Up

-- The messages that an item cites: [{session_id, sequence, message_id}], checked when it was made.
ALTER TABLE parley.inbox_items ADD COLUMN citations text NOT NULL DEFAULT '[]';

-- +goose Down
ALTER TABLE parley.inbox_items DROP COLUMN citations;
