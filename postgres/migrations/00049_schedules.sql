-- +goose Up

-- When agents work by themselves: at each time a message is posted into the agent's background
-- session. next_at is null for a schedule that is disabled or never due again.
CREATE TABLE parley.schedules (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  agent_id        uuid NOT NULL,
  name            text NOT NULL,
  cron            text,
  every           text,
  at              bigint,
  time_zone       text NOT NULL,
  jitter          text,
  anchor          bigint NOT NULL,          -- from which every counts
  message         text NOT NULL,
  enabled         boolean NOT NULL,
  overlap         text NOT NULL,            -- skip, queue
  missed          text NOT NULL,            -- once, skip
  author_kind     text NOT NULL,
  author_id       uuid NOT NULL,
  author_name     text NOT NULL,
  next_at         bigint,
  moved_at        bigint NOT NULL,          -- when next_at was set
  last_run        text,                     -- JSON
  turn_id         uuid,                     -- of the last run that was posted
  skipped         bigint NOT NULL,          -- runs skipped in a row
  revision        bigint NOT NULL,
  idempotency_key text,
  fingerprint     bytea,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX schedules_due ON parley.schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_moved ON parley.schedules (moved_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_agent ON parley.schedules (workspace_id, agent_id, id);
CREATE UNIQUE INDEX schedules_idempotency ON parley.schedules (workspace_id, idempotency_key)
 WHERE idempotency_key IS NOT NULL;

-- What came of schedules at their times; the latest of each are kept.
CREATE TABLE parley.schedule_runs (
  workspace_id uuid NOT NULL,
  schedule_id  uuid NOT NULL,
  due_at       bigint NOT NULL,
  state        text NOT NULL,               -- posted, skipped
  reason       text NOT NULL,               -- of a skipped one
  session_id   uuid,
  message_id   uuid,
  turn_id      uuid,
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, schedule_id, due_at)
);

ALTER TABLE parley.schedules ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.schedules FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.schedules TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.schedules TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.schedules TO parley_tenant, parley_system;
ALTER TABLE parley.schedule_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.schedule_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.schedule_runs TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.schedule_runs TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.schedule_runs TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.schedule_runs;
DROP TABLE parley.schedules;
