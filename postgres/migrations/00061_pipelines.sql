-- +goose Up

-- Runs of pipelines: transforms that read what others write.
CREATE TABLE parley.pipeline_runs (
  id           uuid NOT NULL,         -- of its session, too, whose owner and visibility count
  workspace_id uuid NOT NULL,
  project_id   uuid,
  agent_id     uuid NOT NULL,
  owner_id     uuid NOT NULL,
  author_kind  text NOT NULL,         -- who started it
  author_id    uuid NOT NULL,
  author_name  text NOT NULL,
  name         text NOT NULL,
  status       text NOT NULL,         -- pending, running, completed, failed, cancelled
  parallel     bigint NOT NULL,
  documents    text NOT NULL,         -- JSON: what it was given
  nodes        text NOT NULL,         -- JSON: the graph, and how far each node is
  cost         bigint NOT NULL,
  cancelled_at bigint,
  due_at       bigint,                  -- null: nothing can begin
  revision     bigint NOT NULL,
  created_at   bigint NOT NULL,
  updated_at   bigint NOT NULL,
  started_at   bigint,
  ended_at     bigint,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX pipeline_runs_due ON parley.pipeline_runs (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX pipeline_runs_project ON parley.pipeline_runs (workspace_id, project_id, id) WHERE project_id IS NOT NULL;

ALTER TABLE parley.pipeline_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.pipeline_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.pipeline_runs TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.pipeline_runs TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.pipeline_runs TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.pipeline_runs;
