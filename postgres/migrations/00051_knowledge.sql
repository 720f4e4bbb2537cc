-- +goose Up

-- What agents know from earlier work.
CREATE TABLE parley.knowledge (
  id               uuid NOT NULL,
  workspace_id     uuid NOT NULL,
  agent_id         uuid NOT NULL,            -- the agent or, for a team's, the team's lead
  scope            text NOT NULL,            -- agent, team
  kind             text NOT NULL,            -- fact, preference, procedure
  text             text NOT NULL,
  confidence       bigint NOT NULL,          -- percent
  pinned           boolean NOT NULL,
  status           text NOT NULL,            -- active, superseded, forgotten
  author_kind      text NOT NULL,
  author_id        uuid NOT NULL,
  author_name      text NOT NULL,
  sources          text NOT NULL,            -- JSON
  approved_at      bigint,                   -- of a procedure
  approved_by_id   uuid,
  supersedes_id    uuid,
  superseded_by_id uuid,
  revision         bigint NOT NULL,
  idempotency_key  text,
  fingerprint      bytea,
  created_at       bigint NOT NULL,
  changed_at       bigint NOT NULL,
  confirmed_at     bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX knowledge_agent ON parley.knowledge (workspace_id, agent_id, id);
CREATE UNIQUE INDEX knowledge_idempotency ON parley.knowledge (workspace_id, idempotency_key)
 WHERE idempotency_key IS NOT NULL;

-- The sessions whose messages an item was drawn from: who may not read one of them is not told the item, and it goes
-- with the first that is purged.
CREATE TABLE parley.knowledge_sources (
  item_id      uuid NOT NULL,
  session_id   uuid NOT NULL,
  workspace_id uuid NOT NULL,
  PRIMARY KEY (workspace_id, item_id, session_id)
);
CREATE INDEX knowledge_sources_session ON parley.knowledge_sources (workspace_id, session_id);

-- What a session's requests were told from knowledge; the latest of a session is in use.
CREATE TABLE parley.knowledge_blocks (
  id           uuid NOT NULL,
  workspace_id uuid NOT NULL,
  session_id   uuid NOT NULL,
  n            bigint NOT NULL,              -- from 1 within the session
  beginning    text NOT NULL,                -- names where the window began
  text         text NOT NULL,
  items        text NOT NULL,                -- JSON
  told         text NOT NULL,                -- JSON
  chosen_at    bigint NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE UNIQUE INDEX knowledge_blocks_session ON parley.knowledge_blocks (workspace_id, session_id, n);

ALTER TABLE parley.knowledge ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.knowledge FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.knowledge TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.knowledge TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.knowledge TO parley_tenant, parley_system;
ALTER TABLE parley.knowledge_sources ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.knowledge_sources FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.knowledge_sources TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.knowledge_sources TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.knowledge_sources TO parley_tenant, parley_system;
ALTER TABLE parley.knowledge_blocks ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.knowledge_blocks FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.knowledge_blocks TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.knowledge_blocks TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.knowledge_blocks TO parley_tenant, parley_system;

-- +goose Down
DROP TABLE parley.knowledge_blocks;
DROP TABLE parley.knowledge_sources;
DROP TABLE parley.knowledge;
