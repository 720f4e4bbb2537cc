-- +goose Up

-- Teams: the agents that an agent leads are found by an index. The body holds the same.
ALTER TABLE agents ADD COLUMN lead_id BLOB;
UPDATE agents SET lead_id = unhex(replace(body ->> '$.lead_id', '-', ''))
 WHERE CASE WHEN json_valid(body) THEN body ->> '$.lead_id' END IS NOT NULL;
CREATE INDEX agents_lead ON agents (workspace_id, lead_id) WHERE lead_id IS NOT NULL;

-- In an agent's background session: a person waits for the turn, so it runs at foreground priority.
ALTER TABLE turns ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE turns DROP COLUMN urgent;
DROP INDEX agents_lead;
ALTER TABLE agents DROP COLUMN lead_id;
