-- +goose Up

-- A turn may take up another one of the same message: a retry, or on after a limit.
ALTER TABLE parley.turns ADD COLUMN continues_id uuid, ADD COLUMN idempotency_key text, ADD COLUMN fingerprint bytea,
  ADD COLUMN posted_event bigint NOT NULL DEFAULT 0; -- last event before, to rebuild the answer
CREATE UNIQUE INDEX turns_idempotency ON parley.turns (workspace_id, session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- A loop repeats a task: each iteration is a turn.
CREATE TABLE parley.loops (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  session_id      uuid NOT NULL,
  ordinal         bigint NOT NULL, -- sequence of its first loop.progress: what orders loops
  prompt          text NOT NULL,
  content         text NOT NULL, -- of every iteration's message
  "max"           integer NOT NULL,
  until           text,
  context         text NOT NULL,
  archive_done    boolean NOT NULL,
  author_kind     text NOT NULL,
  author_id       uuid,
  author_name     text NOT NULL DEFAULT '',
  state           text NOT NULL,
  reason          text NOT NULL DEFAULT '',
  iteration       integer NOT NULL,  -- the last one made
  turn_id         uuid NOT NULL,  -- of that one
  idempotency_key text,
  fingerprint     bytea,
  posted_event    bigint NOT NULL DEFAULT 0, -- last event before, to rebuild the answer
  created_at      bigint NOT NULL,
  finished_at     bigint,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX loops_session     ON parley.loops (workspace_id, session_id, ordinal);
CREATE UNIQUE INDEX loops_running     ON parley.loops (workspace_id, session_id) WHERE state = 'running';
CREATE UNIQUE INDEX loops_idempotency ON parley.loops (workspace_id, session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- +goose StatementBegin
DO $$
BEGIN
  ALTER TABLE parley.loops ENABLE ROW LEVEL SECURITY;
  ALTER TABLE parley.loops FORCE ROW LEVEL SECURITY;
  CREATE POLICY tenant ON parley.loops TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
  CREATE POLICY system ON parley.loops TO parley_system USING (true);
  GRANT SELECT, INSERT, UPDATE, DELETE ON parley.loops TO parley_tenant, parley_system;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE parley.loops;
DROP INDEX parley.turns_idempotency;
ALTER TABLE parley.turns DROP COLUMN continues_id, DROP COLUMN idempotency_key, DROP COLUMN fingerprint, DROP COLUMN posted_event;
