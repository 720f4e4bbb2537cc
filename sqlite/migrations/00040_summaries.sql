-- +goose Up

-- The log that a fork comes from in the end: its requests begin like those of that
-- conversation and use the provider's cache under its key.
ALTER TABLE sessions ADD COLUMN root_log_id BLOB;
UPDATE sessions SET root_log_id = (SELECT g.log_id FROM session_logs g WHERE g.session_id = sessions.id ORDER BY g.through LIMIT 1)
 WHERE forked_through IS NOT NULL;

-- The instruction that a request for a summary appends to the conversation's own (its
-- text is in call_texts, once per hash).
ALTER TABLE calls ADD COLUMN instruction_hash BLOB;
CREATE INDEX calls_instruction ON calls (workspace_id, instruction_hash) WHERE instruction_hash IS NOT NULL;

-- What somebody asked of a summary: the last sequence that it may cover, and what it must
-- hold.
ALTER TABLE compactions ADD COLUMN through INTEGER NOT NULL DEFAULT 0;
ALTER TABLE compactions ADD COLUMN instructions TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE compactions DROP COLUMN instructions;
ALTER TABLE compactions DROP COLUMN through;
DROP INDEX calls_instruction;
ALTER TABLE calls DROP COLUMN instruction_hash;
ALTER TABLE sessions DROP COLUMN root_log_id;
