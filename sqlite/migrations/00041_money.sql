-- +goose Up

-- What a call is expected to use, noted before it is sent: JSON {input_tokens, input_cost,
-- output_price}, in nanodollars, the price for a million tokens. From it and from what had
-- streamed follows the estimate of a call that nobody counted: {input_tokens, output_tokens}.
ALTER TABLE calls ADD COLUMN expected TEXT;
ALTER TABLE calls ADD COLUMN estimate TEXT;

-- What the model calls of dry runs used. Nothing of what they said is kept.
CREATE TABLE dry_calls (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  session_id   BLOB,             -- null: of a session that was never made
  owner_id     BLOB,             -- who asked
  agent_id     BLOB NOT NULL,
  model        TEXT NOT NULL,
  usage        TEXT,             -- JSON, as of calls
  cost         INTEGER,          -- nanodollars
  saved        INTEGER,
  estimated    INTEGER NOT NULL, -- the provider did not say: cost is an estimate
  estimate     TEXT,             -- JSON, as of calls
  created_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX dry_calls_time ON dry_calls (workspace_id, created_at);
CREATE INDEX dry_calls_session ON dry_calls (session_id);

-- What the cancel of a turn settled, as JSON {by, settled, removed, turns, children, with}.
ALTER TABLE turns ADD COLUMN cancelled TEXT;

-- +goose Down
ALTER TABLE turns DROP COLUMN cancelled;
DROP TABLE dry_calls;
ALTER TABLE calls DROP COLUMN estimate;
ALTER TABLE calls DROP COLUMN expected;
