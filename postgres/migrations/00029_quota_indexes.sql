-- +goose NO TRANSACTION
-- +goose Up

-- What a quota counts: the sessions of an owner, the bytes of a workspace and of an
-- uploader. They are made while servers write; what an attempt that was broken off left
-- behind is made anew.
DROP INDEX CONCURRENTLY IF EXISTS parley.sessions_owner;
CREATE INDEX CONCURRENTLY sessions_owner ON parley.sessions (workspace_id, owner_id) WHERE deleted_at IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS parley.blobs_size;
CREATE INDEX CONCURRENTLY blobs_size ON parley.blobs (workspace_id, size) WHERE state <> 'gone';
DROP INDEX CONCURRENTLY IF EXISTS parley.files_owner;
CREATE INDEX CONCURRENTLY files_owner ON parley.files (workspace_id, owner_id, size);

-- +goose Down
DROP INDEX parley.files_owner;
DROP INDEX parley.blobs_size;
DROP INDEX parley.sessions_owner;
