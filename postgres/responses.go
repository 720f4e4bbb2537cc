package postgres

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
) (*store.CachedResponse, error) {
	since := parley.TimeOf(s.clock.Now().Std().Add(-age))
	found, err := all(ctx, s, tenant(workspaceID), func(r *row) (store.CachedResponse, error) {
		return store.CachedResponse{Key: key, Chunks: r.bytes(), Cost: r.money()}, nil
	}, "SELECT chunks, cost FROM parley.response_cache WHERE workspace_id = "+here+" AND key = $1 AND created_at > $2",
		1, key, since)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Statements of KeepResponses. The first locks the workspace's counters, so that the bounds hold despite concurrent
// writers, and tells the others the number of this use.
const (
	countResponses = `INSERT INTO parley.response_counts AS c (workspace_id, uses, hits, misses, stored, saved)
		VALUES (` + here + `, 1, $1, $2, $3, $4)
 ON CONFLICT (workspace_id) DO UPDATE SET uses = c.uses + 1, hits = c.hits + excluded.hits,
  misses = c.misses + excluded.misses, stored = c.stored + excluded.stored, saved = c.saved + excluded.saved`
	thisUse     = "(SELECT uses FROM parley.response_counts WHERE workspace_id = " + here + ")"
	useResponse = "UPDATE parley.response_cache SET last_use = " + thisUse + " WHERE workspace_id = " + here +
		" AND key = $1"

	insertResponse = `INSERT INTO parley.response_cache (workspace_id, key, chunks, bytes, cost, last_use, created_at)
		VALUES (` + here + ", $1, $2, $3, $4, " + thisUse + `, $5)
 ON CONFLICT (workspace_id, key) DO UPDATE SET chunks = excluded.chunks, bytes = excluded.bytes, cost = excluded.cost,
  last_use = excluded.last_use, created_at = excluded.created_at`

	// counts and sums the answers from the most recently used one
	evictResponses = `WITH gone AS (DELETE FROM parley.response_cache WHERE workspace_id = ` + here +
		` AND (created_at <= $1 OR key IN (SELECT key FROM
 (SELECT key, row_number() OVER w AS n, sum(bytes) OVER w AS total FROM parley.response_cache WHERE workspace_id = ` +
		here + ` AND created_at > $1 WINDOW w AS (ORDER BY last_use DESC, key DESC)) ranked
 WHERE n > $2 OR total > $3)) RETURNING 1), counted AS (SELECT count(*) AS n FROM gone)
 UPDATE parley.response_counts c SET evicted = c.evicted + counted.n FROM counted WHERE c.workspace_id = ` + here +
		" RETURNING counted.n"
)

// KeepResponses implements store.ResponseCache.
func (s *Store) KeepResponses(
	ctx context.Context,
	workspaceID parley.ID,
	used store.ResponsesUsed,
) (evicted int64, err error) {
	var saved parley.Money
	for _, hit := range used.Hits {
		saved += hit.Saved
	}
	now := s.clock.Now()
	b := tenant(workspaceID)
	b.write(countResponses, len(used.Hits), used.Misses, len(used.Fresh), int64(saved))
	for _, hit := range used.Hits {
		b.write(useResponse, hit.Key)
	}
	for i := range used.Fresh {
		f := &used.Fresh[i]
		b.write(insertResponse, f.Key, f.Chunks, len(f.Chunks), f.Cost, now)
	}
	if len(used.Fresh) > 0 {
		b.read(evictResponses, func(r *row) error {
			evicted = r.int64()
			return nil
		}, parley.TimeOf(now.Std().Add(-parley.MaxResponseTTL)), parley.MaxCachedResponses,
			parley.MaxResponseCacheBytes)
	}
	return evicted, mapError(s.send(ctx, b))
}

// ResponseCacheState implements store.ResponseCache.
func (s *Store) ResponseCacheState(
	ctx context.Context,
	workspaceID parley.ID,
) (state parley.ResponseCacheState, err error) {
	err = s.read(ctx, func() *batch {
		state = parley.ResponseCacheState{}
		b := tenant(workspaceID)
		b.read(
			"SELECT hits, misses, stored, evicted, saved FROM parley.response_counts WHERE workspace_id = "+here,
			func(r *row) error {
				state.Hits, state.Misses, state.Stored, state.Evicted, state.Saved = r.int64(), r.int64(), r.int64(),
					r.int64(), parley.Money(
						r.int64(),
					)
				return nil
			},
		)
		b.read(
			"SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM parley.response_cache WHERE workspace_id = "+here,
			func(r *row) error {
				state.Entries, state.Bytes = r.int64(), r.int64()
				return nil
			},
		)
		return b
	})
	return state, err
}

// ClearResponseCache implements store.ResponseCache.
func (s *Store) ClearResponseCache(ctx context.Context, workspaceID parley.ID) (dropped int64, err error) {
	audit := store.AuditFrom(ctx)
	b := tenant(workspaceID)
	b.counted(&dropped, "DELETE FROM parley.response_cache WHERE workspace_id = "+here)
	b.audit(audit.Entries(parley.ID{}, parley.ID{}))
	if err = s.send(ctx, b); err == nil {
		audit.Wrote()
	}
	return dropped, err
}
