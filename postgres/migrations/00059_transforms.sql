-- +goose Up

-- Artifacts know their newest version, which is not the current one if it is in conflict.
ALTER TABLE parley.artifacts ADD COLUMN newest bigint NOT NULL DEFAULT 0;
UPDATE parley.artifacts SET newest = version;
ALTER TABLE parley.artifact_versions ADD COLUMN transform_id uuid;
ALTER TABLE parley.artifact_versions ADD COLUMN conflict boolean NOT NULL DEFAULT false;
ALTER TABLE parley.turns ADD COLUMN transform_id uuid;

-- Generations that read versions of artifacts and write others.
CREATE TABLE parley.transforms (
  id                 uuid NOT NULL,
  workspace_id       uuid NOT NULL,
  project_id         uuid,
  definition_id      uuid,                    -- null: run by itself
  definition_version bigint,
  name               text NOT NULL,
  agent_id           uuid NOT NULL,
  instructions       text NOT NULL,
  model              text NOT NULL,           -- empty: the agent's
  parameters         text NOT NULL,           -- JSON
  cite               boolean NOT NULL,         -- whether the model names its sources
  status             text NOT NULL,           -- pending, streaming, completed, failed, cancelled
  chunks             bigint NOT NULL,         -- pieces of the answer
  last_chunk_at      bigint,
  session_id         uuid NOT NULL,           -- its tool session, whose owner and visibility count
  turn_id            uuid NOT NULL,
  trigger_session_id uuid,
  trigger_message_id uuid,                    -- the message that asked for it
  owner_id           uuid NOT NULL,
  created_by_id      uuid NOT NULL,
  retry_of_id        uuid,
  run_id             uuid,                    -- the run of a pipeline
  node               text NOT NULL,           -- in that run
  failure            text,                    -- JSON
  created_at         bigint NOT NULL,
  started_at         bigint,
  ended_at           bigint,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX transforms_recent ON parley.transforms (workspace_id, id);
CREATE INDEX transforms_session ON parley.transforms (workspace_id, session_id);
CREATE INDEX transforms_project ON parley.transforms (workspace_id, project_id, id)
 WHERE project_id IS NOT NULL;
CREATE INDEX transforms_trigger ON parley.transforms (workspace_id, trigger_session_id, id)
 WHERE trigger_session_id IS NOT NULL;
CREATE INDEX transforms_definition ON parley.transforms (workspace_id, definition_id, id)
 WHERE definition_id IS NOT NULL;
CREATE INDEX transforms_run ON parley.transforms (workspace_id, run_id, id)
 WHERE run_id IS NOT NULL;

-- What transforms read.
CREATE TABLE parley.transform_inputs (
  transform_id       uuid NOT NULL,
  position           bigint NOT NULL,         -- from 1
  workspace_id       uuid NOT NULL,
  name               text NOT NULL,
  artifact_id        uuid NOT NULL,
  version            bigint NOT NULL,
  pointer            text NOT NULL,           -- JSON Pointer
  PRIMARY KEY (workspace_id, transform_id, position)
);
CREATE INDEX transform_inputs_artifact ON parley.transform_inputs (workspace_id, artifact_id, version);

-- What transforms write.
CREATE TABLE parley.transform_outputs (
  transform_id       uuid NOT NULL,
  position           bigint NOT NULL,         -- from 1
  workspace_id       uuid NOT NULL,
  name               text NOT NULL,
  kind               text NOT NULL,
  title              text NOT NULL,           -- the artifact's name
  schema             text,                    -- JSON Schema
  artifact_id        uuid NOT NULL,
  creates            boolean NOT NULL,         -- whether the transform creates the artifact
  base_version       bigint,                  -- null: a new artifact
  version            bigint,                  -- null until written
  conflict           boolean NOT NULL,
  sources            text,                    -- JSON; null: all inputs
  PRIMARY KEY (workspace_id, transform_id, position)
);
CREATE INDEX transform_outputs_artifact ON parley.transform_outputs (workspace_id, artifact_id, version);

-- Transforms that are run again and again.
CREATE TABLE parley.transform_definitions (
  id                 uuid NOT NULL,
  workspace_id       uuid NOT NULL,
  slug               text NOT NULL,
  status             text NOT NULL,           -- active, archived
  version            bigint NOT NULL,         -- the newest one
  owner_id           uuid,
  body               text NOT NULL,           -- JSON of the definition
  idempotency_key    text,
  fingerprint        bytea,
  created_at         bigint NOT NULL,
  updated_at         bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX transform_definitions_slug ON parley.transform_definitions (workspace_id, slug);
CREATE UNIQUE INDEX transform_definitions_idempotency ON parley.transform_definitions (workspace_id, idempotency_key)
 WHERE idempotency_key IS NOT NULL;

-- The versions of definitions. They never change.
CREATE TABLE parley.transform_definition_versions (
  definition_id      uuid NOT NULL,
  version            bigint NOT NULL,
  workspace_id       uuid NOT NULL,
  body               text NOT NULL,
  created_at         bigint NOT NULL,
  changed_by         uuid,
  PRIMARY KEY (workspace_id, definition_id, version)
);

ALTER TABLE parley.transforms ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.transforms FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.transforms TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.transforms TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.transforms TO parley_tenant, parley_system;
ALTER TABLE parley.transform_inputs ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.transform_inputs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.transform_inputs TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.transform_inputs TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.transform_inputs TO parley_tenant, parley_system;
ALTER TABLE parley.transform_outputs ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.transform_outputs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.transform_outputs TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.transform_outputs TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.transform_outputs TO parley_tenant, parley_system;
ALTER TABLE parley.transform_definitions ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.transform_definitions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.transform_definitions TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.transform_definitions TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.transform_definitions TO parley_tenant, parley_system;
ALTER TABLE parley.transform_definition_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.transform_definition_versions FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.transform_definition_versions TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.transform_definition_versions TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.transform_definition_versions TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.transform_definition_versions;
DROP TABLE parley.transform_definitions;
DROP TABLE parley.transform_outputs;
DROP TABLE parley.transform_inputs;
DROP TABLE parley.transforms;
ALTER TABLE parley.turns DROP COLUMN transform_id;
ALTER TABLE parley.artifact_versions DROP COLUMN conflict;
ALTER TABLE parley.artifact_versions DROP COLUMN transform_id;
ALTER TABLE parley.artifacts DROP COLUMN newest;
