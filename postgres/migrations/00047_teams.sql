-- +goose Up

-- Teams: the agents that an agent leads are found by an index. The body holds the same.
ALTER TABLE parley.agents ADD COLUMN lead_id uuid;
SET LOCAL ROLE parley_system; -- row-level security is forced on the owner, who would see no row
UPDATE parley.agents SET lead_id = (body::json ->> 'lead_id')::uuid WHERE body::json ->> 'lead_id' IS NOT NULL;
RESET ROLE;
CREATE INDEX agents_lead ON parley.agents (workspace_id, lead_id) WHERE lead_id IS NOT NULL;

-- In an agent's background session: a person waits for the turn, so it runs at foreground priority.
ALTER TABLE parley.turns ADD COLUMN urgent boolean NOT NULL DEFAULT false;

-- An older program would let leads form circles, and teams have several owners.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 47);

-- +goose Down
ALTER TABLE parley.turns DROP COLUMN urgent;
DROP INDEX parley.agents_lead;
ALTER TABLE parley.agents DROP COLUMN lead_id;
