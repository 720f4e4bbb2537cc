-- +goose Up

-- Who sees the sessions that are created without a visibility.
ALTER TABLE workspaces ADD COLUMN visibility TEXT NOT NULL DEFAULT 'private';

-- +goose Down
ALTER TABLE workspaces DROP COLUMN visibility;
