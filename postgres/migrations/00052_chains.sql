-- +goose Up

-- The budget of a chain of delegations: its subject is the message that began it.
ALTER TABLE parley.budgets ADD COLUMN session_id uuid; -- of a chain: the session in which it began
CREATE INDEX budgets_chains ON parley.budgets (workspace_id, session_id) WHERE session_id IS NOT NULL;

-- A program that does not know budgets of chains would let its turns exceed them.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 52);

-- +goose Down
DROP INDEX parley.budgets_chains;
ALTER TABLE parley.budgets DROP COLUMN session_id;
