-- +goose Up

-- A key that begins like those made of type, feature and task, and was given as it is,
-- gets a backslash: from here on the two kinds never name one session. A session whose
-- key is made of its own fields keeps it. Keys that have a backslash go first, because
-- the others take their place. Servers that run remember the heads until their revision
-- is another one.
SET LOCAL ROLE parley_system;
WITH changed AS (
  UPDATE parley.sessions SET key = chr(92) || key
   WHERE starts_with(key, chr(92)) AND starts_with(ltrim(key, chr(92)), '["') AND deleted_at IS NULL
   RETURNING workspace_id, id
)
UPDATE parley.heads SET revision = revision + 1 FROM changed WHERE changed.workspace_id = heads.workspace_id AND changed.id = heads.session_id;
WITH changed AS (
  UPDATE parley.sessions SET key = chr(92) || key
   WHERE starts_with(key, '["') AND deleted_at IS NULL
     AND key <> '[' || to_json(type)::text || ',' || to_json(feature)::text || CASE task WHEN '' THEN '' ELSE ',' || to_json(task)::text END || ']'
   RETURNING workspace_id, id
)
UPDATE parley.heads SET revision = revision + 1 FROM changed WHERE changed.workspace_id = heads.workspace_id AND changed.id = heads.session_id;
RESET ROLE;

-- +goose Down
