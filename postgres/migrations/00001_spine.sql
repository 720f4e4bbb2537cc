-- +goose Up

-- Ids are uuid (version 7), times bigint Unix milliseconds, hashes bytea; JSON is
-- text, because its bytes are hashed and must stay as they are. Every row names
-- its workspace, and every key and index of a query that names it begins with it,
-- so that the tables can be partitioned by it. Order inside a session is sequence,
-- never a time. The columns are those of the store on SQLite.
--
-- Row-level security is the second wall behind the queries' own terms: it is
-- forced, also for the owner, who without a role sees nothing. A migration that
-- changes rows therefore begins with SET LOCAL ROLE parley_system. The two roles
-- belong to the cluster and are there before the first migration.
--
-- Of hot rows (heads, turns, calls) the columns that change often stand in no
-- index, and their pages keep room, so that most updates are heap-only.

-- The roles need the schema when they run a statement; whoever connects needs it
-- earlier, to prepare one. Its names tell nobody anything.
GRANT USAGE ON SCHEMA parley TO PUBLIC;

-- The database's clock, which orders and fences wherever a time does.
CREATE FUNCTION parley.now_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE AS
  'SELECT (pg_catalog.date_part(''epoch'', pg_catalog.clock_timestamp()) * 1000)::bigint';

-- A transition's batch calls these to void itself when its fence does not hold.
-- +goose StatementBegin
CREATE FUNCTION parley.stale() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PY001', MESSAGE = 'the session was changed since it was read';
END $$;
CREATE FUNCTION parley.lease_gone() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PY002', MESSAGE = 'the process has no lease';
END $$;
-- +goose StatementEnd

-- The oldest schema whose programs may still work on this one. A migration that
-- takes away what they use raises it.
CREATE TABLE parley.compatibility (
  only_row        boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  compatible_from bigint NOT NULL
);
INSERT INTO parley.compatibility (compatible_from) VALUES (1);

CREATE TABLE parley.workspaces (
  id         uuid PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  created_at bigint NOT NULL
);

