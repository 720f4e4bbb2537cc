-- +goose Up

-- What clients of other protocols call sessions and what is in them.
CREATE TABLE parley.foreign_ids (
  workspace_id uuid NOT NULL,
  protocol     text NOT NULL,
  principal_id uuid NOT NULL,              -- whose client calls it that
  name         text NOT NULL,
  session_id   uuid NOT NULL,
  target_id    uuid,                       -- a message or a turn; null: the session
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, protocol, principal_id, name, session_id)
);
CREATE INDEX foreign_ids_session ON parley.foreign_ids (workspace_id, session_id);

ALTER TABLE parley.foreign_ids ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.foreign_ids FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.foreign_ids TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.foreign_ids TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.foreign_ids TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.foreign_ids;
