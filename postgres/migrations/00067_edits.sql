-- +goose Up

-- A version that somebody wrote by hand has a transform, too, which has no agent and no session: the owner and the
-- visibility of the artifact count that it writes.
ALTER TABLE parley.transforms
  ADD COLUMN kind text NOT NULL DEFAULT 'generation', -- or edit
  ALTER COLUMN agent_id DROP NOT NULL,
  ALTER COLUMN session_id DROP NOT NULL,
  ALTER COLUMN turn_id DROP NOT NULL;
DROP INDEX parley.transforms_session;
CREATE INDEX transforms_session ON parley.transforms (workspace_id, session_id) WHERE session_id IS NOT NULL;
CREATE INDEX transforms_generations ON parley.transforms (workspace_id, id) WHERE kind = 'generation';
CREATE INDEX transforms_project_generations ON parley.transforms (workspace_id, project_id, id)
 WHERE project_id IS NOT NULL AND kind = 'generation';

-- A program that does not know them would leave them behind when it purges their artifact, show them to nobody but the
-- artifact's owner, and call every version stale that was edited again.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 67);

-- +goose Down
UPDATE parley.artifact_versions v SET transform_id = NULL FROM parley.transforms t
 WHERE t.workspace_id = v.workspace_id AND t.id = v.transform_id AND t.kind = 'edit';
DELETE FROM parley.transform_inputs i USING parley.transforms t
 WHERE t.workspace_id = i.workspace_id AND t.id = i.transform_id AND t.kind = 'edit';
DELETE FROM parley.transform_outputs o USING parley.transforms t
 WHERE t.workspace_id = o.workspace_id AND t.id = o.transform_id AND t.kind = 'edit';
DELETE FROM parley.transforms WHERE kind = 'edit';
DROP INDEX parley.transforms_project_generations;
DROP INDEX parley.transforms_generations;
DROP INDEX parley.transforms_session;
CREATE INDEX transforms_session ON parley.transforms (workspace_id, session_id);
ALTER TABLE parley.transforms DROP COLUMN kind, ALTER COLUMN agent_id SET NOT NULL,
  ALTER COLUMN session_id SET NOT NULL, ALTER COLUMN turn_id SET NOT NULL;
