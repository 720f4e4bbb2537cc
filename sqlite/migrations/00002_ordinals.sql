-- +goose Up

-- What orders the turns and calls of a session: ids are minted by processes whose
-- clocks may differ.
ALTER TABLE turns ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0; -- number in the session, from 1
ALTER TABLE calls ADD COLUMN ordinal INTEGER NOT NULL DEFAULT 0; -- sequence of its step.started

UPDATE turns SET ordinal = numbered.place FROM
 (SELECT id, row_number() OVER (PARTITION BY session_id ORDER BY created_at, id) AS place FROM turns) numbered WHERE turns.id = numbered.id;
-- Below every sequence to come: each call has an event of its own.
UPDATE calls SET ordinal = numbered.place FROM
 (SELECT id, row_number() OVER (PARTITION BY session_id ORDER BY created_at, id) AS place FROM calls) numbered WHERE calls.id = numbered.id;

DROP INDEX turns_session;
DROP INDEX calls_session;
DROP INDEX calls_turn;
CREATE UNIQUE INDEX turns_session ON turns (session_id, ordinal);
CREATE UNIQUE INDEX calls_session ON calls (session_id, ordinal);
CREATE INDEX calls_turn ON calls (turn_id, ordinal);

-- +goose Down
DROP INDEX turns_session;
DROP INDEX calls_session;
DROP INDEX calls_turn;
ALTER TABLE turns DROP COLUMN ordinal;
ALTER TABLE calls DROP COLUMN ordinal;
CREATE INDEX turns_session ON turns (session_id, id);
CREATE INDEX calls_session ON calls (session_id, id);
CREATE INDEX calls_turn    ON calls (turn_id, id);
