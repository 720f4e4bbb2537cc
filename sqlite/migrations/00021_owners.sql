-- +goose Up

-- Who may change an agent beside admins, and which version it had when owners came:
-- what sessions from before then have accepted.
ALTER TABLE agents ADD COLUMN owner_id BLOB;                       -- principal; null: admins alone
ALTER TABLE agents ADD COLUMN version_before INTEGER;              -- null: it is newer
UPDATE agents SET version_before = version;
CREATE INDEX agents_owner ON agents (workspace_id, owner_id, slug) WHERE owner_id IS NOT NULL;

-- Who made a version, and what they accepted with it; what a session's owner has
-- accepted to run unasked (parley.Accepted). Null: from before.
ALTER TABLE agent_versions ADD COLUMN changed_by BLOB;
ALTER TABLE agent_versions ADD COLUMN accepted TEXT;
ALTER TABLE sessions ADD COLUMN accepted TEXT;

-- +goose Down
ALTER TABLE sessions DROP COLUMN accepted;
ALTER TABLE agent_versions DROP COLUMN accepted;
ALTER TABLE agent_versions DROP COLUMN changed_by;
DROP INDEX agents_owner;
ALTER TABLE agents DROP COLUMN version_before;
ALTER TABLE agents DROP COLUMN owner_id;
