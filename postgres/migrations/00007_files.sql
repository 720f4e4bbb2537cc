-- +goose Up

-- The bytes of files, apart from their names: files with the same bytes share
-- them. They are written chunk by chunk and count once state is whole.
CREATE TABLE parley.blobs (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  state        text NOT NULL,               -- open, whole, gone
  hash         bytea,                       -- SHA-256, once whole
  size         bigint NOT NULL DEFAULT 0,
  files        bigint NOT NULL DEFAULT 0,   -- that have these bytes
  thumbnail    bytea,                       -- once it was asked for
  touched_at   bigint NOT NULL,             -- when it last grew
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX blobs_hash ON parley.blobs (workspace_id, hash) WHERE state = 'whole';

CREATE TABLE parley.blob_chunks (
  blob_id      uuid NOT NULL,
  n            bigint NOT NULL,             -- from 0
  workspace_id uuid NOT NULL,
  data         bytea NOT NULL,
  PRIMARY KEY (workspace_id, blob_id, n)
);
ALTER TABLE parley.blob_chunks ALTER COLUMN data SET STORAGE EXTERNAL; -- images are compressed as they are

CREATE TABLE parley.files (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  owner_id     uuid NOT NULL,
  blob_id      uuid NOT NULL,
  name         text NOT NULL,
  media_type   text NOT NULL,
  size         bigint NOT NULL,
  hash         bytea NOT NULL,
  width        bigint NOT NULL DEFAULT 0,
  height       bigint NOT NULL DEFAULT 0,
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX files_same ON parley.files (workspace_id, owner_id, blob_id, name);

-- Which messages use which files.
CREATE TABLE parley.file_uses (
  workspace_id uuid NOT NULL,
  session_id   uuid NOT NULL,
  message_id   uuid NOT NULL,
  file_id      uuid NOT NULL,
  PRIMARY KEY (workspace_id, session_id, message_id, file_id)
);
CREATE INDEX file_uses_file ON parley.file_uses (workspace_id, file_id);

-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['blobs', 'blob_chunks', 'files', 'file_uses'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE parley.file_uses;
DROP TABLE parley.files;
DROP TABLE parley.blob_chunks;
DROP TABLE parley.blobs;
