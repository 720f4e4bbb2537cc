-- +goose Up

-- Artifacts know their newest version, which is not the current one if it is in conflict.
ALTER TABLE artifacts ADD COLUMN newest INTEGER NOT NULL DEFAULT 0;
UPDATE artifacts SET newest = version;
ALTER TABLE artifact_versions ADD COLUMN transform_id BLOB;
ALTER TABLE artifact_versions ADD COLUMN conflict INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN transform_id BLOB;

-- Generations that read versions of artifacts and write others.
CREATE TABLE transforms (
  id                 BLOB NOT NULL,
  workspace_id       BLOB NOT NULL,
  project_id         BLOB,
  definition_id      BLOB,                    -- null: run by itself
  definition_version INTEGER,
  name               TEXT NOT NULL,
  agent_id           BLOB NOT NULL,
  instructions       TEXT NOT NULL,
  model              TEXT NOT NULL,           -- empty: the agent's
  parameters         TEXT NOT NULL,           -- JSON
  cite               INTEGER NOT NULL,        -- whether the model names its sources
  status             TEXT NOT NULL,           -- pending, streaming, completed, failed, cancelled
  chunks             INTEGER NOT NULL,        -- pieces of the answer
  last_chunk_at      INTEGER,
  session_id         BLOB NOT NULL,           -- its tool session, whose owner and visibility count
  turn_id            BLOB NOT NULL,
  trigger_session_id BLOB,
  trigger_message_id BLOB,                    -- the message that asked for it
  owner_id           BLOB NOT NULL,
  created_by_id      BLOB NOT NULL,
  retry_of_id        BLOB,
  run_id             BLOB,                    -- the run of a pipeline
  node               TEXT NOT NULL,           -- in that run
  failure            TEXT,                    -- JSON
  created_at         INTEGER NOT NULL,
  started_at         INTEGER,
  ended_at           INTEGER,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE INDEX transforms_recent ON transforms (workspace_id, id);
CREATE INDEX transforms_session ON transforms (workspace_id, session_id);
CREATE INDEX transforms_project ON transforms (workspace_id, project_id, id)
 WHERE project_id IS NOT NULL;
CREATE INDEX transforms_trigger ON transforms (workspace_id, trigger_session_id, id)
 WHERE trigger_session_id IS NOT NULL;
CREATE INDEX transforms_definition ON transforms (workspace_id, definition_id, id)
 WHERE definition_id IS NOT NULL;
CREATE INDEX transforms_run ON transforms (workspace_id, run_id, id)
 WHERE run_id IS NOT NULL;

-- What transforms read.
CREATE TABLE transform_inputs (
  transform_id       BLOB NOT NULL,
  position           INTEGER NOT NULL,        -- from 1
  workspace_id       BLOB NOT NULL,
  name               TEXT NOT NULL,
  artifact_id        BLOB NOT NULL,
  version            INTEGER NOT NULL,
  pointer            TEXT NOT NULL,           -- JSON Pointer
  PRIMARY KEY (transform_id, position)
) WITHOUT ROWID;
CREATE INDEX transform_inputs_artifact ON transform_inputs (workspace_id, artifact_id, version);

-- What transforms write.
CREATE TABLE transform_outputs (
  transform_id       BLOB NOT NULL,
  position           INTEGER NOT NULL,        -- from 1
  workspace_id       BLOB NOT NULL,
  name               TEXT NOT NULL,
  kind               TEXT NOT NULL,
  title              TEXT NOT NULL,           -- the artifact's name
  schema             TEXT,                    -- JSON Schema
  artifact_id        BLOB NOT NULL,
  creates            INTEGER NOT NULL,        -- whether the transform creates the artifact
  base_version       INTEGER,                 -- null: a new artifact
  version            INTEGER,                 -- null until written
  conflict           INTEGER NOT NULL,
  sources            TEXT,                    -- JSON; null: all inputs
  PRIMARY KEY (transform_id, position)
) WITHOUT ROWID;
CREATE INDEX transform_outputs_artifact ON transform_outputs (workspace_id, artifact_id, version);

-- Transforms that are run again and again.
CREATE TABLE transform_definitions (
  id                 BLOB NOT NULL,
  workspace_id       BLOB NOT NULL,
  slug               TEXT NOT NULL,
  status             TEXT NOT NULL,           -- active, archived
  version            INTEGER NOT NULL,        -- the newest one
  owner_id           BLOB,
  body               TEXT NOT NULL,           -- JSON of the definition
  idempotency_key    TEXT,
  fingerprint        BLOB,
  created_at         INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL,
  PRIMARY KEY (id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX transform_definitions_slug ON transform_definitions (workspace_id, slug);
CREATE UNIQUE INDEX transform_definitions_idempotency ON transform_definitions (workspace_id, idempotency_key)
 WHERE idempotency_key IS NOT NULL;

-- The versions of definitions. They never change.
CREATE TABLE transform_definition_versions (
  definition_id      BLOB NOT NULL,
  version            INTEGER NOT NULL,
  workspace_id       BLOB NOT NULL,
  body               TEXT NOT NULL,
  created_at         INTEGER NOT NULL,
  changed_by         BLOB,
  PRIMARY KEY (definition_id, version)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE transform_definition_versions;
DROP TABLE transform_definitions;
DROP TABLE transform_outputs;
DROP TABLE transform_inputs;
DROP TABLE transforms;
ALTER TABLE turns DROP COLUMN transform_id;
ALTER TABLE artifact_versions DROP COLUMN conflict;
ALTER TABLE artifact_versions DROP COLUMN transform_id;
ALTER TABLE artifacts DROP COLUMN newest;
