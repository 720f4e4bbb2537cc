-- +goose Up

-- The schedules of an archived agent rest: they keep their time, and nobody looks for it.
ALTER TABLE schedules ADD COLUMN resting INTEGER NOT NULL DEFAULT 0;
UPDATE schedules SET resting = 1 WHERE EXISTS (
  SELECT 1 FROM agents a WHERE a.id = schedules.agent_id AND a.workspace_id = schedules.workspace_id
   AND a.status = 'archived');
DROP INDEX schedules_due;
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL AND resting = 0;

-- +goose Down
DROP INDEX schedules_due;
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
ALTER TABLE schedules DROP COLUMN resting;
