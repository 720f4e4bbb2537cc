-- +goose Up

-- Documents that conversations produce.
CREATE TABLE artifacts (
  id              BLOB NOT NULL PRIMARY KEY,
  workspace_id    BLOB NOT NULL,
  project_id      BLOB,
  session_id      BLOB,                     -- whose owner and visibility count, and with which it goes
  owner_id        BLOB NOT NULL,
  visibility      TEXT NOT NULL,            -- private, workspace
  kind            TEXT NOT NULL,            -- json, markdown, text, code, csv, html, svg
  name            TEXT NOT NULL,
  search_name     TEXT NOT NULL,            -- the name in lower case
  labels          TEXT NOT NULL,            -- JSON
  schema          TEXT,                     -- JSON Schema that every version satisfies
  version         INTEGER NOT NULL,         -- the newest one's number
  content_hash    BLOB NOT NULL,            -- the newest one's
  size            INTEGER NOT NULL,         -- the newest one's, in bytes
  revision        INTEGER NOT NULL,
  idempotency_key TEXT,
  fingerprint     BLOB,
  archived_at     INTEGER,
  deleted_at      INTEGER,                  -- versions and contents are being purged
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX artifacts_recent ON artifacts (workspace_id, updated_at, id);
CREATE INDEX artifacts_project ON artifacts (workspace_id, project_id, updated_at, id) WHERE project_id IS NOT NULL;
CREATE INDEX artifacts_session ON artifacts (workspace_id, session_id, updated_at, id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX artifacts_idempotency ON artifacts (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- The versions of artifacts. They never change.
CREATE TABLE artifact_versions (
  artifact_id     BLOB NOT NULL,
  number          INTEGER NOT NULL,         -- from 1 without gaps
  workspace_id    BLOB NOT NULL,
  parent          INTEGER,                  -- the version that the content was made from
  base            INTEGER,                  -- the version that the writer began with
  restored_from   INTEGER,
  author_kind     TEXT NOT NULL,
  author_id       BLOB,
  author_name     TEXT NOT NULL,
  session_id      BLOB,                     -- of the tool call that wrote it
  message_id      BLOB,                     -- the tool call
  content_hash    BLOB NOT NULL,
  size            INTEGER NOT NULL,         -- bytes
  idempotency_key TEXT,
  fingerprint     BLOB,
  created_at      INTEGER NOT NULL,
  PRIMARY KEY (artifact_id, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX artifact_versions_idempotency ON artifact_versions (artifact_id, idempotency_key)
 WHERE idempotency_key IS NOT NULL;

-- The contents of versions, once per workspace and hash: a patch on another content, or on nothing.
CREATE TABLE artifact_contents (
  workspace_id BLOB NOT NULL,
  hash         BLOB NOT NULL,
  base_hash    BLOB,                        -- what the patch is on
  position     INTEGER NOT NULL,            -- patches since the last content on nothing
  size         INTEGER NOT NULL,            -- bytes of the content
  stored       INTEGER NOT NULL,            -- bytes of the patch
  uses         INTEGER NOT NULL,            -- versions with it, and patches on it
  owner_id     BLOB NOT NULL,               -- of the artifact that had it first; its quota counts
  patch        BLOB NOT NULL,
  PRIMARY KEY (workspace_id, hash)
);
CREATE INDEX artifact_contents_stored ON artifact_contents (workspace_id, owner_id, stored);

-- +goose Down
DROP TABLE artifact_contents;
DROP TABLE artifact_versions;
DROP TABLE artifacts;