CREATE TABLE parley.principals (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  name         text NOT NULL,
  kind         text NOT NULL,                  -- person, service
  role         text NOT NULL,
  local_owner  boolean NOT NULL DEFAULT false, -- the machine's own user
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX principals_local ON parley.principals (workspace_id) WHERE local_owner;

CREATE TABLE parley.keys (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  principal_id uuid NOT NULL,
  name         text NOT NULL,
  hash         bytea NOT NULL UNIQUE,          -- SHA-256 of the secret; the secret is nowhere
  prefix       text NOT NULL,
  created_at   bigint NOT NULL,
  revoked_at   bigint,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX keys_name ON parley.keys (workspace_id, name) WHERE revoked_at IS NULL;

CREATE TABLE parley.agents (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  slug            text COLLATE "C" NOT NULL,
  status          text NOT NULL,
  version         integer NOT NULL,
  tags            text NOT NULL,               -- JSON array
  body            text NOT NULL,               -- the agent's JSON
  idempotency_key text,
  fingerprint     bytea,
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX agents_slug ON parley.agents (workspace_id, slug);
CREATE INDEX agents_status ON parley.agents (workspace_id, status, slug);
CREATE UNIQUE INDEX agents_idempotency ON parley.agents (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE parley.agent_tags (
  workspace_id uuid NOT NULL,
  tag          text NOT NULL,
  agent_id     uuid NOT NULL,
  PRIMARY KEY (workspace_id, tag, agent_id)
);

CREATE TABLE parley.agent_versions (
  agent_id     uuid NOT NULL,
  version      integer NOT NULL,
  workspace_id uuid NOT NULL,
  body         text NOT NULL,
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, agent_id, version)
);

CREATE TABLE parley.projects (
  id             uuid NOT NULL,
  workspace_id   uuid NOT NULL,
  path           text NOT NULL,
  name           text NOT NULL,
  icon           text NOT NULL DEFAULT '',
  created_at     bigint NOT NULL,
  last_access_at bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX projects_path ON parley.projects (workspace_id, path);
CREATE INDEX projects_recent ON parley.projects (workspace_id, last_access_at, id);

-- The listed row of a session. What every transition touches stands in heads.
CREATE TABLE parley.sessions (
  id                uuid NOT NULL,
  workspace_id      uuid NOT NULL,
  agent_id          uuid NOT NULL,
  owner_id          uuid NOT NULL,
  visibility        text NOT NULL,
  project_id        uuid,
  parent_session_id uuid,
  parent_message_id uuid,
  log_id            uuid NOT NULL,
  kind              text NOT NULL,
  mode              text NOT NULL,
  type              text NOT NULL DEFAULT '',
  feature           text NOT NULL DEFAULT '',
  task              text NOT NULL DEFAULT '',
  key               text,
  title             text NOT NULL DEFAULT '',
  instructions      text NOT NULL DEFAULT '',
  tags              text NOT NULL DEFAULT '[]',
  pinned            boolean NOT NULL DEFAULT false,
  metadata          text NOT NULL DEFAULT '{}',
  overrides         text NOT NULL DEFAULT '{}',
  policy            text,
  retry             text,
  during            text NOT NULL DEFAULT '',
  status            text NOT NULL,             -- copy of the head's, for lists
  wait_reason       text NOT NULL DEFAULT '',
  archived_at       bigint,
  deleted_at        bigint,                    -- tombstone: invisible, rows go by the outbox
  idempotency_key   text,
  fingerprint       bytea,
  created_at        bigint NOT NULL,
  updated_at        bigint NOT NULL,           -- last activity
  started_at        bigint,
  finished_at       bigint,
  PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX sessions_key         ON parley.sessions (workspace_id, key) WHERE key IS NOT NULL AND deleted_at IS NULL;
CREATE UNIQUE INDEX sessions_idempotency ON parley.sessions (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_recent   ON parley.sessions (workspace_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_agent    ON parley.sessions (workspace_id, agent_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_project  ON parley.sessions (workspace_id, project_id, updated_at, id) WHERE project_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_parent   ON parley.sessions (workspace_id, parent_session_id, updated_at, id) WHERE parent_session_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_type     ON parley.sessions (workspace_id, type, updated_at, id) WHERE type <> '' AND deleted_at IS NULL;
CREATE INDEX sessions_feature  ON parley.sessions (workspace_id, feature, updated_at, id) WHERE feature <> '' AND deleted_at IS NULL;
CREATE INDEX sessions_task     ON parley.sessions (workspace_id, task, updated_at, id) WHERE task <> '' AND deleted_at IS NULL;
CREATE INDEX sessions_kind     ON parley.sessions (workspace_id, kind, updated_at, id) WHERE kind <> 'agent' AND deleted_at IS NULL;
CREATE INDEX sessions_mode     ON parley.sessions (workspace_id, mode, updated_at, id) WHERE mode <> 'foreground' AND deleted_at IS NULL;
CREATE INDEX sessions_status   ON parley.sessions (workspace_id, status, updated_at, id) WHERE status <> 'completed' AND deleted_at IS NULL;
CREATE INDEX sessions_pinned   ON parley.sessions (workspace_id, updated_at, id) WHERE pinned AND deleted_at IS NULL;
CREATE INDEX sessions_archived ON parley.sessions (workspace_id, updated_at, id) WHERE archived_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_created  ON parley.sessions (workspace_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE parley.session_tags (
  workspace_id uuid NOT NULL,
  tag          text NOT NULL,
  session_id   uuid NOT NULL,
  PRIMARY KEY (workspace_id, tag, session_id)
);

-- One row per session, taken first by every transition. Its key begins with the
-- session: places of watched sessions are read without their workspaces.
CREATE TABLE parley.heads (
  session_id     uuid NOT NULL,
  workspace_id   uuid NOT NULL,
  log_id         uuid NOT NULL,
  revision       bigint NOT NULL DEFAULT 0,    -- raised by every transition that changes the session
  epoch          bigint NOT NULL DEFAULT 0,
  holder         uuid,                         -- process that runs the turn; null: nobody
  turn_id        uuid,                         -- the first unfinished turn
  turn_status    text NOT NULL DEFAULT '',     -- its status, '' without
  cancel_turn    uuid,                         -- turn asked to stop
  next_sequence  bigint NOT NULL DEFAULT 1,
  next_event     bigint NOT NULL DEFAULT 1,
  next_position  bigint NOT NULL DEFAULT 1,    -- queue: at the end
  front_position bigint NOT NULL DEFAULT 0,    -- queue: before all others, counting down
  next_call      bigint NOT NULL DEFAULT 1,    -- ordinal of the next tool_call
  queued         bigint NOT NULL DEFAULT 0,    -- messages in the queue
  steers         bigint NOT NULL DEFAULT 0,    -- of them undelivered steers of turn_id
  last_hash      bytea,
  mode           text NOT NULL DEFAULT 'foreground',
  messages       bigint NOT NULL DEFAULT 0,    -- statistics
  user_facing    bigint NOT NULL DEFAULT 0,
  turns          bigint NOT NULL DEFAULT 0,
  input_tokens   bigint NOT NULL DEFAULT 0,
  output_tokens  bigint NOT NULL DEFAULT 0,
  cached_tokens  bigint NOT NULL DEFAULT 0,
  unknown_calls  bigint NOT NULL DEFAULT 0,
  cost           bigint NOT NULL DEFAULT 0,    -- nanodollars
  unpriced_calls bigint NOT NULL DEFAULT 0,
  deleted_at     bigint,
  PRIMARY KEY (session_id, workspace_id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500);
-- Sessions with an unfinished turn: whose they are, which of them shall stop, and
-- for the sweep. A claim and an end move an entry; what lies between does not.
CREATE INDEX heads_open ON parley.heads (holder, cancel_turn, session_id) WHERE turn_id IS NOT NULL;

-- Sessions whose first unfinished turn may run now. Claims step from workspace to
-- workspace along the index, whatever waits in each.
CREATE TABLE parley.ready (
  session_id   uuid NOT NULL,
  workspace_id uuid NOT NULL,
  priority     integer NOT NULL,               -- 0 foreground, 1 background
  not_before   bigint NOT NULL DEFAULT 0,
  ready_at     bigint NOT NULL,
  PRIMARY KEY (workspace_id, session_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX ready_order ON parley.ready (priority, workspace_id, ready_at, session_id);

CREATE TABLE parley.processes (
  id          uuid PRIMARY KEY,
  name        text NOT NULL,
  slots       integer NOT NULL DEFAULT 0,      -- turns that it runs at once; 0: unknown
  started_at  bigint NOT NULL,
  lease_until bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);

CREATE TABLE parley.messages (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  session_id      uuid NOT NULL,
  log_id          uuid NOT NULL,
  sequence        bigint,                      -- null while queued, and for entries removed from the queue
  position        bigint,                      -- in the queue
  turn_id         uuid,
  step            integer NOT NULL DEFAULT 0,
  role            text NOT NULL,
  status          text NOT NULL,
  author_kind     text NOT NULL,
  author_id       uuid,
  author_name     text NOT NULL DEFAULT '',
  content         text NOT NULL,
  context_note    text NOT NULL DEFAULT '',
  tool_call_id    text NOT NULL DEFAULT '',
  tool_name       text NOT NULL DEFAULT '',
  covers_through  bigint,
  internal        boolean NOT NULL DEFAULT false,
  steer           boolean NOT NULL DEFAULT false,
  model           text NOT NULL DEFAULT '',
  agent_type      text NOT NULL DEFAULT '',
  iteration       integer NOT NULL DEFAULT 0,
  usage           text,
  content_hash    bytea,
  call_ordinal    bigint NOT NULL DEFAULT 0,
  provider_data   bytea,
  error           text,
  metadata        text NOT NULL DEFAULT '{}',
  pinned          boolean NOT NULL DEFAULT false,
  context_edge    boolean NOT NULL DEFAULT false,
  set_aside       boolean NOT NULL DEFAULT false,
  overrides       text,
  token_estimate  integer NOT NULL DEFAULT 0,
  chunks          integer NOT NULL DEFAULT 0,
  revision        integer NOT NULL DEFAULT 0,
  idempotency_key text,
  fingerprint     bytea,
  posted_event    bigint NOT NULL DEFAULT 0,   -- last event before the post, to rebuild its answer
  created_at      bigint NOT NULL,
  updated_at      bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX messages_sequence    ON parley.messages (workspace_id, log_id, sequence) WHERE sequence IS NOT NULL;
CREATE UNIQUE INDEX messages_queue       ON parley.messages (workspace_id, session_id, position) WHERE position IS NOT NULL;
CREATE UNIQUE INDEX messages_idempotency ON parley.messages (workspace_id, session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX messages_turn      ON parley.messages (workspace_id, turn_id, sequence) WHERE turn_id IS NOT NULL;
CREATE INDEX messages_role      ON parley.messages (workspace_id, log_id, role, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX messages_status    ON parley.messages (workspace_id, log_id, status, sequence) WHERE status <> 'completed';
CREATE INDEX messages_internal  ON parley.messages (workspace_id, log_id, sequence) WHERE internal AND sequence IS NOT NULL;
CREATE INDEX messages_iteration ON parley.messages (workspace_id, log_id, iteration, sequence) WHERE iteration > 0 AND sequence IS NOT NULL;
CREATE INDEX messages_tool      ON parley.messages (workspace_id, log_id, tool_name, sequence) WHERE tool_name <> '' AND sequence IS NOT NULL;
CREATE INDEX messages_agenttype ON parley.messages (workspace_id, log_id, agent_type, sequence) WHERE agent_type <> '' AND sequence IS NOT NULL;
CREATE INDEX messages_edge      ON parley.messages (workspace_id, log_id, sequence) WHERE context_edge;
CREATE INDEX messages_call      ON parley.messages (workspace_id, log_id, tool_call_id) WHERE tool_call_id <> '';

CREATE TABLE parley.versions (
  workspace_id uuid NOT NULL,
  message_id   uuid NOT NULL,
  n            integer NOT NULL,
  kind         text NOT NULL,
  "offset"     bigint NOT NULL,
  "end"        bigint NOT NULL,
  chunks       integer NOT NULL,
  text         text,                           -- null once the message is settled: a slice of it
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, message_id, n)
) WITH (fillfactor = 70);

CREATE TABLE parley.turns (
  id                 uuid NOT NULL,
  workspace_id       uuid NOT NULL,
  session_id         uuid NOT NULL,
  trigger_message_id uuid NOT NULL,
  ordinal            bigint NOT NULL,          -- number in the session, from 1: ids come from clocks
  status             text NOT NULL,
  wait_reason        text NOT NULL DEFAULT '',
  attempt            integer NOT NULL DEFAULT 0,
  takeovers          integer NOT NULL DEFAULT 0,
  step               integer NOT NULL DEFAULT 0,
  agent_id           uuid,
  agent_version      integer NOT NULL DEFAULT 0,
  loop_id            uuid,
  iteration          integer NOT NULL DEFAULT 0,
  error              text,
  input_tokens       bigint NOT NULL DEFAULT 0,
  output_tokens      bigint NOT NULL DEFAULT 0,
  cached_tokens      bigint NOT NULL DEFAULT 0,
  unknown_calls      bigint NOT NULL DEFAULT 0,
  cost               bigint,                   -- nanodollars; null while unknown
  created_at         bigint NOT NULL,
  started_at         bigint,
  finished_at        bigint,
  PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX turns_session ON parley.turns (workspace_id, session_id, ordinal);

CREATE TABLE parley.calls (
  id              uuid NOT NULL,
  workspace_id    uuid NOT NULL,
  session_id      uuid NOT NULL,
  turn_id         uuid NOT NULL,
  message_id      uuid NOT NULL,
  ordinal         bigint NOT NULL,             -- sequence of its step.started
  step            integer NOT NULL,
  attempt         integer NOT NULL,
  model           text NOT NULL,
  parameters      text NOT NULL,
  think           boolean NOT NULL,
  search          boolean NOT NULL,
  system_hash     bytea,
  tools_hash      bytea,
  manifest        text NOT NULL,
  request_hash    bytea NOT NULL,
  encoder_version integer NOT NULL,
  usage           text,
  cost            bigint,
  finish_reason   text NOT NULL DEFAULT '',
  outcome         text NOT NULL,
  error           text,
  created_at      bigint NOT NULL,
  first_token_ms  bigint,
  total_ms        bigint,
  PRIMARY KEY (workspace_id, id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
CREATE UNIQUE INDEX calls_session ON parley.calls (workspace_id, session_id, ordinal);
CREATE INDEX calls_turn    ON parley.calls (workspace_id, turn_id, ordinal);
CREATE INDEX calls_system  ON parley.calls (workspace_id, system_hash) WHERE system_hash IS NOT NULL; -- does a text still have a call?
CREATE INDEX calls_tools   ON parley.calls (workspace_id, tools_hash) WHERE tools_hash IS NOT NULL;

CREATE TABLE parley.call_texts (
  workspace_id uuid NOT NULL,
  hash         bytea NOT NULL,
  text         bytea NOT NULL,
  PRIMARY KEY (workspace_id, hash)
);

CREATE TABLE parley.events (
  session_id   uuid NOT NULL,
  sequence     bigint NOT NULL,
  workspace_id uuid NOT NULL,
  type         text NOT NULL,
  turn_id      uuid,
  data         text NOT NULL,                  -- settled steps without their contents
  created_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, session_id, sequence)
);

CREATE TABLE parley.outbox (
  id           bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  workspace_id uuid NOT NULL,
  kind         text NOT NULL,                  -- purge_session, detach_project, delete_project_sessions
  target_id    uuid NOT NULL,
  created_at   bigint NOT NULL,
  due_at       bigint NOT NULL DEFAULT 0,
  attempts     integer NOT NULL DEFAULT 0
);

CREATE TABLE parley.clients (
  workspace_id uuid NOT NULL,
  principal_id uuid NOT NULL,
  client       text NOT NULL,
  session_id   uuid NOT NULL,
  updated_at   bigint NOT NULL,
  PRIMARY KEY (workspace_id, principal_id, client)
);
CREATE INDEX clients_session ON parley.clients (workspace_id, session_id);

-- The wall: parley_tenant works in the workspace that its transaction names, and
-- without one its statements fail; parley_system (claims, sweep, outbox, keys by
-- hash, copies) sees all rows.
-- +goose StatementBegin
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['principals', 'keys', 'agents', 'agent_tags', 'agent_versions', 'projects', 'sessions', 'session_tags', 'heads',
    'ready', 'messages', 'versions', 'turns', 'calls', 'call_texts', 'events', 'outbox', 'clients'] LOOP
    EXECUTE format('ALTER TABLE parley.%I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE parley.%I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY tenant ON parley.%I TO parley_tenant USING (workspace_id = current_setting(''parley.workspace'')::uuid)', name);
    EXECUTE format('CREATE POLICY system ON parley.%I TO parley_system USING (true)', name);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON parley.%I TO parley_tenant, parley_system', name);
  END LOOP;
END $$;
-- +goose StatementEnd

ALTER TABLE parley.workspaces ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.workspaces FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.workspaces TO parley_tenant USING (id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.workspaces TO parley_system USING (true);
GRANT SELECT ON parley.workspaces TO parley_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.workspaces TO parley_system;

-- A post that claims asks for the lease of its process.
ALTER TABLE parley.processes ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.processes FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.processes FOR SELECT TO parley_tenant USING (true);
CREATE POLICY system ON parley.processes TO parley_system USING (true);
GRANT SELECT (id, slots, lease_until) ON parley.processes TO parley_tenant;
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.processes TO parley_system;

GRANT SELECT ON parley.compatibility, parley.goose_db_version TO parley_system;
-- pg_dump reads where the sequences are.
GRANT SELECT ON SEQUENCE parley.outbox_id_seq, parley.goose_db_version_id_seq TO parley_system;

-- +goose Down
DROP TABLE parley.clients, parley.outbox, parley.events, parley.call_texts, parley.calls, parley.turns, parley.versions,
  parley.messages, parley.processes, parley.ready, parley.heads, parley.session_tags, parley.sessions, parley.projects,
  parley.agent_versions, parley.agent_tags, parley.agents, parley.keys, parley.principals, parley.workspaces, parley.compatibility;
DROP FUNCTION parley.now_ms();
DROP FUNCTION parley.stale();
DROP FUNCTION parley.lease_gone();
