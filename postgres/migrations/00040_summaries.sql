-- +goose Up

-- The log that a fork comes from in the end: its requests begin like those of that
-- conversation and use the provider's cache under its key. Servers that run remember the
-- heads until their revision is another one.
ALTER TABLE parley.sessions ADD COLUMN root_log_id uuid;
SET LOCAL ROLE parley_system;
WITH changed AS (
  UPDATE parley.sessions SET root_log_id = (SELECT g.log_id FROM parley.session_logs g
    WHERE g.workspace_id = sessions.workspace_id AND g.session_id = sessions.id ORDER BY g.through LIMIT 1)
   WHERE forked_through IS NOT NULL
   RETURNING workspace_id, id
)
UPDATE parley.heads SET revision = revision + 1 FROM changed WHERE changed.workspace_id = heads.workspace_id AND changed.id = heads.session_id;
RESET ROLE;

-- The instruction that a request for a summary appends to the conversation's own (its
-- text is in call_texts, once per hash).
ALTER TABLE parley.calls ADD COLUMN instruction_hash bytea;
CREATE INDEX calls_instruction ON parley.calls (workspace_id, instruction_hash) WHERE instruction_hash IS NOT NULL;

-- What somebody asked of a summary: the last sequence that it may cover, and what it must
-- hold.
ALTER TABLE parley.compactions ADD COLUMN through bigint NOT NULL DEFAULT 0;
ALTER TABLE parley.compactions ADD COLUMN instructions text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE parley.compactions DROP COLUMN instructions, DROP COLUMN through;
ALTER TABLE parley.calls DROP COLUMN instruction_hash;
ALTER TABLE parley.sessions DROP COLUMN root_log_id;
