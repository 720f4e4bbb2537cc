-- +goose Up

-- Browsers that signed in. Each has a secret of its own in its cookie, never a key. A
-- row goes when the browser signs out; it counts for nothing once its principal's key
-- is revoked, and is then removed with a later sign-in. It does not move with a copy.
CREATE TABLE sign_ins (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  principal_id BLOB NOT NULL,
  hash         BLOB NOT NULL UNIQUE,       -- SHA-256 of the secret; the secret is nowhere
  created_at   INTEGER NOT NULL,
  seen_at      INTEGER NOT NULL,           -- about when it was last used
  expires_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sign_ins_principal ON sign_ins (workspace_id, principal_id, id);
CREATE INDEX keys_principal     ON keys (workspace_id, principal_id);

-- +goose Down
DROP INDEX keys_principal;
DROP TABLE sign_ins;
