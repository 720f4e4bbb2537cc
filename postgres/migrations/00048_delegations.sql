-- +goose Up

-- What agents of a team send each other: tasks, questions and reports.
CREATE TABLE parley.delegations (
  id                uuid NOT NULL,
  workspace_id      uuid NOT NULL,
  kind              text NOT NULL,           -- task, question, report, briefing
  status            text NOT NULL,           -- sent, delivered, running, answered, failed, cancelled, expired
  from_agent_id     uuid NOT NULL,
  from_session_id   uuid NOT NULL,
  call_message_id   uuid NOT NULL,           -- the tool_call
  to_agent_id       uuid NOT NULL,
  to_session_id     uuid,                    -- once it is delivered
  parent_id         uuid,                    -- the delegation that the sender's turn worked for
  root_id           uuid NOT NULL,           -- the message that began the chain
  hop               bigint NOT NULL,
  text              text NOT NULL,
  message_id        uuid,                    -- carried it, in the receiver's session
  turn_id           uuid,
  work_id           uuid,                    -- of a report: what the receiver's turn works for
  answer_message_id uuid,
  answer_turn_id    uuid,                    -- null: a report or a person answered
  answer_step       bigint NOT NULL DEFAULT 0,
  return_message_id uuid,                    -- told the sender how it ended
  return_turn_id    uuid,
  reason            text NOT NULL DEFAULT '',
  deadline_at       bigint,
  created_at        bigint NOT NULL,
  delivered_at      bigint,
  finished_at       bigint,
  heard_at          bigint,                  -- when the turn began that reads the answer
  PRIMARY KEY (workspace_id, id)
);
-- The turn of a message asks which delegation it carries.
CREATE UNIQUE INDEX delegations_message ON parley.delegations (workspace_id, message_id) WHERE message_id IS NOT NULL;
CREATE UNIQUE INDEX delegations_return  ON parley.delegations (workspace_id, return_message_id) WHERE return_message_id IS NOT NULL;
CREATE INDEX delegations_from    ON parley.delegations (workspace_id, from_session_id, created_at, id);
CREATE INDEX delegations_to      ON parley.delegations (workspace_id, to_session_id, created_at, id) WHERE to_session_id IS NOT NULL;
CREATE INDEX delegations_sender  ON parley.delegations (workspace_id, from_agent_id, created_at, id);
CREATE INDEX delegations_agent   ON parley.delegations (workspace_id, to_agent_id, created_at, id);
CREATE INDEX delegations_parent  ON parley.delegations (workspace_id, parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX delegations_root    ON parley.delegations (workspace_id, root_id, created_at, id);
CREATE INDEX delegations_recent  ON parley.delegations (workspace_id, created_at, id);

ALTER TABLE parley.delegations ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.delegations FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.delegations TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
CREATE POLICY system ON parley.delegations TO parley_system USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.delegations TO parley_tenant, parley_system;

-- A program that does not know delegations would leave their turns unanswered.
UPDATE parley.compatibility SET compatible_from = greatest(compatible_from, 48);

-- +goose Down
DROP TABLE parley.delegations;
