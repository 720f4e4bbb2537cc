-- +goose Up

-- A turn may take up another one of the same message: a retry, or on after a limit.
ALTER TABLE parley.turns ADD COLUMN continues_id uuid, ADD COLUMN idempotency_key text, ADD COLUMN fingerprint bytea,
  ADD COLUMN posted_event bigint NOT NULL DEFAULT 0; -- last event before, to rebuild the answer
CREATE UNIQUE INDEX turns_idempotency ON parley.turns (workspace_id, session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- +goose Down
DROP INDEX parley.turns_idempotency;
ALTER TABLE parley.turns DROP COLUMN continues_id, DROP COLUMN idempotency_key, DROP COLUMN fingerprint, DROP COLUMN posted_event;
