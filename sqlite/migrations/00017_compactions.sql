-- +goose Up

-- The compaction of a session that runs, or the last one: one row for each that
-- ever had one. Its claim is apart from that of the session's turn.
CREATE TABLE compactions (
  session_id     BLOB PRIMARY KEY,
  workspace_id   BLOB NOT NULL,
  id             BLOB NOT NULL,
  state          TEXT NOT NULL,              -- pending, running, completed, failed
  reason         TEXT NOT NULL,              -- messages, tokens, overflow, asked
  attempt        INTEGER NOT NULL DEFAULT 0, -- begun so far
  holder         BLOB,                       -- process that runs it
  epoch          INTEGER NOT NULL DEFAULT 0, -- claims so far
  covers_from    INTEGER NOT NULL DEFAULT 0, -- of the latest attempt
  covers_through INTEGER NOT NULL DEFAULT 0,
  absorbs_id     BLOB,
  call_id        BLOB,
  message_id     BLOB,                       -- the summary
  error          TEXT,
  not_before     INTEGER NOT NULL,
  rests_until    INTEGER NOT NULL DEFAULT 0, -- sequence
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  finished_at    INTEGER
) WITHOUT ROWID;
CREATE INDEX compactions_open ON compactions (not_before, session_id) WHERE state IN ('pending', 'running');

-- +goose Down
DROP TABLE compactions;
