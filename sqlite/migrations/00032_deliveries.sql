-- +goose Up

-- What an errand is told beside its target, as JSON; null when that says all, and of
-- errands from before.
ALTER TABLE outbox ADD COLUMN payload TEXT;

-- What other sessions sent a session, by the sender's key: it takes each once, however
-- often the errand that brings it is done.
CREATE TABLE deliveries (
  session_id   BLOB NOT NULL,
  workspace_id BLOB NOT NULL,
  kind         TEXT NOT NULL,               -- child_home, approval_created, approval_resolved
  key          BLOB NOT NULL,               -- of a call's message, an approval
  delivered_at INTEGER NOT NULL,
  PRIMARY KEY (session_id, kind, key)
) WITHOUT ROWID;

-- What a root has heard of an approval stood in the approval's row.
INSERT INTO deliveries SELECT root_id, workspace_id, 'approval_created', id, created_at FROM approvals a
 WHERE root_news >= 1 AND EXISTS (SELECT 1 FROM heads h WHERE h.session_id = a.root_id);
INSERT INTO deliveries SELECT root_id, workspace_id, 'approval_resolved', id, coalesce(decided_at, created_at) FROM approvals a
 WHERE root_news >= 2 AND EXISTS (SELECT 1 FROM heads h WHERE h.session_id = a.root_id);
ALTER TABLE approvals DROP COLUMN root_news;

-- +goose Down
ALTER TABLE approvals ADD COLUMN root_news INTEGER NOT NULL DEFAULT 0;
UPDATE approvals SET root_news = (SELECT count(*) FROM deliveries d
 WHERE d.session_id = approvals.root_id AND d.key = approvals.id AND d.kind IN ('approval_created', 'approval_resolved'));
DROP TABLE deliveries;
ALTER TABLE outbox DROP COLUMN payload;
