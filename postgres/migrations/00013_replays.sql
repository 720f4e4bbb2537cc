-- +goose Up

-- What models said to recorded requests that were sent again: one row for each
-- call of purpose replay.
CREATE TABLE parley.replays (
  call_id      uuid NOT NULL,
  workspace_id uuid NOT NULL,
  session_id   uuid NOT NULL,
  replay_of    uuid NOT NULL, -- the call
  answer       text NOT NULL, -- {text, reasoning, refusal, tool_calls}
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, call_id)
);
CREATE INDEX replays_of ON parley.replays (workspace_id, replay_of, created_at);
CREATE INDEX replays_session ON parley.replays (workspace_id, session_id);

ALTER TABLE parley.replays ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.replays FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.replays TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.replays TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.replays TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.replays;
