-- +goose Up

-- What agents of a team send each other: tasks, questions and reports.
CREATE TABLE delegations (
  id                BLOB NOT NULL,
  workspace_id      BLOB NOT NULL,
  kind              TEXT NOT NULL,           -- task, question, report, briefing
  status            TEXT NOT NULL,           -- sent, delivered, running, answered, failed, cancelled, expired
  from_agent_id     BLOB NOT NULL,
  from_session_id   BLOB NOT NULL,
  call_message_id   BLOB NOT NULL,           -- the tool_call
  to_agent_id       BLOB NOT NULL,
  to_session_id     BLOB,                    -- once it is delivered
  parent_id         BLOB,                    -- the delegation that the sender's turn worked for
  root_id           BLOB NOT NULL,           -- the message that began the chain
  hop               INTEGER NOT NULL,
  text              TEXT NOT NULL,
  message_id        BLOB,                    -- carried it, in the receiver's session
  turn_id           BLOB,
  work_id           BLOB,                    -- of a report: what the receiver's turn works for
  answer_message_id BLOB,
  answer_turn_id    BLOB,                    -- null: a report or a person answered
  answer_step       INTEGER NOT NULL DEFAULT 0,
  return_message_id BLOB,                    -- told the sender how it ended
  return_turn_id    BLOB,
  reason            TEXT NOT NULL DEFAULT '',
  deadline_at       INTEGER,
  created_at        INTEGER NOT NULL,
  delivered_at      INTEGER,
  finished_at       INTEGER,
  heard_at          INTEGER,                 -- when the turn began that reads the answer
  PRIMARY KEY (id)
);
-- The turn of a message asks which delegation it carries.
CREATE UNIQUE INDEX delegations_message ON delegations (message_id) WHERE message_id IS NOT NULL;
CREATE UNIQUE INDEX delegations_return  ON delegations (return_message_id) WHERE return_message_id IS NOT NULL;
CREATE INDEX delegations_from    ON delegations (from_session_id, created_at, id);
CREATE INDEX delegations_to      ON delegations (to_session_id, created_at, id) WHERE to_session_id IS NOT NULL;
CREATE INDEX delegations_sender  ON delegations (from_agent_id, created_at, id);
CREATE INDEX delegations_agent   ON delegations (to_agent_id, created_at, id);
CREATE INDEX delegations_parent  ON delegations (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX delegations_root    ON delegations (root_id, created_at, id);
CREATE INDEX delegations_recent  ON delegations (workspace_id, created_at, id);

-- +goose Down
DROP TABLE delegations;
