-- +goose Up

-- The compaction of a session that runs, or the last one: one row for each that
-- ever had one. Its claim is apart from that of the session's turn.
CREATE TABLE parley.compactions (
  session_id     uuid NOT NULL,
  workspace_id   uuid NOT NULL,
  id             uuid NOT NULL,
  state          text NOT NULL,              -- pending, running, completed, failed
  reason         text NOT NULL,              -- messages, tokens, overflow, asked
  attempt        integer NOT NULL DEFAULT 0, -- begun so far
  holder         uuid,                       -- process that runs it
  epoch          bigint NOT NULL DEFAULT 0,  -- claims so far
  covers_from    bigint NOT NULL DEFAULT 0,  -- of the latest attempt
  covers_through bigint NOT NULL DEFAULT 0,
  absorbs_id     uuid,
  call_id        uuid,
  message_id     uuid,                       -- the summary
  error          text,
  not_before     bigint NOT NULL,
  rests_until    bigint NOT NULL DEFAULT 0,  -- sequence
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  finished_at    bigint,
  PRIMARY KEY (workspace_id, session_id)
);
CREATE INDEX compactions_open ON parley.compactions (not_before, session_id) WHERE state IN ('pending', 'running'); -- of all workspaces: who looks for work

ALTER TABLE parley.compactions ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.compactions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.compactions TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.compactions TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.compactions TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.compactions;
