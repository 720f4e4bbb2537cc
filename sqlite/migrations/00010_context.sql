-- +goose Up

-- What the model sees of a session at present.
ALTER TABLE heads ADD COLUMN context_anchor INTEGER NOT NULL DEFAULT 0;   -- where the latest window began that had been cut; 0: none was
ALTER TABLE heads ADD COLUMN context_messages INTEGER NOT NULL DEFAULT 0; -- in the latest call's window, and entered since
ALTER TABLE heads ADD COLUMN context_tokens INTEGER NOT NULL DEFAULT 0;   -- of them, estimated
ALTER TABLE heads ADD COLUMN context_cleared INTEGER NOT NULL DEFAULT 0;  -- the next message gets a context edge
ALTER TABLE heads ADD COLUMN context_held INTEGER NOT NULL DEFAULT 0;     -- some message is, or was, pinned or a summary
ALTER TABLE heads ADD COLUMN cleared_at INTEGER;
ALTER TABLE heads ADD COLUMN cleared_event INTEGER NOT NULL DEFAULT 0;    -- its event: what was pinned before is carried no more

ALTER TABLE messages ADD COLUMN pinned_event INTEGER NOT NULL DEFAULT 0;  -- with which it was pinned last
CREATE INDEX messages_pinned ON messages (log_id, sequence) WHERE pinned = 1;

UPDATE heads SET context_held = 1 WHERE log_id IN (SELECT log_id FROM messages WHERE pinned = 1 OR role = 'summary');

-- +goose Down
DROP INDEX messages_pinned;
ALTER TABLE messages DROP COLUMN pinned_event;
ALTER TABLE heads DROP COLUMN cleared_event;
ALTER TABLE heads DROP COLUMN cleared_at;
ALTER TABLE heads DROP COLUMN context_held;
ALTER TABLE heads DROP COLUMN context_cleared;
ALTER TABLE heads DROP COLUMN context_tokens;
ALTER TABLE heads DROP COLUMN context_messages;
ALTER TABLE heads DROP COLUMN context_anchor;
