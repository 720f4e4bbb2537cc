-- +goose Up

-- Turns that ran when a process died are suspected of having killed it
-- (docs/turn-states.md). From now on ready.priority tells that too: 0 foreground,
-- 1 background, and two more for each degree of suspicion.
ALTER TABLE turns ADD COLUMN caught_by BLOB;  -- the first process that died under it since it last settled a step
ALTER TABLE turns ADD COLUMN accused_by BLOB; -- the one that died with it as its sole suspect
CREATE INDEX turns_caught   ON turns (caught_by) WHERE caught_by IS NOT NULL;
CREATE INDEX ready_suspects ON ready (priority) WHERE priority > 1;

-- The latest processes that died, in order.
CREATE TABLE deaths (
  n          INTEGER PRIMARY KEY,
  process_id BLOB NOT NULL UNIQUE
);

-- +goose Down
UPDATE ready SET priority = priority % 2;
DROP TABLE deaths;
DROP INDEX ready_suspects;
DROP INDEX turns_caught;
ALTER TABLE turns DROP COLUMN accused_by;
ALTER TABLE turns DROP COLUMN caught_by;
