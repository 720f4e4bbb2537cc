-- +goose Up

-- Who did what, without any content. Entries outlive what they are about.
CREATE TABLE parley.audit (
  workspace_id   uuid NOT NULL,
  at             bigint NOT NULL,
  id             uuid NOT NULL,
  principal_id   uuid NOT NULL,
  principal_name text NOT NULL,
  action         text NOT NULL,
  session_id     uuid,
  target_id      uuid,
  request_id     uuid NOT NULL,
  PRIMARY KEY (workspace_id, at, id)
);
CREATE INDEX audit_session   ON parley.audit (workspace_id, session_id, at, id) WHERE session_id IS NOT NULL;
CREATE INDEX audit_principal ON parley.audit (workspace_id, principal_id, at, id);

-- Append-only: neither role may change or delete a row.
ALTER TABLE parley.audit ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.audit FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.audit TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.audit TO parley_system USING (true);
GRANT SELECT ON parley.audit TO parley_tenant;
GRANT SELECT, INSERT ON parley.audit TO parley_system;

-- +goose Down
DROP TABLE parley.audit;
