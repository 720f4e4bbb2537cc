-- +goose Up

-- The budget of a chain of delegations: its subject is the message that began it.
ALTER TABLE budgets ADD COLUMN session_id BLOB; -- of a chain: the session in which it began
CREATE INDEX budgets_chains ON budgets (session_id) WHERE session_id IS NOT NULL;

-- +goose Down
DROP INDEX budgets_chains;
ALTER TABLE budgets DROP COLUMN session_id;
