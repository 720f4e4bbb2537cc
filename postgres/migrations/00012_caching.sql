-- +goose Up

-- What providers' caches gave, and the settings of the middleware that a call went
-- through (its text is in call_texts, once per hash).
ALTER TABLE parley.calls ADD COLUMN middleware_hash bytea;
ALTER TABLE parley.calls ADD COLUMN saved bigint;                        -- nanodollars that caching saved; null: unknown
CREATE INDEX calls_middleware ON parley.calls (workspace_id, middleware_hash) WHERE middleware_hash IS NOT NULL;
CREATE INDEX calls_time ON parley.calls (workspace_id, created_at);      -- usage by time

ALTER TABLE parley.heads ADD COLUMN calls bigint NOT NULL DEFAULT 0;     -- that have ended
ALTER TABLE parley.heads ADD COLUMN cache_hits bigint NOT NULL DEFAULT 0;
ALTER TABLE parley.heads ADD COLUMN cache_write_tokens bigint NOT NULL DEFAULT 0;
ALTER TABLE parley.heads ADD COLUMN saved bigint NOT NULL DEFAULT 0;
UPDATE parley.heads h SET calls = c.calls, cache_hits = c.hits, cache_write_tokens = c.written FROM
 (SELECT workspace_id, session_id, count(*) AS calls, count(*) FILTER (WHERE (usage::json ->> 'cached_tokens')::bigint > 0) AS hits,
   coalesce(sum((usage::json ->> 'cache_write_tokens')::bigint), 0) AS written
  FROM parley.calls WHERE outcome <> 'open' GROUP BY workspace_id, session_id) c
 WHERE c.workspace_id = h.workspace_id AND c.session_id = h.session_id;

-- +goose Down
ALTER TABLE parley.heads DROP COLUMN saved, DROP COLUMN cache_write_tokens, DROP COLUMN cache_hits, DROP COLUMN calls;
DROP INDEX parley.calls_time;
DROP INDEX parley.calls_middleware;
ALTER TABLE parley.calls DROP COLUMN saved, DROP COLUMN middleware_hash;
