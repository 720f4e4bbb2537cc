-- +goose Up

-- Push notifications of other protocols: webhooks for one turn, which end with it.
ALTER TABLE webhooks ADD COLUMN session_id BLOB; -- its session; null: a subscription
ALTER TABLE webhooks ADD COLUMN turn_id BLOB;
ALTER TABLE webhooks ADD COLUMN push TEXT;       -- JSON: what the client sent for its requests
CREATE INDEX webhooks_session ON webhooks (session_id) WHERE session_id IS NOT NULL;

-- +goose Down
DROP INDEX webhooks_session;
ALTER TABLE webhooks DROP COLUMN push;
ALTER TABLE webhooks DROP COLUMN turn_id;
ALTER TABLE webhooks DROP COLUMN session_id;
