-- +goose Up

-- What workspaces may do at tool servers.
CREATE TABLE tool_authorizations (
  id            BLOB NOT NULL PRIMARY KEY,
  workspace_id  BLOB NOT NULL,
  server        TEXT NOT NULL,
  tokens        BLOB,                       -- encrypted; NULL until somebody has authorized
  request       BLOB,                       -- encrypted; NULL unless a person is asked
  owner_kind    TEXT NOT NULL,
  owner_id      BLOB NOT NULL,
  owner_name    TEXT NOT NULL,
  revision      INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  authorized_at INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX tool_authorizations_server ON tool_authorizations (workspace_id, server);

-- +goose Down
DROP TABLE tool_authorizations;
