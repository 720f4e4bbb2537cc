-- +goose Up

-- Of a fork: the last sequence that it shares with the session it was forked
-- from, 0 for none; null for others.
ALTER TABLE sessions ADD COLUMN forked_through INTEGER;
CREATE INDEX sessions_branch ON sessions (workspace_id, parent_message_id, updated_at, id) WHERE parent_message_id IS NOT NULL AND deleted_at IS NULL;

-- What a fork reads before its own log: logs in order, each up to a sequence. A
-- log's rows begin behind where the one before is cut.
CREATE TABLE session_logs (
  session_id   BLOB NOT NULL,
  through      INTEGER NOT NULL,
  workspace_id BLOB NOT NULL,
  log_id       BLOB NOT NULL,
  writer_id    BLOB NOT NULL,              -- session that writes the log; deleted perhaps
  PRIMARY KEY (session_id, through)
) WITHOUT ROWID;
CREATE INDEX session_logs_log ON session_logs (log_id, through);

-- The marks of shared messages as a fork has them: what is not here is unmarked there.
CREATE TABLE session_marks (
  session_id   BLOB NOT NULL,
  sequence     INTEGER NOT NULL,
  workspace_id BLOB NOT NULL,
  message_id   BLOB NOT NULL,
  pinned       INTEGER NOT NULL,
  context_edge INTEGER NOT NULL,
  set_aside    INTEGER NOT NULL,
  pinned_event INTEGER NOT NULL,           -- of the fork's events; 0: pinned before, -1: and carried no more
  PRIMARY KEY (session_id, sequence)
) WITHOUT ROWID;
CREATE INDEX session_marks_edge ON session_marks (session_id, sequence) WHERE context_edge = 1;
CREATE INDEX messages_marked    ON messages (log_id, sequence) WHERE pinned = 1 OR context_edge = 1 OR set_aside = 1; -- what a fork takes over

-- +goose Down
DROP INDEX messages_marked;
DROP TABLE session_marks;
DROP TABLE session_logs;
DROP INDEX sessions_branch;
ALTER TABLE sessions DROP COLUMN forked_through;
