-- +goose Up

-- The entries from before the audit was chained wait to be linked like all others. They
-- are read beside servers that write entries: what those write since 00025 comes by itself.
SET LOCAL ROLE parley_system;
INSERT INTO parley.audit_unlinked SELECT a.workspace_id, a.at, a.id FROM parley.audit a
 WHERE NOT EXISTS (SELECT FROM parley.audit_links l WHERE l.workspace_id = a.workspace_id AND l.entry_at = a.at AND l.entry_id = a.id)
 ON CONFLICT DO NOTHING;
RESET ROLE;

-- +goose Down
