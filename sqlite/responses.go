package sqlite

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// CachedResponse implements store.ResponseCache.
func (s *Store) CachedResponse(
	ctx context.Context,
	workspaceID parley.ID,
	key parley.Hash,
	age time.Duration,
) (found *store.CachedResponse, err error) {
	err = s.read(ctx, func(c *conn) error {
		found = nil
		_, err := c.one(
			"SELECT chunks, cost FROM response_cache WHERE workspace_id = ? AND key = ? AND created_at > ?",
			func(r *row) error {
				found = &store.CachedResponse{Key: key, Chunks: r.bytes(), Cost: r.money()}
				return nil
			},
			workspaceID,
			key,
			parley.TimeOf(time.Now().Add(-age)),
		)
		return err
	})
	return found, err
}

// evictResponses deletes answers that are too old, then the least recently used ones: answers are counted and summed
// from the most recently used one, and those beyond the bounds go.
const evictResponses = `DELETE FROM response_cache WHERE workspace_id = ?1
	AND (created_at <= ?2 OR key IN (SELECT key FROM
 (SELECT key, row_number() OVER w AS n, sum(bytes) OVER w AS total FROM response_cache
  WHERE workspace_id = ?1 AND created_at > ?2 WINDOW w AS (ORDER BY last_use DESC, key DESC))
 WHERE n > ?3 OR total > ?4))`

// KeepResponses implements store.ResponseCache.
func (s *Store) KeepResponses(ctx context.Context, workspaceID parley.ID, used store.ResponsesUsed) (int64, error) {
	return transact(ctx, s, func(tx *txn) (evicted int64, err error) {
		var saved parley.Money
		for _, hit := range used.Hits {
			saved += hit.Saved
		}
		if _, err := tx.exec(
			`INSERT INTO response_counts (workspace_id, uses, hits, misses, stored, saved) VALUES (?, 1, ?, ?, ?, ?)
 ON CONFLICT (workspace_id) DO UPDATE SET uses = uses + 1, hits = hits + excluded.hits,
  misses = misses + excluded.misses, stored = stored + excluded.stored, saved = saved + excluded.saved`,
			workspaceID,
			len(used.Hits),
			used.Misses,
			len(used.Fresh),
			int64(saved),
		); err != nil {
			return 0, err
		}
		for _, hit := range used.Hits {
			if _, err := tx.exec(
				"UPDATE response_cache SET last_use = (SELECT uses FROM response_counts WHERE workspace_id = ?1) "+
					"WHERE workspace_id = ?1 AND key = ?2",
				workspaceID,
				hit.Key,
			); err != nil {
				return 0, err
			}
		}
		for i := range used.Fresh {
			f := &used.Fresh[i]
			if _, err := tx.exec(
				`INSERT INTO response_cache (workspace_id, key, chunks, bytes, cost, last_use, created_at)
 VALUES (?1, ?2, ?3, ?4, ?5, (SELECT uses FROM response_counts WHERE workspace_id = ?1), ?6)
 ON CONFLICT (workspace_id, key) DO UPDATE SET chunks = excluded.chunks, bytes = excluded.bytes, cost = excluded.cost,
  last_use = excluded.last_use, created_at = excluded.created_at`,
				workspaceID,
				f.Key,
				f.Chunks,
				len(f.Chunks),
				f.Cost,
				tx.now,
			); err != nil {
				return 0, err
			}
		}
		if len(used.Fresh) == 0 {
			return 0, nil
		}
		oldest := parley.TimeOf(tx.now.Std().Add(-parley.MaxResponseTTL))
		if evicted, err = tx.exec(
			evictResponses,
			workspaceID,
			oldest,
			parley.MaxCachedResponses,
			parley.MaxResponseCacheBytes,
		); err != nil ||
			evicted == 0 {
			return 0, err
		}
		_, err = tx.exec(
			"UPDATE response_counts SET evicted = evicted + ? WHERE workspace_id = ?",
			evicted,
			workspaceID,
		)
		return evicted, err
	})
}

// ResponseCacheState implements store.ResponseCache.
func (s *Store) ResponseCacheState(
	ctx context.Context,
	workspaceID parley.ID,
) (state parley.ResponseCacheState, err error) {
	err = s.read(ctx, func(c *conn) error {
		state = parley.ResponseCacheState{}
		if _, err := c.one(
			"SELECT hits, misses, stored, evicted, saved FROM response_counts WHERE workspace_id = ?",
			func(r *row) error {
				state.Hits, state.Misses, state.Stored, state.Evicted, state.Saved = r.int64(), r.int64(), r.int64(),
					r.int64(), parley.Money(
						r.int64(),
					)
				return nil
			},
			workspaceID,
		); err != nil {
			return err
		}
		_, err := c.one(
			"SELECT count(*), coalesce(sum(bytes), 0) FROM response_cache WHERE workspace_id = ?",
			func(r *row) error {
				state.Entries, state.Bytes = r.int64(), r.int64()
				return nil
			},
			workspaceID,
		)
		return err
	})
	return state, err
}

// ClearResponseCache implements store.ResponseCache.
func (s *Store) ClearResponseCache(ctx context.Context, workspaceID parley.ID) (int64, error) {
	return transact(ctx, s, func(tx *txn) (int64, error) {
		return tx.exec("DELETE FROM response_cache WHERE workspace_id = ?", workspaceID)
	})
}
