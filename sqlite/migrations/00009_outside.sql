-- +goose Up

-- The message of a session that an agent outside streams, while it is open.
CREATE TABLE outside (
  session_id    BLOB PRIMARY KEY,
  workspace_id  BLOB NOT NULL,
  message_id    BLOB NOT NULL,
  turn_id       BLOB NOT NULL,
  versions      INTEGER NOT NULL DEFAULT 0,
  text_end      INTEGER NOT NULL DEFAULT 0, -- bytes
  reasoning_end INTEGER NOT NULL DEFAULT 0,
  timeout       INTEGER NOT NULL,           -- milliseconds without an append
  due_at        INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX outside_due ON outside (due_at);

-- Which sessions another session may read.
CREATE TABLE shares (
  session_id   BLOB NOT NULL,
  reader_id    BLOB NOT NULL,
  workspace_id BLOB NOT NULL,
  shared_kind  TEXT NOT NULL,
  shared_by    BLOB NOT NULL,
  shared_name  TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (session_id, reader_id)
) WITHOUT ROWID;
CREATE INDEX shares_reader ON shares (reader_id, session_id);

-- +goose Down
DROP TABLE shares;
DROP TABLE outside;
