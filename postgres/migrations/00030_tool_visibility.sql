-- +goose Up

-- A tool session is seen by no more people than the session that it works for. Until
-- now it kept the visibility that this one had when it was opened.
SET LOCAL ROLE parley_system;
WITH RECURSIVE hidden (id, workspace_id) AS (
  SELECT c.id, c.workspace_id FROM parley.sessions c JOIN parley.sessions p ON p.workspace_id = c.workspace_id AND p.id = c.parent_session_id
   WHERE c.kind = 'tool' AND p.visibility = 'private'
  UNION
  SELECT c.id, c.workspace_id FROM hidden h JOIN parley.sessions c ON c.workspace_id = h.workspace_id AND c.parent_session_id = h.id AND c.kind = 'tool'
), changed AS (
  UPDATE parley.sessions SET visibility = 'private' WHERE visibility <> 'private' AND (workspace_id, id) IN (SELECT workspace_id, id FROM hidden)
   RETURNING workspace_id, id
) -- servers that run remember the heads until their revision is another one
UPDATE parley.heads SET revision = revision + 1 FROM changed WHERE changed.workspace_id = heads.workspace_id AND changed.id = heads.session_id;
RESET ROLE;

-- +goose Down
