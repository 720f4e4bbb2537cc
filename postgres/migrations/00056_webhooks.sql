-- +goose Up

-- Subscriptions: events of sessions are posted to the URL.
CREATE TABLE parley.webhooks (
  id             uuid NOT NULL,
  workspace_id   uuid NOT NULL,
  name           text NOT NULL,
  url            text NOT NULL,
  events         text NOT NULL,         -- JSON: types and patterns
  filter         text NOT NULL,         -- JSON: which sessions
  status         text NOT NULL,         -- active, paused, disabled
  reason         text NOT NULL,         -- why the server paused it
  owner_kind     text NOT NULL,
  owner_id       uuid NOT NULL,
  owner_name     text NOT NULL,
  secret         bytea NOT NULL,        -- it must be known to sign with it
  previous       bytea,                      -- before the last rotation
  previous_until bigint,
  failing_since  bigint,
  starts_at      bigint NOT NULL,       -- of the first event to be sent
  revision       bigint NOT NULL,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX webhooks_active ON parley.webhooks (id) WHERE status = 'active';

-- How far the events of a session were sent to a webhook. due_at is when somebody may go on: the end of
-- a hold, the time of a retry; null: with the session's next event.
CREATE TABLE parley.webhook_lanes (
  webhook_id   uuid NOT NULL,
  session_id   uuid NOT NULL,
  workspace_id uuid NOT NULL,
  through      bigint NOT NULL,       -- the last event that is done with
  attempts     bigint NOT NULL,       -- at the event after it
  due_at       bigint,
  revision     bigint NOT NULL,       -- counts the holds
  PRIMARY KEY (workspace_id, webhook_id, session_id)
);
CREATE INDEX webhook_lanes_due ON parley.webhook_lanes (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_lanes_session ON parley.webhook_lanes (workspace_id, session_id);

-- Events whose first attempt failed, and what came of them.
CREATE TABLE parley.webhook_deliveries (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  webhook_id      uuid NOT NULL,
  session_id      uuid NOT NULL,
  event_sequence  bigint NOT NULL,
  event_type      text NOT NULL,
  status          text NOT NULL,         -- retrying, dead, delivered
  attempts        bigint NOT NULL,
  response_status bigint,
  error           text NOT NULL,
  next_at         bigint,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX webhook_deliveries_webhook ON parley.webhook_deliveries (workspace_id, webhook_id, id);
CREATE INDEX webhook_deliveries_status ON parley.webhook_deliveries (workspace_id, webhook_id, status, id);
CREATE INDEX webhook_deliveries_session ON parley.webhook_deliveries (workspace_id, session_id);

ALTER TABLE parley.webhooks ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.webhooks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.webhooks TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.webhooks TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.webhooks TO parley_tenant, parley_system;
ALTER TABLE parley.webhook_lanes ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.webhook_lanes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.webhook_lanes TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.webhook_lanes TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.webhook_lanes TO parley_tenant, parley_system;
ALTER TABLE parley.webhook_deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.webhook_deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.webhook_deliveries TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.webhook_deliveries TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.webhook_deliveries TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.webhook_deliveries;
DROP TABLE parley.webhook_lanes;
DROP TABLE parley.webhooks;
