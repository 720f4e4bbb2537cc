-- +goose Up

-- Questions to a person about one exact tool call each.
CREATE TABLE approvals (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  root_id      BLOB NOT NULL,             -- the session at the root of a tool session's tree; else session_id
  agent_id     BLOB,
  turn_id      BLOB NOT NULL,
  message_id   BLOB NOT NULL,             -- the tool_call
  tool_call_id TEXT NOT NULL,
  tool_name    TEXT NOT NULL,
  arguments    TEXT NOT NULL,
  fingerprint  BLOB NOT NULL,             -- SHA-256 of tool_name and arguments
  state        TEXT NOT NULL,             -- pending, approved, denied, expired, cancelled
  scope        TEXT NOT NULL DEFAULT '',  -- once, session
  covers       TEXT NOT NULL DEFAULT '',  -- call, tool
  decided_kind TEXT NOT NULL DEFAULT '',  -- who decided
  decided_id   BLOB,
  decided_name TEXT NOT NULL DEFAULT '',
  comment      TEXT NOT NULL DEFAULT '',
  root_news    INTEGER NOT NULL DEFAULT 0, -- what the root session has heard: 1 created, 2 resolved
  created_at   INTEGER NOT NULL,
  expires_at   INTEGER NOT NULL,
  decided_at   INTEGER,
  used_at      INTEGER                    -- the call began to run under it
);
CREATE INDEX approvals_turn    ON approvals (turn_id, created_at, id);
CREATE INDEX approvals_session ON approvals (session_id, created_at, id);
CREATE INDEX approvals_root    ON approvals (root_id, created_at, id);
CREATE INDEX approvals_recent  ON approvals (workspace_id, created_at, id);
CREATE INDEX approvals_agent   ON approvals (workspace_id, agent_id, created_at, id);
CREATE INDEX approvals_pending ON approvals (workspace_id, created_at, id) WHERE state = 'pending';
CREATE INDEX approvals_due     ON approvals (expires_at) WHERE state = 'pending';

-- +goose Down
DROP TABLE approvals;
