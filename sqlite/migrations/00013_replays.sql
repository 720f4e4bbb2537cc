-- +goose Up

-- What models said to recorded requests that were sent again: one row for each
-- call of purpose replay.
CREATE TABLE replays (
  call_id      BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  session_id   BLOB NOT NULL,
  replay_of    BLOB NOT NULL, -- the call
  answer       TEXT NOT NULL, -- {text, reasoning, refusal, tool_calls}
  created_at   INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX replays_of ON replays (replay_of, created_at);
CREATE INDEX replays_session ON replays (session_id);

-- +goose Down
DROP TABLE replays;
