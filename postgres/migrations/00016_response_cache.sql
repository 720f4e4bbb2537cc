-- +goose Up

-- Answers of models, given again to equal requests of the same workspace.
CREATE TABLE parley.response_cache (
  workspace_id uuid NOT NULL,
  key          bytea NOT NULL,             -- SHA-256 of request, model and encoder version
  chunks       bytea NOT NULL,
  bytes        bigint NOT NULL,            -- of chunks
  cost         bigint,                     -- nanodollars that it had; null: unknown
  last_use     bigint NOT NULL,            -- response_counts.uses then
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, key)
);
CREATE INDEX response_cache_use ON parley.response_cache (workspace_id, last_use, key) INCLUDE (bytes); -- what goes first
CREATE INDEX response_cache_age ON parley.response_cache (workspace_id, created_at);

CREATE TABLE parley.response_counts (
  workspace_id uuid NOT NULL PRIMARY KEY,
  uses         bigint NOT NULL DEFAULT 0,  -- writes so far: the order of uses
  hits         bigint NOT NULL DEFAULT 0,
  misses       bigint NOT NULL DEFAULT 0,
  stored       bigint NOT NULL DEFAULT 0,
  evicted      bigint NOT NULL DEFAULT 0,
  saved        bigint NOT NULL DEFAULT 0   -- nanodollars
);

-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['response_cache', 'response_counts'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE parley.response_counts;
DROP TABLE parley.response_cache;
