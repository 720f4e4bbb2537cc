-- +goose Up

-- What a call is expected to use, noted before it is sent: JSON {input_tokens, input_cost,
-- output_price}, in nanodollars, the price for a million tokens. From it and from what had
-- streamed follows the estimate of a call that nobody counted: {input_tokens, output_tokens}.
ALTER TABLE parley.calls ADD COLUMN expected text;
ALTER TABLE parley.calls ADD COLUMN estimate text;

-- What the model calls of dry runs used. Nothing of what they said is kept.
CREATE TABLE parley.dry_calls (
  workspace_id uuid NOT NULL,
  id           uuid NOT NULL,
  session_id   uuid,             -- null: of a session that was never made
  owner_id     uuid,             -- who asked
  agent_id     uuid NOT NULL,
  model        text NOT NULL,
  usage        text,             -- JSON, as of calls
  cost         bigint,           -- nanodollars
  saved        bigint,
  estimated    boolean NOT NULL, -- the provider did not say: cost is an estimate
  estimate     text,             -- JSON, as of calls
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX dry_calls_time ON parley.dry_calls (workspace_id, created_at);
CREATE INDEX dry_calls_session ON parley.dry_calls (workspace_id, session_id);

ALTER TABLE parley.dry_calls ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.dry_calls FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.dry_calls TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.dry_calls TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.dry_calls TO parley_tenant, parley_system;

-- What the cancel of a turn settled, as JSON {by, settled, removed, turns, children, with}.
ALTER TABLE parley.turns ADD COLUMN cancelled text;

-- +goose Down
ALTER TABLE parley.turns DROP COLUMN cancelled;
DROP TABLE parley.dry_calls;
ALTER TABLE parley.calls DROP COLUMN estimate;
ALTER TABLE parley.calls DROP COLUMN expected;
