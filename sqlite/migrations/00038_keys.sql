-- +goose Up

-- A key that begins like those made of type, feature and task, and was given as it is,
-- gets a backslash: from here on the two kinds never name one session. A session whose
-- key is made of its own fields keeps it. Keys that have a backslash go first, because
-- the others take their place.
UPDATE sessions SET key = '\' || key
 WHERE key LIKE '\%' AND ltrim(key, '\') LIKE '["%' AND deleted_at IS NULL;
UPDATE sessions SET key = '\' || key
 WHERE key LIKE '["%' AND deleted_at IS NULL
   AND key <> '[' || json_quote(type) || ',' || json_quote(feature) || CASE task WHEN '' THEN '' ELSE ',' || json_quote(task) END || ']';

-- +goose Down
UPDATE sessions SET key = substr(key, 2) WHERE key LIKE '\["%';
UPDATE sessions SET key = substr(key, 2) WHERE key LIKE '\\%' AND ltrim(key, '\') LIKE '["%';
