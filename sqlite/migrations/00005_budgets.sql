-- +goose Up

-- What a root session with its tool sessions, or an agent, has spent of a limit on
-- tokens or money. A row is made when a limit is first met, and goes when none is
-- left: without limits nobody writes here. Costs are nanodollars.
CREATE TABLE budgets (
  workspace_id    BLOB NOT NULL,
  subject_id      BLOB NOT NULL,                 -- session or agent
  revision        INTEGER NOT NULL DEFAULT 0,    -- raised by every change of the limits
  tokens          INTEGER NOT NULL DEFAULT 0,    -- settled
  cost            INTEGER NOT NULL DEFAULT 0,
  day             INTEGER NOT NULL DEFAULT 0,    -- UTC, since 1970: of the next two
  day_tokens      INTEGER NOT NULL DEFAULT 0,
  day_cost        INTEGER NOT NULL DEFAULT 0,
  reserved_tokens INTEGER NOT NULL DEFAULT 0,    -- of open calls
  reserved_cost   INTEGER NOT NULL DEFAULT 0,
  warned          INTEGER NOT NULL DEFAULT 0,    -- bits of limits
  PRIMARY KEY (workspace_id, subject_id)
) WITHOUT ROWID;

-- Sessions whose turn waits for room in a budget.
CREATE TABLE parked (
  workspace_id BLOB NOT NULL,
  subject_id   BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  parked_at    INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, subject_id, session_id)
) WITHOUT ROWID;
CREATE INDEX parked_session ON parked (session_id);

-- When a subject that is limited in its requests has used up what it has just now.
CREATE TABLE rates (
  workspace_id BLOB NOT NULL,
  subject_id   BLOB NOT NULL,                    -- principal or session
  used_until   INTEGER NOT NULL,                 -- microseconds
  PRIMARY KEY (workspace_id, subject_id)
) WITHOUT ROWID;

-- A call's reservation, while it is open and afterwards: what it asked for.
ALTER TABLE calls ADD COLUMN reserved_tokens INTEGER;
ALTER TABLE calls ADD COLUMN reserved_cost INTEGER;
ALTER TABLE calls ADD COLUMN reserved_from BLOB;                      -- ids of budgets, one after the other
ALTER TABLE calls ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;    -- its usage is not known: the reservation stays spent

ALTER TABLE keys ADD COLUMN requests_per_minute INTEGER NOT NULL DEFAULT 0; -- 0: not limited

-- +goose Down
ALTER TABLE keys DROP COLUMN requests_per_minute;
ALTER TABLE calls DROP COLUMN estimated;
ALTER TABLE calls DROP COLUMN reserved_from;
ALTER TABLE calls DROP COLUMN reserved_cost;
ALTER TABLE calls DROP COLUMN reserved_tokens;
DROP TABLE rates;
DROP TABLE parked;
DROP TABLE budgets;
