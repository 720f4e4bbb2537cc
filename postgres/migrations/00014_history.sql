-- +goose Up

-- Of a fork: the last sequence that it shares with the session it was forked
-- from, 0 for none; null for others.
ALTER TABLE parley.sessions ADD COLUMN forked_through bigint;
CREATE INDEX sessions_branch ON parley.sessions (workspace_id, parent_message_id, updated_at, id) WHERE parent_message_id IS NOT NULL AND deleted_at IS NULL;

-- What a fork reads before its own log: logs in order, each up to a sequence. A
-- log's rows begin behind where the one before is cut.
CREATE TABLE parley.session_logs (
  session_id   uuid NOT NULL,
  through      bigint NOT NULL,
  workspace_id uuid NOT NULL,
  log_id       uuid NOT NULL,
  writer_id    uuid NOT NULL,              -- session that writes the log; deleted perhaps
  PRIMARY KEY (workspace_id, session_id, through)
);
CREATE INDEX session_logs_log ON parley.session_logs (workspace_id, log_id, through);

-- The marks of shared messages as a fork has them: what is not here is unmarked there.
CREATE TABLE parley.session_marks (
  session_id   uuid NOT NULL,
  sequence     bigint NOT NULL,
  workspace_id uuid NOT NULL,
  message_id   uuid NOT NULL,
  pinned       boolean NOT NULL,
  context_edge boolean NOT NULL,
  set_aside    boolean NOT NULL,
  pinned_event bigint NOT NULL,           -- of the fork's events; 0: pinned before, -1: and carried no more
  PRIMARY KEY (workspace_id, session_id, sequence)
);
CREATE INDEX session_marks_edge ON parley.session_marks (workspace_id, session_id, sequence) WHERE context_edge;
CREATE INDEX messages_marked    ON parley.messages (workspace_id, log_id, sequence) WHERE pinned OR context_edge OR set_aside; -- what a fork takes over

-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['session_logs', 'session_marks'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd

-- An older program would purge what forks share.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 14);

-- +goose Down
DROP INDEX parley.messages_marked;
DROP TABLE parley.session_marks;
DROP TABLE parley.session_logs;
DROP INDEX parley.sessions_branch;
ALTER TABLE parley.sessions DROP COLUMN forked_through;
