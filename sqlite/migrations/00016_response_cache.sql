-- +goose Up

-- Answers of models, given again to equal requests of the same workspace.
CREATE TABLE response_cache (
  workspace_id BLOB NOT NULL,
  key          BLOB NOT NULL,              -- SHA-256 of request, model and encoder version
  chunks       BLOB NOT NULL,
  bytes        INTEGER NOT NULL,           -- of chunks
  cost         INTEGER,                    -- nanodollars that it had; null: unknown
  last_use     INTEGER NOT NULL,           -- response_counts.uses then
  created_at   INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, key)
);
CREATE INDEX response_cache_use ON response_cache (workspace_id, last_use, key, bytes); -- what goes first
CREATE INDEX response_cache_age ON response_cache (workspace_id, created_at);

CREATE TABLE response_counts (
  workspace_id BLOB NOT NULL PRIMARY KEY,
  uses         INTEGER NOT NULL DEFAULT 0, -- writes so far: the order of uses
  hits         INTEGER NOT NULL DEFAULT 0,
  misses       INTEGER NOT NULL DEFAULT 0,
  stored       INTEGER NOT NULL DEFAULT 0,
  evicted      INTEGER NOT NULL DEFAULT 0,
  saved        INTEGER NOT NULL DEFAULT 0  -- nanodollars
);

-- +goose Down
DROP TABLE response_counts;
DROP TABLE response_cache;
