-- +goose Up

-- What the bytes of an artifact of kind file are: of the newest version, and of each version.
ALTER TABLE parley.artifacts ADD COLUMN media_type text;
ALTER TABLE parley.artifact_versions ADD COLUMN media_type text;

-- +goose Down
ALTER TABLE parley.artifact_versions DROP COLUMN media_type;
ALTER TABLE parley.artifacts DROP COLUMN media_type;
