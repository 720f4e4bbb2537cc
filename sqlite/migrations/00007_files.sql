-- +goose Up

-- The bytes of files, apart from their names: files with the same bytes share
-- them. They are written chunk by chunk and count once state is whole.
CREATE TABLE blobs (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  state        TEXT NOT NULL,               -- open, whole, gone
  hash         BLOB,                        -- SHA-256, once whole
  size         INTEGER NOT NULL DEFAULT 0,
  files        INTEGER NOT NULL DEFAULT 0,  -- that have these bytes
  thumbnail    BLOB,                        -- once it was asked for
  touched_at   INTEGER NOT NULL             -- when it last grew
) WITHOUT ROWID;
CREATE UNIQUE INDEX blobs_hash ON blobs (workspace_id, hash) WHERE state = 'whole';

CREATE TABLE blob_chunks (
  blob_id      BLOB NOT NULL,
  n            INTEGER NOT NULL,            -- from 0
  workspace_id BLOB NOT NULL,
  data         BLOB NOT NULL,
  PRIMARY KEY (blob_id, n)
);

CREATE TABLE files (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  owner_id     BLOB NOT NULL,
  blob_id      BLOB NOT NULL,
  name         TEXT NOT NULL,
  media_type   TEXT NOT NULL,
  size         INTEGER NOT NULL,
  hash         BLOB NOT NULL,
  width        INTEGER NOT NULL DEFAULT 0,
  height       INTEGER NOT NULL DEFAULT 0,
  created_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX files_listed ON files (workspace_id, id);
CREATE UNIQUE INDEX files_same ON files (workspace_id, owner_id, blob_id, name);

-- Which messages use which files.
CREATE TABLE file_uses (
  workspace_id BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  message_id   BLOB NOT NULL,
  file_id      BLOB NOT NULL,
  PRIMARY KEY (session_id, message_id, file_id)
) WITHOUT ROWID;
CREATE INDEX file_uses_file ON file_uses (workspace_id, file_id);

-- +goose Down
DROP TABLE file_uses;
DROP TABLE files;
DROP TABLE blob_chunks;
DROP TABLE blobs;
