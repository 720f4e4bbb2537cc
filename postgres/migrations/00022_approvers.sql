-- +goose Up

-- Why a call is asked about and who has to approve it; who has. Null: one person,
-- because of a rule.
ALTER TABLE parley.approvals ADD COLUMN terms text;
ALTER TABLE parley.approvals ADD COLUMN approved_by text;

-- An older program would run a call after the first of several approvals.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 22);

-- +goose Down
ALTER TABLE parley.approvals DROP COLUMN approved_by, DROP COLUMN terms;
