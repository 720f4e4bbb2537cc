-- +goose Up

-- Not every call is a turn's step: one that writes a summary has neither a turn
-- nor a message.
ALTER TABLE calls ADD COLUMN purpose TEXT NOT NULL DEFAULT ''; -- '' a turn's step, compaction, replay, warm
ALTER TABLE calls ALTER COLUMN turn_id DROP NOT NULL;
ALTER TABLE calls ALTER COLUMN message_id DROP NOT NULL;

-- +goose Down
DELETE FROM calls WHERE purpose <> '';
ALTER TABLE calls ALTER COLUMN message_id SET NOT NULL;
ALTER TABLE calls ALTER COLUMN turn_id SET NOT NULL;
ALTER TABLE calls DROP COLUMN purpose;
