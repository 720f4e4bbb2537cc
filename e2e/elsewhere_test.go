package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// elsewhereLater bounds, for the best quarter of many turns, how much later a turn's first
// token appears on another process than on the one that runs it. On an idle machine it is
// at most 5 ms; polling instead of hints would take hundreds, even in the best quarter.
const elsewhereLater = 50 * time.Millisecond

// shown reports when a watcher saw the first token of each turn.
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
				if waits { // on a busy machine a turn may be over before its text arrives
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

// A turn that one process runs can be watched live on another one.
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
		// The process that receives the post runs the turn.
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
		"later elsewhere: %v median, %v 90th percentile, %v maximum",
		later[len(later)/2],
		later[len(later)*9/10],
		later[len(later)-1],
	)
	if good := later[len(later)/4]; good > elsewhereLater {
		t.Errorf(
			"a quarter of the first tokens appear %v later on another process; at most %v is allowed",
			good,
			elsewhereLater,
		)
	}
}
