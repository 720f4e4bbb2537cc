-- +goose Up

-- What agents that work on their own want their people to read or to answer.
CREATE TABLE inbox_items (
  id                BLOB NOT NULL,
  workspace_id      BLOB NOT NULL,
  principal_id      BLOB NOT NULL,           -- whose inbox
  type              TEXT NOT NULL,           -- briefing, question, approval, alert
  title             TEXT NOT NULL,
  summary           TEXT NOT NULL,
  agent_id          BLOB NOT NULL,
  session_id        BLOB NOT NULL,           -- where it stands, and under whose lock it moves
  message_id        BLOB,
  source_session_id BLOB NOT NULL,           -- the work behind it
  source_message_id BLOB,
  delegation_id     BLOB,
  approval_id       BLOB,
  created_at        INTEGER NOT NULL,
  read_at           INTEGER,
  answered_at       INTEGER,
  closed_at         INTEGER,
  PRIMARY KEY (id)
);
CREATE INDEX inbox_items_recent  ON inbox_items (principal_id, created_at, id);
CREATE INDEX inbox_items_unread  ON inbox_items (principal_id, created_at, id) WHERE read_at IS NULL;
CREATE INDEX inbox_items_session ON inbox_items (session_id);

-- The person to whom an agent sends a briefing or a question.
ALTER TABLE delegations ADD COLUMN to_principal_id BLOB;

-- +goose Down
ALTER TABLE delegations DROP COLUMN to_principal_id;
DROP TABLE inbox_items;
