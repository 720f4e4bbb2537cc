package store

import (
	"context"
	"time"

	"example.org/parley"
)

// CachedResponse is a complete answer of a model in the cache.
type CachedResponse struct {
	Key    parley.Hash   // of the request, its model and its encoder's version
	Chunks []byte        // as EncodeChunks writes them; at most MaxCachedResponseBytes
	Cost   *parley.Money // of the original call; nil: unknown
}

// ResponseHit is an answer taken from the cache.
type ResponseHit struct {
	Key   parley.Hash
	Saved parley.Money // cost of the original call; 0 if unknown
}

// ResponsesUsed is how a turn used the response cache.
type ResponsesUsed struct {
	Hits   []ResponseHit
	Misses int
	Fresh  []CachedResponse
}

// IsZero reports that there is nothing to record.
func (u *ResponsesUsed) IsZero() bool { return len(u.Hits) == 0 && u.Misses == 0 && len(u.Fresh) == 0 }

// ResponseCache stores answers of models. Each workspace has its own.
type ResponseCache interface {
	// CachedResponse finds an answer by its key that is younger than age, or nil.
	CachedResponse(
		ctx context.Context,
		workspaceID parley.ID,
		key parley.Hash,
		age time.Duration,
	) (*CachedResponse, error)
	// KeepResponses records a turn's use of the cache in one transaction. It drops answers older than MaxResponseTTL,
	// then the least recently used ones until the workspace is within its bounds, and returns how many it dropped.
	KeepResponses(ctx context.Context, workspaceID parley.ID, used ResponsesUsed) (evicted int64, err error)
	// ResponseCacheState returns the contents and counters of the cache.
	ResponseCacheState(ctx context.Context, workspaceID parley.ID) (parley.ResponseCacheState, error)
	// ClearResponseCache drops all answers of the workspace; the counters stay.
	ClearResponseCache(ctx context.Context, workspaceID parley.ID) (dropped int64, err error)
}
