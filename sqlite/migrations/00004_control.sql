-- +goose Up

-- A turn may take up another one of the same message: a retry, or on after a limit.
ALTER TABLE turns ADD COLUMN continues_id BLOB;
ALTER TABLE turns ADD COLUMN idempotency_key TEXT;
ALTER TABLE turns ADD COLUMN fingerprint BLOB;
ALTER TABLE turns ADD COLUMN posted_event INTEGER NOT NULL DEFAULT 0; -- last event before, to rebuild the answer
CREATE UNIQUE INDEX turns_idempotency ON turns (session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- +goose Down
DROP INDEX turns_idempotency;
ALTER TABLE turns DROP COLUMN continues_id;
ALTER TABLE turns DROP COLUMN idempotency_key;
ALTER TABLE turns DROP COLUMN fingerprint;
ALTER TABLE turns DROP COLUMN posted_event;
