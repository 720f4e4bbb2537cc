package store

import (
	"context"
	"time"

	"example.org/parley"
)

// CachedResponse is a complete answer of a model as it is kept.
type CachedResponse struct {
	Key    parley.Hash   // of the request, its model and its encoder's version
	Chunks []byte        // see EncodeChunks; at most MaxCachedResponseBytes
	Cost   *parley.Money // what it cost; nil: unknown
}

// ResponseHit is an answer that was given again.
type ResponseHit struct {
	Key   parley.Hash
	Saved parley.Money // what it had cost; 0 when that is unknown
}

// ResponsesUsed is what a turn made of the response cache.
type ResponsesUsed struct {
	Hits   []ResponseHit
	Misses int
	Fresh  []CachedResponse
}

// IsZero reports that there is nothing to write down.
func (u *ResponsesUsed) IsZero() bool { return len(u.Hits) == 0 && u.Misses == 0 && len(u.Fresh) == 0 }

// ResponseCache keeps answers of models. A workspace sees its own alone.
type ResponseCache interface {
	// CachedResponse finds an answer by its key that is younger than age; nil
	// without one.
	CachedResponse(
		ctx context.Context,
		workspaceID parley.ID,
		key parley.Hash,
		age time.Duration,
	) (*CachedResponse, error)
	// KeepResponses writes down what a turn made of the cache, in one transaction,
	// and drops what is older than MaxResponseTTL and then what was used longest ago
	// until the workspace is within its bounds. It tells how many it dropped.
	KeepResponses(ctx context.Context, workspaceID parley.ID, used ResponsesUsed) (evicted int64, err error)
	// ResponseCacheState tells what the cache holds and did.
	ResponseCacheState(ctx context.Context, workspaceID parley.ID) (parley.ResponseCacheState, error)
	// ClearResponseCache drops all answers of the workspace; its counters stay.
	ClearResponseCache(ctx context.Context, workspaceID parley.ID) (dropped int64, err error)
}
