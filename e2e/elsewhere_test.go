package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// elsewhereLater bounds, in the best quarter of many turns, how much later than on
// the process that runs a turn its first token is shown on another one. On a machine
// that has nothing else to do it is 5 ms at most; what comes by looking instead of
// being told takes hundreds, in the best quarter too.
const elsewhereLater = 50 * time.Millisecond

// shown tells when a watcher saw the first token of each turn.
func shown(ctx context.Context, t *testing.T, c *client.Client, session parley.ID, turns int) <-chan time.Time {
	t.Helper()
	seen := make(chan time.Time, turns)
	go func() { // ends with the last turn, or with ctx
		defer close(seen)
		waits := true
		for frame, err := range c.WatchSession(ctx, session, client.WatchSessionQuery{}) {
			switch {
			case err != nil:
				if ctx.Err() == nil {
					t.Errorf("watching: %v", err)
				}
				return
			case frame.Type == parley.EventStepGenerating && waits:
				seen <- time.Now()
				waits = false
			case frame.Type.EndsTurn():
				if waits { // on a busy machine a turn may be over before its text is told
					seen <- time.Now()
				}
				if turns--; turns == 0 {
					return
				}
				waits = true
			}
		}
	}()
	return seen
}

// A turn that one process runs is watched on another one as it happens there.
func TestFirstTokenElsewhere(t *testing.T) {
	t.Parallel()
	const turns = 60
	here := startAt(t, shared(t))
	there := startAt(t, here.at.beside(t))
	ctx, cancel := context.WithTimeout(t.Context(), 2*turnDeadline)
	defer cancel()
	session := newSession(t, here.client, "sim/script")
	first, second := shown(ctx, t, here.client, session.ID, turns), shown(ctx, t, there.client, session.ID, turns)
	var later []time.Duration
	for range turns {
		// The process that takes the post runs the turn.
		if _, err := here.client.Post(
			ctx,
			session.ID,
			client.UserMessage(`[[{"wait_ms":20},{"text":"Hello. "},{"wait_ms":20},{"text":"Goodbye."}]]`),
		); err != nil {
			t.Fatal(err)
		}
		at, ok := <-first
		if !ok {
			t.Fatal("the watcher beside the turn ended")
		}
		other, ok := <-second
		if !ok {
			t.Fatal("the watcher elsewhere ended")
		}
		later = append(later, other.Sub(at))
	}
	slices.Sort(later)
	t.Logf(
		"later elsewhere: %v in the middle, %v at the 90th of 100, %v at most",
		later[len(later)/2],
		later[len(later)*9/10],
		later[len(later)-1],
	)
	if good := later[len(later)/4]; good > elsewhereLater {
		t.Errorf(
			"one first token in four is shown %v later on another process, at most %v are allowed",
			good,
			elsewhereLater,
		)
	}
}
