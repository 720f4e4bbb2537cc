-- +goose Up

-- Subscriptions: events of sessions are posted to the URL.
CREATE TABLE webhooks (
  id             BLOB NOT NULL PRIMARY KEY,
  workspace_id   BLOB NOT NULL,
  name           TEXT NOT NULL,
  url            TEXT NOT NULL,
  events         TEXT NOT NULL,             -- JSON: types and patterns
  filter         TEXT NOT NULL,             -- JSON: which sessions
  status         TEXT NOT NULL,             -- active, paused, disabled
  reason         TEXT NOT NULL,             -- why the server paused it
  owner_kind     TEXT NOT NULL,
  owner_id       BLOB NOT NULL,
  owner_name     TEXT NOT NULL,
  secret         BLOB NOT NULL,             -- it must be known to sign with it
  previous       BLOB,                      -- before the last rotation
  previous_until INTEGER,
  failing_since  INTEGER,
  starts_at      INTEGER NOT NULL,          -- of the first event to be sent
  revision       INTEGER NOT NULL,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX webhooks_workspace ON webhooks (workspace_id, id);
CREATE INDEX webhooks_active ON webhooks (id) WHERE status = 'active';

-- How far the events of a session were sent to a webhook. due_at is when somebody may go on: the end of
-- a hold, the time of a retry; null: with the session's next event.
CREATE TABLE webhook_lanes (
  webhook_id   BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  workspace_id BLOB NOT NULL,
  through      INTEGER NOT NULL,            -- the last event that is done with
  attempts     INTEGER NOT NULL,            -- at the event after it
  due_at       INTEGER,
  revision     INTEGER NOT NULL,            -- counts the holds
  PRIMARY KEY (webhook_id, session_id)
) WITHOUT ROWID;
CREATE INDEX webhook_lanes_due ON webhook_lanes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_lanes_session ON webhook_lanes (session_id);

-- Events whose first attempt failed, and what came of them.
CREATE TABLE webhook_deliveries (
  id              BLOB NOT NULL PRIMARY KEY,
  workspace_id    BLOB NOT NULL,
  webhook_id      BLOB NOT NULL,
  session_id      BLOB NOT NULL,
  event_sequence  INTEGER NOT NULL,
  event_type      TEXT NOT NULL,
  status          TEXT NOT NULL,            -- retrying, dead, delivered
  attempts        INTEGER NOT NULL,
  response_status INTEGER,
  error           TEXT NOT NULL,
  next_at         INTEGER,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (webhook_id, status, id);
CREATE INDEX webhook_deliveries_session ON webhook_deliveries (session_id);

-- +goose Down
DROP TABLE webhook_deliveries;
DROP TABLE webhook_lanes;
DROP TABLE webhooks;
