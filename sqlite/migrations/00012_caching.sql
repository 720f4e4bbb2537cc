-- +goose Up

-- What providers' caches gave, and the settings of the middleware that a call went
-- through (its text is in call_texts, once per hash).
ALTER TABLE calls ADD COLUMN middleware_hash BLOB;
ALTER TABLE calls ADD COLUMN saved INTEGER;                        -- nanodollars that caching saved; null: unknown
CREATE INDEX calls_middleware ON calls (workspace_id, middleware_hash) WHERE middleware_hash IS NOT NULL;
CREATE INDEX calls_time ON calls (workspace_id, created_at);       -- usage by time

ALTER TABLE heads ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;     -- that have ended
ALTER TABLE heads ADD COLUMN cache_hits INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN cache_write_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE heads ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;
UPDATE heads SET (calls, cache_hits, cache_write_tokens) =
 (SELECT count(*), count(*) FILTER (WHERE json_valid(c.usage) AND c.usage ->> '$.cached_tokens' > 0),
   coalesce(sum(CASE WHEN json_valid(c.usage) THEN c.usage ->> '$.cache_write_tokens' END), 0)
  FROM calls c WHERE c.session_id = heads.session_id AND c.outcome <> 'open');

-- +goose Down
ALTER TABLE heads DROP COLUMN saved;
ALTER TABLE heads DROP COLUMN cache_write_tokens;
ALTER TABLE heads DROP COLUMN cache_hits;
ALTER TABLE heads DROP COLUMN calls;
DROP INDEX calls_time;
DROP INDEX calls_middleware;
ALTER TABLE calls DROP COLUMN saved;
ALTER TABLE calls DROP COLUMN middleware_hash;
