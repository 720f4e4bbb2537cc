-- +goose Up

-- Where a tool session lies: in whose tree, and how deep.
ALTER TABLE parley.sessions ADD COLUMN root_id uuid;                     -- NULL: its own id
ALTER TABLE parley.sessions ADD COLUMN depth integer NOT NULL DEFAULT 0;

-- Everybody waits for this: only the rows of trees are written, from their roots down.
SET LOCAL ROLE parley_system;
WITH RECURSIVE tree (id, workspace_id, root_id, depth) AS (
  SELECT s.id, s.workspace_id, s.id, 0 FROM (SELECT DISTINCT workspace_id, parent_session_id FROM parley.sessions WHERE kind = 'tool' AND parent_session_id IS NOT NULL) o
   JOIN parley.sessions s ON s.workspace_id = o.workspace_id AND s.id = o.parent_session_id
   WHERE s.kind <> 'tool' OR s.parent_session_id IS NULL
   OR NOT EXISTS (SELECT 1 FROM parley.sessions p WHERE p.id = s.parent_session_id AND p.workspace_id = s.workspace_id)
  UNION ALL
  SELECT c.id, c.workspace_id, t.root_id, t.depth + 1 FROM tree t
   JOIN parley.sessions c ON c.workspace_id = t.workspace_id AND c.parent_session_id = t.id AND c.kind = 'tool'
)
UPDATE parley.sessions SET root_id = tree.root_id, depth = tree.depth FROM tree
 WHERE tree.depth > 0 AND tree.workspace_id = sessions.workspace_id AND tree.id = sessions.id;

RESET ROLE;

-- What is due first comes first; what is not done goes to the end.
CREATE INDEX outbox_due ON parley.outbox (due_at, id);

-- +goose Down
DROP INDEX parley.outbox_due;
ALTER TABLE parley.sessions DROP COLUMN depth;
ALTER TABLE parley.sessions DROP COLUMN root_id;
