-- +goose Up

-- What the bytes of an artifact of kind file are: of the newest version, and of each version.
ALTER TABLE artifacts ADD COLUMN media_type TEXT;
ALTER TABLE artifact_versions ADD COLUMN media_type TEXT;

-- +goose Down
ALTER TABLE artifact_versions DROP COLUMN media_type;
ALTER TABLE artifacts DROP COLUMN media_type;
