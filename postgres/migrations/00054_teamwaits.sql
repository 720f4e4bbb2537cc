-- +goose Up

-- What an agent waits for: the open delegations that its background session has sent.
CREATE INDEX delegations_open ON parley.delegations (workspace_id, from_session_id, created_at, id) WHERE finished_at IS NULL;

-- +goose Down
DROP INDEX parley.delegations_open;
