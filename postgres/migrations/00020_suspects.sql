-- +goose Up

-- Turns that ran when a process died are suspected of having killed it
-- (docs/turn-states.md). From now on ready.priority tells that too: 0 foreground,
-- 1 background, and two more for each degree of suspicion.
ALTER TABLE parley.turns ADD COLUMN caught_by uuid;  -- the first process that died under it since it last settled a step
ALTER TABLE parley.turns ADD COLUMN accused_by uuid; -- the one that died with it as its sole suspect
CREATE INDEX turns_caught ON parley.turns (caught_by) WHERE caught_by IS NOT NULL;

-- The latest processes that died, in order.
CREATE TABLE parley.deaths (
  n          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  process_id uuid NOT NULL UNIQUE
);
GRANT SELECT, INSERT, DELETE ON parley.deaths TO parley_system;
GRANT SELECT ON SEQUENCE parley.deaths_n_seq TO parley_system;

-- An older program would claim no suspected turn, and end those that were caught
-- three times, guilty or not.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 20);

-- +goose Down
UPDATE parley.ready SET priority = priority % 2;
DROP TABLE parley.deaths;
DROP INDEX parley.turns_caught;
ALTER TABLE parley.turns DROP COLUMN accused_by;
ALTER TABLE parley.turns DROP COLUMN caught_by;
