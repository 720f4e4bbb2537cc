-- +goose Up

-- Not every call is a turn's step: one that writes a summary has neither a turn
-- nor a message.
ALTER TABLE parley.calls ADD COLUMN purpose text NOT NULL DEFAULT ''; -- '' a turn's step, compaction, replay, warm
ALTER TABLE parley.calls ALTER COLUMN turn_id DROP NOT NULL;
ALTER TABLE parley.calls ALTER COLUMN message_id DROP NOT NULL;

-- +goose Down
DELETE FROM parley.calls WHERE purpose <> '';
ALTER TABLE parley.calls ALTER COLUMN message_id SET NOT NULL;
ALTER TABLE parley.calls ALTER COLUMN turn_id SET NOT NULL;
ALTER TABLE parley.calls DROP COLUMN purpose;
