-- +goose Up

-- How many sessions a key's principal may own, and how many bytes of files it may
-- have uploaded. 0: not limited.
ALTER TABLE keys ADD COLUMN max_sessions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN max_storage INTEGER NOT NULL DEFAULT 0;

-- What a quota counts: the sessions of an owner, the bytes of a workspace and of an
-- uploader.
CREATE INDEX sessions_owner ON sessions (workspace_id, owner_id) WHERE deleted_at IS NULL;
CREATE INDEX blobs_size ON blobs (workspace_id, size) WHERE state <> 'gone';
CREATE INDEX files_owner ON files (workspace_id, owner_id, size);

-- +goose Down
DROP INDEX files_owner;
DROP INDEX blobs_size;
DROP INDEX sessions_owner;
ALTER TABLE keys DROP COLUMN max_storage;
ALTER TABLE keys DROP COLUMN max_sessions;
