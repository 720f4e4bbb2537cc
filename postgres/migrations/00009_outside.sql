-- +goose Up

-- The message of a session that an agent outside streams, while it is open.
CREATE TABLE parley.outside (
  workspace_id  uuid NOT NULL,
  session_id    uuid NOT NULL,
  message_id    uuid NOT NULL,
  turn_id       uuid NOT NULL,
  versions      bigint NOT NULL DEFAULT 0,
  text_end      bigint NOT NULL DEFAULT 0, -- bytes
  reasoning_end bigint NOT NULL DEFAULT 0,
  timeout       bigint NOT NULL,           -- milliseconds without an append
  due_at        bigint NOT NULL,
  PRIMARY KEY (workspace_id, session_id)
);
CREATE INDEX outside_due ON parley.outside (due_at); -- the sweep asks for all workspaces at once

-- Which sessions another session may read.
CREATE TABLE parley.shares (
  workspace_id uuid NOT NULL,
  session_id   uuid NOT NULL,
  reader_id    uuid NOT NULL,
  shared_kind  text NOT NULL,
  shared_by    uuid NOT NULL,
  shared_name  text NOT NULL,
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, session_id, reader_id)
);
CREATE INDEX shares_reader ON parley.shares (workspace_id, reader_id, session_id);

-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['outside', 'shares'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE parley.shares;
DROP TABLE parley.outside;
