-- +goose Up

-- A tool session is seen by no more people than the session that it works for. Until
-- now it kept the visibility that this one had when it was opened.
WITH RECURSIVE hidden (id, workspace_id) AS (
  SELECT c.id, c.workspace_id FROM sessions c JOIN sessions p ON p.workspace_id = c.workspace_id AND p.id = c.parent_session_id
   WHERE c.kind = 'tool' AND p.visibility = 'private'
  UNION
  SELECT c.id, c.workspace_id FROM hidden h JOIN sessions c ON c.workspace_id = h.workspace_id AND c.parent_session_id = h.id AND c.kind = 'tool'
)
UPDATE sessions SET visibility = 'private' WHERE visibility <> 'private' AND id IN (SELECT id FROM hidden);

-- +goose Down
