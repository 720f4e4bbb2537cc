-- +goose Up

-- What clients of other protocols call sessions and what is in them.
CREATE TABLE foreign_ids (
  workspace_id BLOB NOT NULL,
  protocol     TEXT NOT NULL,
  principal_id BLOB NOT NULL,              -- whose client calls it that
  name         TEXT NOT NULL,
  session_id   BLOB NOT NULL,
  target_id    BLOB,                       -- a message or a turn; null: the session
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, protocol, principal_id, name, session_id)
) WITHOUT ROWID;
CREATE INDEX foreign_ids_session ON foreign_ids (session_id);

-- +goose Down
DROP TABLE foreign_ids;
