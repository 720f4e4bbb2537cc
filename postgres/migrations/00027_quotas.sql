-- +goose Up

-- How many sessions a key's principal may own, and how many bytes of files it may
-- have uploaded. 0: not limited.
ALTER TABLE parley.keys ADD COLUMN max_sessions bigint NOT NULL DEFAULT 0;
ALTER TABLE parley.keys ADD COLUMN max_storage bigint NOT NULL DEFAULT 0;

-- A program that knows no quotas would go beyond them.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 27);

-- +goose Down
ALTER TABLE parley.keys DROP COLUMN max_storage;
ALTER TABLE parley.keys DROP COLUMN max_sessions;
