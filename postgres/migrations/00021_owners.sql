-- +goose Up

-- Who may change an agent beside admins, and which version it had when owners came:
-- what sessions from before then have accepted.
ALTER TABLE parley.agents ADD COLUMN owner_id uuid;                -- principal; null: admins alone
ALTER TABLE parley.agents ADD COLUMN version_before bigint;        -- null: it is newer
SET LOCAL ROLE parley_system; -- row-level security is forced on the owner, who would see no row
UPDATE parley.agents SET version_before = version;
RESET ROLE;
CREATE INDEX agents_owner ON parley.agents (workspace_id, owner_id, slug) WHERE owner_id IS NOT NULL;

-- Who made a version, and what they accepted with it; what a session's owner has
-- accepted to run unasked (parley.Accepted). Null: from before.
ALTER TABLE parley.agent_versions ADD COLUMN changed_by uuid;
ALTER TABLE parley.agent_versions ADD COLUMN accepted text;
ALTER TABLE parley.sessions ADD COLUMN accepted text;

-- An older program would let members change everybody's agents, and run what was
-- never accepted.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 21);

-- +goose Down
ALTER TABLE parley.sessions DROP COLUMN accepted;
ALTER TABLE parley.agent_versions DROP COLUMN accepted, DROP COLUMN changed_by;
DROP INDEX parley.agents_owner;
ALTER TABLE parley.agents DROP COLUMN version_before, DROP COLUMN owner_id;
