-- +goose Up

-- When agents work by themselves: at each time a message is posted into the agent's background
-- session. next_at is null for a schedule that is disabled or never due again.
CREATE TABLE schedules (
  id              BLOB NOT NULL PRIMARY KEY,
  workspace_id    BLOB NOT NULL,
  agent_id        BLOB NOT NULL,
  name            TEXT NOT NULL,
  cron            TEXT,
  every           TEXT,
  at              INTEGER,
  time_zone       TEXT NOT NULL,
  jitter          TEXT,
  anchor          INTEGER NOT NULL,         -- from which every counts
  message         TEXT NOT NULL,
  enabled         INTEGER NOT NULL,
  overlap         TEXT NOT NULL,            -- skip, queue
  missed          TEXT NOT NULL,            -- once, skip
  author_kind     TEXT NOT NULL,
  author_id       BLOB NOT NULL,
  author_name     TEXT NOT NULL,
  next_at         INTEGER,
  moved_at        INTEGER NOT NULL,         -- when next_at was set
  last_run        TEXT,                     -- JSON
  turn_id         BLOB,                     -- of the last run that was posted
  skipped         INTEGER NOT NULL,         -- runs skipped in a row
  revision        INTEGER NOT NULL,
  idempotency_key TEXT,
  fingerprint     BLOB,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_moved ON schedules (moved_at) WHERE next_at IS NOT NULL;
CREATE INDEX schedules_workspace ON schedules (workspace_id, id);
CREATE INDEX schedules_agent ON schedules (workspace_id, agent_id, id);
CREATE UNIQUE INDEX schedules_idempotency ON schedules (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What came of schedules at their times; the latest of each are kept.
CREATE TABLE schedule_runs (
  workspace_id BLOB NOT NULL,
  schedule_id  BLOB NOT NULL,
  due_at       INTEGER NOT NULL,
  state        TEXT NOT NULL,               -- posted, skipped
  reason       TEXT NOT NULL,               -- of a skipped one
  session_id   BLOB,
  message_id   BLOB,
  turn_id      BLOB,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (schedule_id, due_at)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE schedule_runs;
DROP TABLE schedules;
