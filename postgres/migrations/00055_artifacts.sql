-- +goose Up

-- Documents that conversations produce.
CREATE TABLE parley.artifacts (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  project_id      uuid,
  session_id      uuid,                     -- whose owner and visibility count, and with which it goes
  owner_id        uuid NOT NULL,
  visibility      text NOT NULL,            -- private, workspace
  kind            text NOT NULL,            -- json, markdown, text, code, csv, html, svg
  name            text NOT NULL,
  search_name     text NOT NULL,            -- the name in lower case
  labels          text NOT NULL,            -- JSON
  schema          text,                     -- JSON Schema that every version satisfies
  version         bigint NOT NULL,         -- the newest one's number
  content_hash    bytea NOT NULL,            -- the newest one's
  size            bigint NOT NULL,         -- the newest one's, in bytes
  revision        bigint NOT NULL,
  idempotency_key text,
  fingerprint     bytea,
  archived_at     bigint,
  deleted_at      bigint,                  -- versions and contents are being purged
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX artifacts_recent ON parley.artifacts (workspace_id, updated_at, id);
CREATE INDEX artifacts_project ON parley.artifacts (workspace_id, project_id, updated_at, id) WHERE project_id IS NOT NULL;
CREATE INDEX artifacts_session ON parley.artifacts (workspace_id, session_id, updated_at, id) WHERE session_id IS NOT NULL;
CREATE UNIQUE INDEX artifacts_idempotency ON parley.artifacts (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- The versions of artifacts. They never change.
CREATE TABLE parley.artifact_versions (
  artifact_id     uuid NOT NULL,
  number          bigint NOT NULL,         -- from 1 without gaps
  workspace_id    uuid NOT NULL,
  parent          bigint,                  -- the version that the content was made from
  base            bigint,                  -- the version that the writer began with
  restored_from   bigint,
  author_kind     text NOT NULL,
  author_id       uuid,
  author_name     text NOT NULL,
  session_id      uuid,                     -- of the tool call that wrote it
  message_id      uuid,                     -- the tool call
  content_hash    bytea NOT NULL,
  size            bigint NOT NULL,         -- bytes
  idempotency_key text,
  fingerprint     bytea,
  created_at      bigint NOT NULL,
  PRIMARY KEY (workspace_id, artifact_id, number)
);
CREATE UNIQUE INDEX artifact_versions_idempotency ON parley.artifact_versions (workspace_id, artifact_id, idempotency_key)
 WHERE idempotency_key IS NOT NULL;

-- The contents of versions, once per workspace and hash: a patch on another content, or on nothing.
CREATE TABLE parley.artifact_contents (
  workspace_id uuid NOT NULL,
  hash         bytea NOT NULL,
  base_hash    bytea,                        -- what the patch is on
  position     bigint NOT NULL,            -- patches since the last content on nothing
  size         bigint NOT NULL,            -- bytes of the content
  stored       bigint NOT NULL,            -- bytes of the patch
  uses         bigint NOT NULL,            -- versions with it, and patches on it
  owner_id     uuid NOT NULL,               -- of the artifact that had it first; its quota counts
  patch        bytea NOT NULL,
  PRIMARY KEY (workspace_id, hash)
);
CREATE INDEX artifact_contents_stored ON parley.artifact_contents (workspace_id, owner_id, stored);

ALTER TABLE parley.artifacts ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.artifacts FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.artifacts TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.artifacts TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.artifacts TO parley_tenant, parley_system;
ALTER TABLE parley.artifact_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.artifact_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.artifact_versions TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.artifact_versions TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.artifact_versions TO parley_tenant, parley_system;
ALTER TABLE parley.artifact_contents ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.artifact_contents FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.artifact_contents TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.artifact_contents TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.artifact_contents TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.artifact_contents;
DROP TABLE parley.artifact_versions;
DROP TABLE parley.artifacts;
