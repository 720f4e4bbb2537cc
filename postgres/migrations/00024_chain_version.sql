-- +goose Up

-- Which version of the hash chain a row's content_hash is of (ADR 0035). What is
-- there already is of the first; rows that have no hash yet get the version with it.
ALTER TABLE parley.messages ADD COLUMN chain_version integer NOT NULL DEFAULT 1;

-- An older program would go on under the first version, behind the second.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 24);

-- +goose Down
ALTER TABLE parley.messages DROP COLUMN chain_version;
