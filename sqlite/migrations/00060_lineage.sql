-- +goose Up

-- What was made from a version: lineages walk from causes to effects, too.
CREATE INDEX artifact_versions_parent ON artifact_versions (artifact_id, parent) WHERE parent IS NOT NULL;
CREATE INDEX artifact_versions_restored ON artifact_versions (artifact_id, restored_from)
 WHERE restored_from IS NOT NULL;

-- +goose Down
DROP INDEX artifact_versions_restored;
DROP INDEX artifact_versions_parent;
