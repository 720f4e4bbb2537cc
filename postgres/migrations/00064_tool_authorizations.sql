-- +goose Up

-- What workspaces may do at tool servers.
CREATE TABLE parley.tool_authorizations (
  id            uuid NOT NULL,
  workspace_id  uuid NOT NULL,
  server        text NOT NULL,
  tokens        bytea,                  -- encrypted; NULL until somebody has authorized
  request       bytea,                  -- encrypted; NULL unless a person is asked
  owner_kind    text NOT NULL,
  owner_id      uuid NOT NULL,
  owner_name    text NOT NULL,
  revision      bigint NOT NULL,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  authorized_at bigint,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX tool_authorizations_server ON parley.tool_authorizations (workspace_id, server);

ALTER TABLE parley.tool_authorizations ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.tool_authorizations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.tool_authorizations TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.tool_authorizations TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.tool_authorizations TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.tool_authorizations;
