-- +goose Up

-- What a root session with its tool sessions, or an agent, has spent of a limit on
-- tokens or money. A row is made when a limit is first met, and goes when none is
-- left: without limits nobody writes here. Costs are nanodollars.
CREATE TABLE parley.budgets (
  workspace_id    uuid NOT NULL,
  subject_id      uuid NOT NULL,                 -- session or agent
  revision        bigint NOT NULL DEFAULT 0,     -- raised by every change of the limits
  tokens          bigint NOT NULL DEFAULT 0,     -- settled
  cost            bigint NOT NULL DEFAULT 0,
  day             bigint NOT NULL DEFAULT 0,     -- UTC, since 1970: of the next two
  day_tokens      bigint NOT NULL DEFAULT 0,
  day_cost        bigint NOT NULL DEFAULT 0,
  reserved_tokens bigint NOT NULL DEFAULT 0,     -- of open calls
  reserved_cost   bigint NOT NULL DEFAULT 0,
  warned          bigint NOT NULL DEFAULT 0,     -- bits of limits
  PRIMARY KEY (workspace_id, subject_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- Sessions whose turn waits for room in a budget.
CREATE TABLE parley.parked (
  workspace_id uuid NOT NULL,
  subject_id   uuid NOT NULL,
  session_id   uuid NOT NULL,
  parked_at    bigint NOT NULL,
  PRIMARY KEY (workspace_id, subject_id, session_id)
);
CREATE INDEX parked_session ON parley.parked (workspace_id, session_id);

-- When a subject that is limited in its requests has used up what it has just now.
CREATE TABLE parley.rates (
  workspace_id uuid NOT NULL,
  subject_id   uuid NOT NULL,                    -- principal or session
  used_until   bigint NOT NULL,                  -- microseconds
  PRIMARY KEY (workspace_id, subject_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);

-- A call's reservation, while it is open and afterwards: what it asked for.
ALTER TABLE parley.calls ADD COLUMN reserved_tokens bigint;
ALTER TABLE parley.calls ADD COLUMN reserved_cost bigint;
ALTER TABLE parley.calls ADD COLUMN reserved_from bytea;                      -- ids of budgets, one after the other
ALTER TABLE parley.calls ADD COLUMN estimated boolean NOT NULL DEFAULT false; -- its usage is not known: the reservation stays spent

ALTER TABLE parley.keys ADD COLUMN requests_per_minute integer NOT NULL DEFAULT 0; -- 0: not limited

-- Void a batch whose call has no room, whose refusal holds no more, or whose
-- warning was given.
-- +goose StatementBegin
CREATE FUNCTION parley.over_budget() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PY003', MESSAGE = 'a budget has no room for this call';
END $$;
CREATE FUNCTION parley.fits_again() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PY004', MESSAGE = 'what the turn was refused for holds no more';
END $$;
CREATE FUNCTION parley.warned_before() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PY005', MESSAGE = 'this limit was warned of before';
END $$;
CREATE FUNCTION parley.rate_limited(wait bigint, per_minute bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PY006', MESSAGE = 'the request comes too early', DETAIL = wait || ' ' || per_minute;
END $$;

DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['budgets', 'parked', 'rates'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION parley.rate_limited(bigint, bigint);
DROP FUNCTION parley.warned_before();
DROP FUNCTION parley.fits_again();
DROP FUNCTION parley.over_budget();
ALTER TABLE parley.keys DROP COLUMN requests_per_minute;
ALTER TABLE parley.calls DROP COLUMN estimated, DROP COLUMN reserved_from, DROP COLUMN reserved_cost, DROP COLUMN reserved_tokens;
DROP TABLE parley.rates, parley.parked, parley.budgets;
