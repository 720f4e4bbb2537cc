-- +goose Up

-- The schedules of an archived agent rest: they keep their time, and nobody looks for it.
ALTER TABLE parley.schedules ADD COLUMN resting boolean NOT NULL DEFAULT false;
UPDATE parley.schedules c SET resting = true FROM parley.agents a
 WHERE a.workspace_id = c.workspace_id AND a.id = c.agent_id AND a.status = 'archived';
DROP INDEX parley.schedules_due;
CREATE INDEX schedules_due ON parley.schedules (next_at) WHERE next_at IS NOT NULL AND NOT resting;

-- +goose Down
DROP INDEX parley.schedules_due;
CREATE INDEX schedules_due ON parley.schedules (next_at) WHERE next_at IS NOT NULL;
ALTER TABLE parley.schedules DROP COLUMN resting;
