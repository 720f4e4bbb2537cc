-- +goose Up

-- How many sessions a key's principal may own, and how many bytes of files it may
-- have uploaded. 0: not limited.
ALTER TABLE parley.keys ADD COLUMN max_sessions bigint NOT NULL DEFAULT 0;
ALTER TABLE parley.keys ADD COLUMN max_storage bigint NOT NULL DEFAULT 0;

-- What a quota counts: the sessions of an owner, the bytes of a workspace and of an
-- uploader.
CREATE INDEX sessions_owner ON parley.sessions (workspace_id, owner_id) WHERE deleted_at IS NULL;
CREATE INDEX blobs_size ON parley.blobs (workspace_id, size) WHERE state <> 'gone';
CREATE INDEX files_owner ON parley.files (workspace_id, owner_id, size);

-- A program that knows no quotas would go beyond them.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 27);

-- +goose Down
DROP INDEX parley.files_owner;
DROP INDEX parley.blobs_size;
DROP INDEX parley.sessions_owner;
ALTER TABLE parley.keys DROP COLUMN max_storage;
ALTER TABLE parley.keys DROP COLUMN max_sessions;
