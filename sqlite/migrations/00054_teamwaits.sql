-- +goose Up

-- What an agent waits for: the open delegations that its background session has sent.
CREATE INDEX delegations_open ON delegations (from_session_id, created_at, id) WHERE finished_at IS NULL;

-- +goose Down
DROP INDEX delegations_open;
