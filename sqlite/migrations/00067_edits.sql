-- +goose Up

-- A version that somebody wrote by hand has a transform, too, which has no agent and no session.
ALTER TABLE transforms RENAME TO transforms_before;
CREATE TABLE transforms (
  id                 BLOB NOT NULL,
  workspace_id       BLOB NOT NULL,
  project_id         BLOB,
  kind               TEXT NOT NULL DEFAULT 'generation', -- or edit
  definition_id      BLOB,                    -- null: run by itself
  definition_version INTEGER,
  name               TEXT NOT NULL,
  agent_id           BLOB,                    -- null: an edit
  instructions       TEXT NOT NULL,
  model              TEXT NOT NULL,           -- empty: the agent's
  parameters         TEXT NOT NULL,           -- JSON
  cite               INTEGER NOT NULL,        -- whether the model names its sources
  status             TEXT NOT NULL,           -- pending, streaming, completed, failed, cancelled
  chunks             INTEGER NOT NULL,        -- pieces of the answer
  last_chunk_at      INTEGER,
  session_id         BLOB,                    -- its tool session, whose owner and visibility count; null: an edit,
                                              -- for which those of the artifact count that it writes
  turn_id            BLOB,                    -- null: an edit
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
INSERT INTO transforms (id, workspace_id, project_id, definition_id, definition_version, name, agent_id, instructions,
  model, parameters, cite, status, chunks, last_chunk_at, session_id, turn_id, trigger_session_id, trigger_message_id,
  owner_id, created_by_id, retry_of_id, run_id, node, failure, created_at, started_at, ended_at)
 SELECT id, workspace_id, project_id, definition_id, definition_version, name, agent_id, instructions,
  model, parameters, cite, status, chunks, last_chunk_at, session_id, turn_id, trigger_session_id, trigger_message_id,
  owner_id, created_by_id, retry_of_id, run_id, node, failure, created_at, started_at, ended_at
 FROM transforms_before;
DROP TABLE transforms_before;
CREATE INDEX transforms_recent ON transforms (workspace_id, id);
CREATE INDEX transforms_generations ON transforms (workspace_id, id) WHERE kind = 'generation';
CREATE INDEX transforms_session ON transforms (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX transforms_project ON transforms (workspace_id, project_id, id)
 WHERE project_id IS NOT NULL;
CREATE INDEX transforms_project_generations ON transforms (workspace_id, project_id, id)
 WHERE project_id IS NOT NULL AND kind = 'generation';
CREATE INDEX transforms_trigger ON transforms (workspace_id, trigger_session_id, id)
 WHERE trigger_session_id IS NOT NULL;
CREATE INDEX transforms_definition ON transforms (workspace_id, definition_id, id)
 WHERE definition_id IS NOT NULL;
CREATE INDEX transforms_run ON transforms (workspace_id, run_id, id)
 WHERE run_id IS NOT NULL;

-- +goose Down
UPDATE artifact_versions SET transform_id = NULL WHERE transform_id IN (SELECT id FROM transforms WHERE kind = 'edit');
DELETE FROM transform_inputs WHERE transform_id IN (SELECT id FROM transforms WHERE kind = 'edit');
DELETE FROM transform_outputs WHERE transform_id IN (SELECT id FROM transforms WHERE kind = 'edit');
DELETE FROM transforms WHERE kind = 'edit';
ALTER TABLE transforms RENAME TO transforms_before;
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
INSERT INTO transforms (id, workspace_id, project_id, definition_id, definition_version, name, agent_id, instructions,
  model, parameters, cite, status, chunks, last_chunk_at, session_id, turn_id, trigger_session_id, trigger_message_id,
  owner_id, created_by_id, retry_of_id, run_id, node, failure, created_at, started_at, ended_at)
 SELECT id, workspace_id, project_id, definition_id, definition_version, name, agent_id, instructions,
  model, parameters, cite, status, chunks, last_chunk_at, session_id, turn_id, trigger_session_id, trigger_message_id,
  owner_id, created_by_id, retry_of_id, run_id, node, failure, created_at, started_at, ended_at
 FROM transforms_before;
DROP TABLE transforms_before;
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
