package worker

import (
	"context"
	"testing"
	"time"

	"parley"
)

// TestLateFlushSparesTheNextTurn: a flush that reaches the store when its turn is
// over already is fenced; the session's next turn, which runs by then, is not.
func TestLateFlushSparesTheNextTurn(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	r.options.StoreFlush = time.Millisecond
	r.start(store)
	flushing, late, again := make(chan struct{}), make(chan struct{}), make(chan struct{})
	flushes := 0 // by the flusher's one goroutine
	store.set(func(method string) error {
		if method != "AppendVersions" {
			return nil
		}
		switch flushes++; flushes {
		case 1:
			close(flushing)
			<-late
		case 2: // the first is over with all its consequences
			close(again)
		}
		return nil
	})
	r.model.play(func(_ context.Context, yield func(parley.Chunk, error) bool) {
		if yield(text(0, "One."), nil) {
			<-flushing
			yield(done(parley.FinishStop), nil)
		}
	}, func(ctx context.Context, yield func(parley.Chunk, error) bool) {
		if !yield(text(0, "Two."), nil) {
			return
		}
		close(late)
		select {
		case <-again:
			yield(done(parley.FinishStop), nil)
		case <-ctx.Done():
			yield(parley.Chunk{}, context.Cause(ctx))
		}
	})
	sessionID := r.session(parley.Overrides{}, nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn := r.ended(r.post(sessionID, "Go on", "").Turn.ID); turn.Status != parley.TurnCompleted || turn.Attempt != 1 {
		t.Errorf("the next turn is %s after %d attempts", turn.Status, turn.Attempt)
	}
}
