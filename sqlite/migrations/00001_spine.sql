-- +goose Up

-- Ids are 16 bytes (UUIDv7), times Unix milliseconds, JSON is text. Every row
-- names its workspace. Order inside a session is sequence, never a time.
-- Tables of large rows keep SQLite's rowid; the small ones are clustered by key.

CREATE TABLE workspaces (
  id         BLOB PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE principals (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  name         TEXT NOT NULL,
  kind         TEXT NOT NULL,              -- person, service
  role         TEXT NOT NULL,
  local_owner  INTEGER NOT NULL DEFAULT 0, -- the machine's own user
  created_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX principals_local ON principals (workspace_id) WHERE local_owner = 1;

CREATE TABLE keys (
  id           BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  principal_id BLOB NOT NULL,
  name         TEXT NOT NULL,
  hash         BLOB NOT NULL UNIQUE,       -- SHA-256 of the secret; the secret is nowhere
  prefix       TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  revoked_at   INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX keys_name ON keys (workspace_id, name) WHERE revoked_at IS NULL;

CREATE TABLE agents (
  id              BLOB PRIMARY KEY,
  workspace_id    BLOB NOT NULL,
  slug            TEXT NOT NULL,
  status          TEXT NOT NULL,
  version         INTEGER NOT NULL,
  tags            TEXT NOT NULL,           -- JSON array
  body            TEXT NOT NULL,           -- the agent's JSON
  idempotency_key TEXT,
  fingerprint     BLOB,
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX agents_slug ON agents (workspace_id, slug);
CREATE INDEX agents_status ON agents (workspace_id, status, slug);
CREATE UNIQUE INDEX agents_idempotency ON agents (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE agent_tags (
  workspace_id BLOB NOT NULL,
  tag          TEXT NOT NULL,
  agent_id     BLOB NOT NULL,
  PRIMARY KEY (workspace_id, tag, agent_id)
) WITHOUT ROWID;

CREATE TABLE agent_versions (
  agent_id     BLOB NOT NULL,
  version      INTEGER NOT NULL,
  workspace_id BLOB NOT NULL,
  body         TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (agent_id, version)
) WITHOUT ROWID;

CREATE TABLE projects (
  id             BLOB PRIMARY KEY,
  workspace_id   BLOB NOT NULL,
  path           TEXT NOT NULL,
  name           TEXT NOT NULL,
  icon           TEXT NOT NULL DEFAULT '',
  created_at     INTEGER NOT NULL,
  last_access_at INTEGER NOT NULL,
  UNIQUE (workspace_id, path)
) WITHOUT ROWID;
CREATE INDEX projects_recent ON projects (workspace_id, last_access_at, id);

-- The listed row of a session. What every transition touches stands in heads.
CREATE TABLE sessions (
  id                BLOB PRIMARY KEY NOT NULL,
  workspace_id      BLOB NOT NULL,
  agent_id          BLOB NOT NULL,
  owner_id          BLOB NOT NULL,
  visibility        TEXT NOT NULL,
  project_id        BLOB,
  parent_session_id BLOB,
  parent_message_id BLOB,
  log_id            BLOB NOT NULL,
  kind              TEXT NOT NULL,
  mode              TEXT NOT NULL,
  type              TEXT NOT NULL DEFAULT '',
  feature           TEXT NOT NULL DEFAULT '',
  task              TEXT NOT NULL DEFAULT '',
  key               TEXT,
  title             TEXT NOT NULL DEFAULT '',
  instructions      TEXT NOT NULL DEFAULT '',
  tags              TEXT NOT NULL DEFAULT '[]',
  pinned            INTEGER NOT NULL DEFAULT 0,
  metadata          TEXT NOT NULL DEFAULT '{}',
  overrides         TEXT NOT NULL DEFAULT '{}',
  policy            TEXT,
  retry             TEXT,
  during            TEXT NOT NULL DEFAULT '',
  status            TEXT NOT NULL,         -- copy of the head's, for lists
  wait_reason       TEXT NOT NULL DEFAULT '',
  archived_at       INTEGER,
  deleted_at        INTEGER,               -- tombstone: invisible, rows go by the outbox
  idempotency_key   TEXT,
  fingerprint       BLOB,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,      -- last activity
  started_at        INTEGER,
  finished_at       INTEGER
);
CREATE UNIQUE INDEX sessions_key         ON sessions (workspace_id, key) WHERE key IS NOT NULL AND deleted_at IS NULL;
CREATE UNIQUE INDEX sessions_idempotency ON sessions (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX sessions_recent   ON sessions (workspace_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_agent    ON sessions (workspace_id, agent_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX sessions_project  ON sessions (workspace_id, project_id, updated_at, id) WHERE project_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_parent   ON sessions (workspace_id, parent_session_id, updated_at, id) WHERE parent_session_id IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_type     ON sessions (workspace_id, type, updated_at, id) WHERE type <> '' AND deleted_at IS NULL;
CREATE INDEX sessions_feature  ON sessions (workspace_id, feature, updated_at, id) WHERE feature <> '' AND deleted_at IS NULL;
CREATE INDEX sessions_task     ON sessions (workspace_id, task, updated_at, id) WHERE task <> '' AND deleted_at IS NULL;
CREATE INDEX sessions_kind     ON sessions (workspace_id, kind, updated_at, id) WHERE kind <> 'agent' AND deleted_at IS NULL;
CREATE INDEX sessions_mode     ON sessions (workspace_id, mode, updated_at, id) WHERE mode <> 'foreground' AND deleted_at IS NULL;
CREATE INDEX sessions_status   ON sessions (workspace_id, status, updated_at, id) WHERE status <> 'completed' AND deleted_at IS NULL;
CREATE INDEX sessions_pinned   ON sessions (workspace_id, updated_at, id) WHERE pinned = 1 AND deleted_at IS NULL;
CREATE INDEX sessions_archived ON sessions (workspace_id, updated_at, id) WHERE archived_at IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX sessions_created  ON sessions (workspace_id, created_at, id) WHERE deleted_at IS NULL;

CREATE TABLE session_tags (
  workspace_id BLOB NOT NULL,
  tag          TEXT NOT NULL,
  session_id   BLOB NOT NULL,
  PRIMARY KEY (workspace_id, tag, session_id)
) WITHOUT ROWID;

-- One row per session, locked first by every transition.
CREATE TABLE heads (
  session_id    BLOB PRIMARY KEY,
  workspace_id  BLOB NOT NULL,
  log_id        BLOB NOT NULL,
  epoch         INTEGER NOT NULL DEFAULT 0,
  holder        BLOB,                        -- process that runs the turn; null: nobody
  turn_id       BLOB,                        -- the first unfinished turn
  turn_status   TEXT NOT NULL DEFAULT '',    -- its status, '' without
  cancel_turn   BLOB,                        -- turn asked to stop
  next_sequence INTEGER NOT NULL DEFAULT 1,
  next_event    INTEGER NOT NULL DEFAULT 1,
  next_position INTEGER NOT NULL DEFAULT 1,  -- queue: at the end
  front_position INTEGER NOT NULL DEFAULT 0, -- queue: before all others, counting down
  next_call     INTEGER NOT NULL DEFAULT 1,  -- ordinal of the next tool_call
  queued        INTEGER NOT NULL DEFAULT 0,  -- messages in the queue
  steers        INTEGER NOT NULL DEFAULT 0,  -- of them undelivered steers of turn_id
  last_hash     BLOB,
  mode          TEXT NOT NULL DEFAULT 'foreground',
  messages      INTEGER NOT NULL DEFAULT 0,  -- statistics
  user_facing   INTEGER NOT NULL DEFAULT 0,
  turns         INTEGER NOT NULL DEFAULT 0,
  input_tokens  INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  unknown_calls INTEGER NOT NULL DEFAULT 0,
  cost          INTEGER NOT NULL DEFAULT 0,  -- nanodollars
  unpriced_calls INTEGER NOT NULL DEFAULT 0,
  deleted_at    INTEGER
) WITHOUT ROWID;
CREATE INDEX heads_holder ON heads (holder, cancel_turn) WHERE holder IS NOT NULL;
CREATE INDEX heads_stuck  ON heads (session_id) WHERE turn_id IS NOT NULL; -- for the sweep

-- Sessions whose first unfinished turn may run now.
CREATE TABLE ready (
  session_id   BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  priority     INTEGER NOT NULL,           -- 0 foreground, 1 background
  not_before   INTEGER NOT NULL DEFAULT 0,
  ready_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX ready_order ON ready (workspace_id, priority, ready_at, session_id);

CREATE TABLE processes (
  id          BLOB PRIMARY KEY,
  name        TEXT NOT NULL,
  slots       INTEGER NOT NULL DEFAULT 0,  -- turns that it runs at once; 0: unknown
  started_at  INTEGER NOT NULL,
  lease_until INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE messages (
  id              BLOB PRIMARY KEY NOT NULL,
  workspace_id    BLOB NOT NULL,
  session_id      BLOB NOT NULL,
  log_id          BLOB NOT NULL,
  sequence        INTEGER,                 -- null while queued, and for entries removed from the queue
  position        INTEGER,                 -- in the queue
  turn_id         BLOB,
  step            INTEGER NOT NULL DEFAULT 0,
  role            TEXT NOT NULL,
  status          TEXT NOT NULL,
  author_kind     TEXT NOT NULL,
  author_id       BLOB,
  author_name     TEXT NOT NULL DEFAULT '',
  content         TEXT NOT NULL,
  context_note    TEXT NOT NULL DEFAULT '',
  tool_call_id    TEXT NOT NULL DEFAULT '',
  tool_name       TEXT NOT NULL DEFAULT '',
  covers_through  INTEGER,
  internal        INTEGER NOT NULL DEFAULT 0,
  steer           INTEGER NOT NULL DEFAULT 0,
  model           TEXT NOT NULL DEFAULT '',
  agent_type      TEXT NOT NULL DEFAULT '',
  iteration       INTEGER NOT NULL DEFAULT 0,
  usage           TEXT,
  content_hash    BLOB,
  call_ordinal    INTEGER NOT NULL DEFAULT 0,
  provider_data   BLOB,
  error           TEXT,
  metadata        TEXT NOT NULL DEFAULT '{}',
  pinned          INTEGER NOT NULL DEFAULT 0,
  context_edge    INTEGER NOT NULL DEFAULT 0,
  set_aside       INTEGER NOT NULL DEFAULT 0,
  overrides       TEXT,
  token_estimate  INTEGER NOT NULL DEFAULT 0,
  chunks          INTEGER NOT NULL DEFAULT 0,
  revision        INTEGER NOT NULL DEFAULT 0,
  idempotency_key TEXT,
  fingerprint     BLOB,
  posted_event    INTEGER NOT NULL DEFAULT 0, -- last event before the post, to rebuild its answer
  created_at      INTEGER NOT NULL,
  updated_at      INTEGER NOT NULL
);
CREATE UNIQUE INDEX messages_sequence    ON messages (log_id, sequence) WHERE sequence IS NOT NULL;
CREATE UNIQUE INDEX messages_queue       ON messages (session_id, position) WHERE position IS NOT NULL;
CREATE UNIQUE INDEX messages_idempotency ON messages (session_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX messages_turn      ON messages (turn_id, sequence) WHERE turn_id IS NOT NULL;
CREATE INDEX messages_role      ON messages (log_id, role, sequence) WHERE sequence IS NOT NULL;
CREATE INDEX messages_status    ON messages (log_id, status, sequence) WHERE status <> 'completed';
CREATE INDEX messages_internal  ON messages (log_id, sequence) WHERE internal = 1 AND sequence IS NOT NULL;
CREATE INDEX messages_iteration ON messages (log_id, iteration, sequence) WHERE iteration > 0 AND sequence IS NOT NULL;
CREATE INDEX messages_tool      ON messages (log_id, tool_name, sequence) WHERE tool_name <> '' AND sequence IS NOT NULL;
CREATE INDEX messages_agenttype ON messages (log_id, agent_type, sequence) WHERE agent_type <> '' AND sequence IS NOT NULL;
CREATE INDEX messages_edge      ON messages (log_id, sequence) WHERE context_edge = 1;
CREATE INDEX messages_call      ON messages (log_id, tool_call_id) WHERE tool_call_id <> '';

CREATE TABLE versions (
  message_id BLOB NOT NULL,
  n          INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  offset     INTEGER NOT NULL,
  "end"      INTEGER NOT NULL,
  chunks     INTEGER NOT NULL,
  text       TEXT,                          -- null once the message is settled: a slice of it
  created_at INTEGER NOT NULL,
  PRIMARY KEY (message_id, n)
) WITHOUT ROWID;

CREATE TABLE turns (
  id                 BLOB PRIMARY KEY NOT NULL,
  workspace_id       BLOB NOT NULL,
  session_id         BLOB NOT NULL,
  trigger_message_id BLOB NOT NULL,
  status             TEXT NOT NULL,
  wait_reason        TEXT NOT NULL DEFAULT '',
  attempt            INTEGER NOT NULL DEFAULT 0,
  takeovers          INTEGER NOT NULL DEFAULT 0,
  step               INTEGER NOT NULL DEFAULT 0,
  agent_id           BLOB,
  agent_version      INTEGER NOT NULL DEFAULT 0,
  loop_id            BLOB,
  iteration          INTEGER NOT NULL DEFAULT 0,
  error              TEXT,
  input_tokens       INTEGER NOT NULL DEFAULT 0,
  output_tokens      INTEGER NOT NULL DEFAULT 0,
  cached_tokens      INTEGER NOT NULL DEFAULT 0,
  unknown_calls      INTEGER NOT NULL DEFAULT 0,
  cost               INTEGER,               -- nanodollars; null while unknown
  created_at         INTEGER NOT NULL,
  started_at         INTEGER,
  finished_at        INTEGER
);
CREATE INDEX turns_session ON turns (session_id, id);

CREATE TABLE calls (
  id              BLOB PRIMARY KEY NOT NULL,
  workspace_id    BLOB NOT NULL,
  session_id      BLOB NOT NULL,
  turn_id         BLOB NOT NULL,
  message_id      BLOB NOT NULL,
  step            INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  model           TEXT NOT NULL,
  parameters      TEXT NOT NULL,
  think           INTEGER NOT NULL,
  search          INTEGER NOT NULL,
  system_hash     BLOB,
  tools_hash      BLOB,
  manifest        TEXT NOT NULL,
  request_hash    BLOB NOT NULL,
  encoder_version INTEGER NOT NULL,
  usage           TEXT,
  cost            INTEGER,
  finish_reason   TEXT NOT NULL DEFAULT '',
  outcome         TEXT NOT NULL,
  error           TEXT,
  created_at      INTEGER NOT NULL,
  first_token_ms  INTEGER,
  total_ms        INTEGER
);
CREATE INDEX calls_session ON calls (session_id, id);
CREATE INDEX calls_turn    ON calls (turn_id, id);
CREATE INDEX calls_system  ON calls (workspace_id, system_hash) WHERE system_hash IS NOT NULL; -- does a text still have a call?
CREATE INDEX calls_tools   ON calls (workspace_id, tools_hash) WHERE tools_hash IS NOT NULL;

CREATE TABLE call_texts (
  workspace_id BLOB NOT NULL,
  hash         BLOB NOT NULL,
  text         BLOB NOT NULL,
  PRIMARY KEY (workspace_id, hash)
) WITHOUT ROWID;

CREATE TABLE events (
  session_id   BLOB NOT NULL,
  sequence     INTEGER NOT NULL,
  workspace_id BLOB NOT NULL,
  type         TEXT NOT NULL,
  turn_id      BLOB,
  data         TEXT NOT NULL,               -- settled steps without their contents
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (session_id, sequence)
);

CREATE TABLE outbox (
  id           INTEGER PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  kind         TEXT NOT NULL,               -- purge_session, detach_project, delete_project_sessions
  target_id    BLOB NOT NULL,
  created_at   INTEGER NOT NULL,
  due_at       INTEGER NOT NULL DEFAULT 0,
  attempts     INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE clients (
  workspace_id BLOB NOT NULL,
  principal_id BLOB NOT NULL,
  client       TEXT NOT NULL,
  session_id   BLOB NOT NULL,
  updated_at   INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, principal_id, client)
) WITHOUT ROWID;
CREATE INDEX clients_session ON clients (session_id);

-- +goose Down
DROP TABLE clients; DROP TABLE outbox; DROP TABLE events; DROP TABLE call_texts; DROP TABLE calls;
DROP TABLE turns; DROP TABLE versions; DROP TABLE messages; DROP TABLE processes; DROP TABLE ready;
DROP TABLE heads; DROP TABLE session_tags; DROP TABLE sessions; DROP TABLE projects;
DROP TABLE agent_versions; DROP TABLE agent_tags; DROP TABLE agents; DROP TABLE keys;
DROP TABLE principals; DROP TABLE workspaces;
