-- +goose Up

-- Who sees the sessions that are created without a visibility. The other columns are still the system's alone.
ALTER TABLE parley.workspaces ADD COLUMN visibility text NOT NULL DEFAULT 'private';
GRANT UPDATE (visibility) ON parley.workspaces TO parley_tenant;

-- +goose Down
ALTER TABLE parley.workspaces DROP COLUMN visibility;
