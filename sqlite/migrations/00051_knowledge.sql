-- +goose Up

-- What agents know from earlier work.
CREATE TABLE knowledge (
  id               BLOB NOT NULL PRIMARY KEY,
  workspace_id     BLOB NOT NULL,
  agent_id         BLOB NOT NULL,            -- the agent or, for a team's, the team's lead
  scope            TEXT NOT NULL,            -- agent, team
  kind             TEXT NOT NULL,            -- fact, preference, procedure
  text             TEXT NOT NULL,
  confidence       INTEGER NOT NULL,         -- percent
  pinned           INTEGER NOT NULL,
  status           TEXT NOT NULL,            -- active, superseded, forgotten
  author_kind      TEXT NOT NULL,
  author_id        BLOB NOT NULL,
  author_name      TEXT NOT NULL,
  sources          TEXT NOT NULL,            -- JSON
  approved_at      INTEGER,                  -- of a procedure
  approved_by_id   BLOB,
  supersedes_id    BLOB,
  superseded_by_id BLOB,
  revision         INTEGER NOT NULL,
  idempotency_key  TEXT,
  fingerprint      BLOB,
  created_at       INTEGER NOT NULL,
  changed_at       INTEGER NOT NULL,
  confirmed_at     INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX knowledge_workspace ON knowledge (workspace_id, id);
CREATE INDEX knowledge_agent ON knowledge (workspace_id, agent_id, id);
CREATE UNIQUE INDEX knowledge_idempotency ON knowledge (workspace_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- The sessions whose messages an item was drawn from: who may not read one of them is not told the item, and it goes
-- with the first that is purged.
CREATE TABLE knowledge_sources (
  item_id      BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  workspace_id BLOB NOT NULL,
  PRIMARY KEY (item_id, session_id)
) WITHOUT ROWID;
CREATE INDEX knowledge_sources_session ON knowledge_sources (session_id);

-- What a session's requests were told from knowledge; the latest of a session is in use.
CREATE TABLE knowledge_blocks (
  id           BLOB NOT NULL PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  n            INTEGER NOT NULL,             -- from 1 within the session
  beginning    TEXT NOT NULL,                -- names where the window began
  text         TEXT NOT NULL,
  items        TEXT NOT NULL,                -- JSON
  told         TEXT NOT NULL,                -- JSON
  chosen_at    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX knowledge_blocks_session ON knowledge_blocks (session_id, n);

-- +goose Down
DROP TABLE knowledge_blocks;
DROP TABLE knowledge_sources;
DROP TABLE knowledge;
