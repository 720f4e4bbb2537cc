-- +goose Up

-- The index of words is derived from the record: it is made beside the transitions,
-- does not move with a copy, and can be made anew (docs/search.md).

-- How far each log is indexed.
CREATE TABLE parley.search_logs (
  workspace_id uuid NOT NULL,
  log_id       uuid NOT NULL,
  through      bigint NOT NULL,            -- sequence
  title        text NOT NULL,              -- of its session, as it is indexed; so are
  visible      boolean NOT NULL,           -- whether the workspace sees it
  project_id   uuid,                       -- and its project
  PRIMARY KEY (workspace_id, log_id)
);

-- What was indexed: messages, and titles of sessions, with their prepared words.
CREATE TABLE parley.search_rows (
  workspace_id uuid NOT NULL,
  id           uuid NOT NULL,              -- of the message, or of the session
  session_id   uuid NOT NULL,              -- that wrote it; deleted perhaps
  log_id       uuid NOT NULL,
  sequence     bigint NOT NULL,            -- 0: the title
  created_at   bigint NOT NULL,
  counts       bytea NOT NULL,             -- how often words occur in it
  words        tsvector NOT NULL DEFAULT '',
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX search_rows_log    ON parley.search_rows (workspace_id, log_id, sequence);
CREATE INDEX search_rows_recent ON parley.search_rows (workspace_id, created_at, id);
CREATE INDEX search_rows_words  ON parley.search_rows USING gin (words) WITH (gin_pending_list_limit = 1024); -- of all workspaces: each row has a word that says which is its own

-- The pass over all sessions that looks for what is not indexed: one row.
CREATE TABLE parley.search_pass (
  id           integer PRIMARY KEY CHECK (id = 1),
  after_id     uuid,                       -- session that the next step begins behind; null: at the beginning
  due_at       bigint NOT NULL,
  completed_at bigint                      -- of the first pass that came to its end
);
INSERT INTO parley.search_pass (id, due_at) VALUES (1, 0);
GRANT SELECT, UPDATE ON parley.search_pass TO parley_system;

-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['search_logs', 'search_rows'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd
GRANT TRUNCATE ON parley.search_logs, parley.search_rows TO parley_system;

-- An older program would delete conversations and leave their words behind.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 19);

-- +goose Down
DROP TABLE parley.search_pass;
DROP TABLE parley.search_rows;
DROP TABLE parley.search_logs;
