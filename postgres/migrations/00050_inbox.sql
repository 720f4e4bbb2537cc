-- +goose Up

-- What agents that work on their own want their people to read or to answer.
CREATE TABLE parley.inbox_items (
  id                uuid NOT NULL,
  workspace_id      uuid NOT NULL,
  principal_id      uuid NOT NULL,           -- whose inbox
  type              text NOT NULL,           -- briefing, question, approval, alert
  title             text NOT NULL,
  summary           text NOT NULL,
  agent_id          uuid NOT NULL,
  session_id        uuid NOT NULL,           -- where it stands, and under whose lock it moves
  message_id        uuid,
  source_session_id uuid NOT NULL,           -- the work behind it
  source_message_id uuid,
  delegation_id     uuid,
  approval_id       uuid,
  created_at        bigint NOT NULL,
  read_at           bigint,
  answered_at       bigint,
  closed_at         bigint,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX inbox_items_recent  ON parley.inbox_items (workspace_id, principal_id, created_at, id);
CREATE INDEX inbox_items_unread  ON parley.inbox_items (workspace_id, principal_id, created_at, id) WHERE read_at IS NULL;
CREATE INDEX inbox_items_session ON parley.inbox_items (workspace_id, session_id);

ALTER TABLE parley.inbox_items ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.inbox_items FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.inbox_items TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.inbox_items TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.inbox_items TO parley_tenant, parley_system;

-- The person to whom an agent sends a briefing or a question.
ALTER TABLE parley.delegations ADD COLUMN to_principal_id uuid;

-- A program that does not know people as receivers would deliver a person's briefing to an agent.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 50);

-- +goose Down
ALTER TABLE parley.delegations DROP COLUMN to_principal_id;
DROP TABLE parley.inbox_items;
