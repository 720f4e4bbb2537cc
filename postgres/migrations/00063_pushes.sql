-- +goose Up

-- Push notifications of other protocols: webhooks for one turn, which end with it.
ALTER TABLE parley.webhooks
  ADD COLUMN session_id uuid,  -- its session; null: a subscription
  ADD COLUMN turn_id    uuid,
  ADD COLUMN push       text;  -- JSON: what the client sent for its requests
CREATE INDEX webhooks_session ON parley.webhooks (workspace_id, session_id) WHERE session_id IS NOT NULL;

-- A program that does not know them would post events of its own form to the clients of other protocols, of every turn.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 63);

-- +goose Down
DROP INDEX parley.webhooks_session;
ALTER TABLE parley.webhooks DROP COLUMN push, DROP COLUMN turn_id, DROP COLUMN session_id;
