-- +goose Up

-- Browsers that signed in. Each has a secret of its own in its cookie, never a key. A
-- row goes when the browser signs out; it counts for nothing once its principal's key
-- is revoked, and is then removed with a later sign-in. It does not move with a copy.
CREATE TABLE parley.sign_ins (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  principal_id uuid NOT NULL,
  hash         bytea NOT NULL UNIQUE,      -- SHA-256 of the secret; the secret is nowhere
  created_at   bigint NOT NULL,
  seen_at      bigint NOT NULL,            -- about when it was last used
  expires_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX sign_ins_principal ON parley.sign_ins (workspace_id, principal_id, id);
CREATE INDEX keys_principal     ON parley.keys (workspace_id, principal_id);

ALTER TABLE parley.sign_ins ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.sign_ins FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.sign_ins TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.sign_ins TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.sign_ins TO parley_tenant, parley_system;

-- +goose Down
DROP INDEX parley.keys_principal;
DROP TABLE parley.sign_ins;
