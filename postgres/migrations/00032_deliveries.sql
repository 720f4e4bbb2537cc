-- +goose Up

-- What an errand is told beside its target, as JSON; null when that says all, and of
-- errands from before.
ALTER TABLE parley.outbox ADD COLUMN payload text;

-- What other sessions sent a session, by the sender's key: it takes each once, however
-- often the errand that brings it is done.
CREATE TABLE parley.deliveries (
  session_id   uuid NOT NULL,
  workspace_id uuid NOT NULL,
  kind         text NOT NULL,               -- child_home, approval_created, approval_resolved
  key          uuid NOT NULL,               -- of a call's message, an approval
  delivered_at bigint NOT NULL,
  PRIMARY KEY (workspace_id, session_id, kind, key)
);

ALTER TABLE parley.deliveries ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.deliveries FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.deliveries TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.deliveries TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.deliveries TO parley_tenant, parley_system;

-- What a root has heard of an approval stood in the approval's row.
SET LOCAL ROLE parley_system;
INSERT INTO parley.deliveries SELECT root_id, workspace_id, 'approval_created', id, created_at FROM parley.approvals a
 WHERE root_news >= 1 AND EXISTS (SELECT 1 FROM parley.heads h WHERE h.workspace_id = a.workspace_id AND h.session_id = a.root_id);
INSERT INTO parley.deliveries SELECT root_id, workspace_id, 'approval_resolved', id, coalesce(decided_at, created_at) FROM parley.approvals a
 WHERE root_news >= 2 AND EXISTS (SELECT 1 FROM parley.heads h WHERE h.workspace_id = a.workspace_id AND h.session_id = a.root_id);
RESET ROLE;
ALTER TABLE parley.approvals DROP COLUMN root_news;

-- A program that does not know deliveries would tell a root twice.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 32);

-- +goose Down
ALTER TABLE parley.approvals ADD COLUMN root_news integer NOT NULL DEFAULT 0;
SET LOCAL ROLE parley_system;
UPDATE parley.approvals a SET root_news = (SELECT count(*) FROM parley.deliveries d WHERE d.workspace_id = a.workspace_id
 AND d.session_id = a.root_id AND d.key = a.id AND d.kind IN ('approval_created', 'approval_resolved'));
RESET ROLE;
DROP TABLE parley.deliveries;
ALTER TABLE parley.outbox DROP COLUMN payload;
