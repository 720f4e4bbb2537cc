-- +goose Up

-- Why a call is asked about and who has to approve it; who has. Null: one person,
-- because of a rule.
ALTER TABLE approvals ADD COLUMN terms TEXT;
ALTER TABLE approvals ADD COLUMN approved_by TEXT;

-- +goose Down
ALTER TABLE approvals DROP COLUMN approved_by;
ALTER TABLE approvals DROP COLUMN terms;
