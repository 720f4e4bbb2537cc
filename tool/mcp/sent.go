package mcp

import (
	"context"
	"sync/atomic"
)

// sent says whether the server may have received a call. The SDK's errors do not: a lost session ends all calls in
// progress with the error of the one request that the server turned away.
type sent struct{ perhaps atomic.Bool }

type sentKey struct{}

// withSent follows the requests of ctx.
func withSent(ctx context.Context) (context.Context, *sent) {
	s := &sent{}
	return context.WithValue(ctx, sentKey{}, s), s
}

// markSent notes that a request of ctx is on its way, or that the server turned it away.
func markSent(ctx context.Context, perhaps bool) {
	if s, ok := ctx.Value(sentKey{}).(*sent); ok {
		s.perhaps.Store(perhaps)
	}
}
