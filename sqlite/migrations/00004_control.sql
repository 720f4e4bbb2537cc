-- +goose Up

-- A turn may take up another one of the same message: a retry, or on after a limit.
ALTER TABLE turns ADD COLUMN continues_id BLOB;
ALTER TABLE turns ADD COLUMN idempotency_key TEXT;
ALTER TABLE turns ADD COLUMN fingerprint BLOB;
ALTER TABLE turns ADD COLUMN posted_event INTEGER NOT NULL DEFAULT 0; -- last event before, to rebuild the answer
CREATE UNIQUE INDEX turns_idempotency ON turns (session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- A loop repeats a task: each iteration is a turn.
CREATE TABLE loops (
  id              BLOB NOT NULL PRIMARY KEY,
  workspace_id    BLOB NOT NULL,
  session_id      BLOB NOT NULL,
  ordinal         INTEGER NOT NULL, -- sequence of its first loop.progress: what orders loops
  prompt          TEXT NOT NULL,
  content         TEXT NOT NULL, -- of every iteration's message
  "max"           INTEGER NOT NULL,
  until           TEXT,
  context         TEXT NOT NULL,
  archive_done    INTEGER NOT NULL,
  author_kind     TEXT NOT NULL,
  author_id       BLOB,
  author_name     TEXT NOT NULL DEFAULT '',
  state           TEXT NOT NULL,
  reason          TEXT NOT NULL DEFAULT '',
  iteration       INTEGER NOT NULL,  -- the last one made
  turn_id         BLOB NOT NULL,  -- of that one
  idempotency_key TEXT,
  fingerprint     BLOB,
  posted_event    INTEGER NOT NULL DEFAULT 0, -- last event before, to rebuild the answer
  created_at      INTEGER NOT NULL,
  finished_at     INTEGER
);
CREATE UNIQUE INDEX loops_session     ON loops (session_id, ordinal);
CREATE UNIQUE INDEX loops_running     ON loops (session_id) WHERE state = 'running';
CREATE UNIQUE INDEX loops_idempotency ON loops (session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- +goose Down
DROP TABLE loops;
DROP INDEX turns_idempotency;
ALTER TABLE turns DROP COLUMN continues_id;
ALTER TABLE turns DROP COLUMN idempotency_key;
ALTER TABLE turns DROP COLUMN fingerprint;
ALTER TABLE turns DROP COLUMN posted_event;
