-- +goose Up

-- Questions to a person about one exact tool call each.
CREATE TABLE parley.approvals (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  session_id   uuid NOT NULL,
  root_id      uuid NOT NULL,             -- the session at the root of a tool session's tree; else session_id
  agent_id     uuid,
  turn_id      uuid NOT NULL,
  message_id   uuid NOT NULL,             -- the tool_call
  tool_call_id text NOT NULL,
  tool_name    text NOT NULL,
  arguments    text NOT NULL,
  fingerprint  bytea NOT NULL,            -- SHA-256 of tool_name and arguments
  state        text NOT NULL,             -- pending, approved, denied, expired, cancelled
  scope        text NOT NULL DEFAULT '',  -- once, session
  covers       text NOT NULL DEFAULT '',  -- call, tool
  decided_kind text NOT NULL DEFAULT '',  -- who decided
  decided_id   uuid,
  decided_name text NOT NULL DEFAULT '',
  comment      text NOT NULL DEFAULT '',
  root_news    integer NOT NULL DEFAULT 0, -- what the root session has heard: 1 created, 2 resolved
  created_at   bigint NOT NULL,
  expires_at   bigint NOT NULL,
  decided_at   bigint,
  used_at      bigint,                    -- the call began to run under it
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX approvals_turn    ON parley.approvals (workspace_id, turn_id, created_at, id);
CREATE INDEX approvals_session ON parley.approvals (workspace_id, session_id, created_at, id);
CREATE INDEX approvals_root    ON parley.approvals (workspace_id, root_id, created_at, id);
CREATE INDEX approvals_recent  ON parley.approvals (workspace_id, created_at, id);
CREATE INDEX approvals_agent   ON parley.approvals (workspace_id, agent_id, created_at, id);
CREATE INDEX approvals_pending ON parley.approvals (workspace_id, created_at, id) WHERE state = 'pending';
CREATE INDEX approvals_due     ON parley.approvals (expires_at) WHERE state = 'pending'; -- of all workspaces: the sweep's

ALTER TABLE parley.approvals ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.approvals FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.approvals TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.approvals TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.approvals TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.approvals;
