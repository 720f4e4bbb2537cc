-- +goose Up

-- Which version of the hash chain a row's content_hash is of (ADR 0035). What is
-- there already is of the first; rows that have no hash yet get the version with it.
ALTER TABLE messages ADD COLUMN chain_version INTEGER NOT NULL DEFAULT 1;

-- +goose Down
ALTER TABLE messages DROP COLUMN chain_version;
