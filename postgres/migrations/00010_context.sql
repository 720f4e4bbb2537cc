-- +goose Up

-- What the model sees of a session at present.
ALTER TABLE parley.heads
  ADD COLUMN context_anchor   bigint NOT NULL DEFAULT 0,     -- where the latest window began that had been cut; 0: none was
  ADD COLUMN context_messages bigint NOT NULL DEFAULT 0,     -- in the latest call's window, and entered since
  ADD COLUMN context_tokens   bigint NOT NULL DEFAULT 0,     -- of them, estimated
  ADD COLUMN context_cleared  boolean NOT NULL DEFAULT false, -- the next message gets a context edge
  ADD COLUMN context_held     boolean NOT NULL DEFAULT false, -- some message is, or was, pinned or a summary
  ADD COLUMN cleared_at       bigint,
  ADD COLUMN cleared_event    bigint NOT NULL DEFAULT 0;     -- its event: what was pinned before is carried no more

ALTER TABLE parley.messages ADD COLUMN pinned_event bigint NOT NULL DEFAULT 0; -- with which it was pinned last
CREATE INDEX messages_pinned ON parley.messages (workspace_id, log_id, sequence) WHERE pinned;

-- Only the heads of sessions with such messages are written.
SET LOCAL ROLE parley_system;
UPDATE parley.heads h SET context_held = true FROM
 (SELECT DISTINCT workspace_id, log_id FROM parley.messages WHERE pinned OR role = 'summary') m
 WHERE h.workspace_id = m.workspace_id AND h.log_id = m.log_id;
RESET ROLE;

-- +goose Down
DROP INDEX parley.messages_pinned;
ALTER TABLE parley.messages DROP COLUMN pinned_event;
ALTER TABLE parley.heads DROP COLUMN context_anchor, DROP COLUMN context_messages, DROP COLUMN context_tokens, DROP COLUMN context_cleared,
  DROP COLUMN context_held, DROP COLUMN cleared_at, DROP COLUMN cleared_event;
