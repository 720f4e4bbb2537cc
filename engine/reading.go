package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/inflight"
	"example.org/parley/store"
)

// How many bytes of the record previews, explained calls and replays may hold to rebuild requests, for each GiB of the
// memory limit. A workspace holds at most half of what the others leave. Several copies of these bytes are in memory.
const (
	readingsHold = 64 << 20

	readingFree = 256 << 10 // of each request: not counted
	readingPage = 1 << 20   // read before it is counted

	// skimmedMost bounds the bytes of messages outside a manifest that are read to explain why they were left out.
	skimmedMost = 8 << 20
)

// reading counts what one request reads.
type reading struct {
	holding    *inflight.Holding
	read, most int64
}

type readingKey struct{}

// reads counts everything that is read of the record with the returned context, until done is called.
func (e *Engine) reads(ctx context.Context, scope store.Scope) (_ context.Context, done func()) {
	holding := e.readings.Holding(inflight.Owner{WorkspaceID: scope.WorkspaceID}, readingFree)
	r := &reading{holding: holding, most: readingFree + readingsHold/2*inflight.Scale()}
	return context.WithValue(ctx, readingKey{}, r), holding.End
}

// countRead counts n more bytes. It returns CodeTooLarge if that is more than one request may read at all, and
// CodeRateLimited if others leave no room for it.
func countRead(ctx context.Context, n int) error {
	r, counts := ctx.Value(readingKey{}).(*reading)
	if !counts {
		return nil
	}
	switch r.read += int64(n); {
	case r.read > r.most:
		return parley.Errorf(
			parley.CodeTooLarge,
			"This request is longer than the %d bytes that are put together again to be looked at on this server.",
			r.most,
		)
	case !r.holding.Take(int64(n)):
		return busy("Looks at long conversations hold as much memory as they may on this server. " +
			"Wait until one has ended.")
	}
	return nil
}

// skimmed reads a range of a session's messages without their contents; false if they are too many bytes to read.
func (e *Engine) skimmed(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	from, to int64,
) (messages []parley.Message, _ bool, err error) {
	size := 0
	for after := from - 1; after < to; {
		page, err := e.store.Messages(ctx, scope, sessionID, store.MessageQuery{
			AfterSequence: after, RecordOnly: true, Limit: int(min(to-after, parley.MaxPage)), MaxBytes: readingPage,
		})
		if err != nil || len(page) == 0 {
			return messages, true, err
		}
		for i := range page {
			m := &page[i]
			if size += m.Size(); m.TokenEstimate == 0 {
				m.TokenEstimate = parley.EstimateContent(m.Content)
			}
			m.Content, m.ProviderData, m.ContextNote = nil, nil, ""
		}
		if size > skimmedMost {
			return nil, false, nil
		}
		messages = append(messages, page...)
		after = page[len(page)-1].Sequence
	}
	return messages, true, nil
}
