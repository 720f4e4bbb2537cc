-- +goose Up

-- Runs of pipelines: transforms that read what others write.
CREATE TABLE pipeline_runs (
  id           BLOB NOT NULL PRIMARY KEY,         -- of its session, too, whose owner and visibility count
  workspace_id BLOB NOT NULL,
  project_id   BLOB,
  agent_id     BLOB NOT NULL,
  owner_id     BLOB NOT NULL,
  author_kind  TEXT NOT NULL,         -- who started it
  author_id    BLOB NOT NULL,
  author_name  TEXT NOT NULL,
  name         TEXT NOT NULL,
  status       TEXT NOT NULL,         -- pending, running, completed, failed, cancelled
  parallel     INTEGER NOT NULL,
  documents    TEXT NOT NULL,         -- JSON: what it was given
  nodes        TEXT NOT NULL,         -- JSON: the graph, and how far each node is
  cost         INTEGER NOT NULL,
  cancelled_at INTEGER,
  due_at       INTEGER,                  -- null: nothing can begin
  revision     INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  updated_at   INTEGER NOT NULL,
  started_at   INTEGER,
  ended_at     INTEGER
) WITHOUT ROWID;
CREATE INDEX pipeline_runs_due ON pipeline_runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX pipeline_runs_recent ON pipeline_runs (workspace_id, id);
CREATE INDEX pipeline_runs_project ON pipeline_runs (workspace_id, project_id, id) WHERE project_id IS NOT NULL;

-- +goose Down
DROP TABLE pipeline_runs;
