package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// TestWaitingTurnsHoldLittle: a turn that waits for a person holds no goroutine and almost no memory, so that thousands
// may wait. The measure is live heap and stacks after a collection, beyond that of as many idle sessions: the store
// remembers those too.
func TestWaitingTurnsHoldLittle(t *testing.T) {
	const (
		turns = 1000
		bound = 2 << 10 // bytes each
	)
	r := newRig(t)
	r.tools = fakeTools{
		{
			"look",
			readOnly(),
			func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage(`1`), nil },
		},
	}
	r.model.endless = func(ctx context.Context, yield func(model.Chunk, error) bool) {
		calls(parley.FinishToolCalls, "look", `{}`)(ctx, yield)
	}
	r.start(nil)
	rest := func(session parley.ID) error {
		title := "At rest"
		_, err := r.store.UpdateSession(r.Context(), r.scope, session, store.SessionChange{Title: &title})
		return err
	}
	wait := func(n int) {
		for _, session := range r.inSessions(n, func(session parley.ID) error {
			_, err := r.postNew(session, r.said("Look", ""))
			return err
		}) {
			r.happened(session, parley.EventSessionWaiting)
		}
	}
	wait(32) // the store remembers 2,048 sessions and must not forget any of these
	before := r.held()
	r.inSessions(turns, rest)
	resting := r.held()
	wait(turns)
	waiting := r.held()
	each := (waiting.bytes() - resting.bytes() - (resting.bytes() - before.bytes())) / turns
	t.Logf("a session at rest: %d B, a turn that waits: %d B more", (resting.bytes()-before.bytes())/turns, each)
	if each > bound {
		t.Errorf("a turn that waits holds %d B, the bound is %d", each, bound)
	}
	if more := waiting.goroutines - resting.goroutines; more > turns/10 {
		t.Errorf("%d turns wait, and there are %d more goroutines", turns, more)
	}
}

// inSessions runs do in each of n new sessions whose tools ask first, some in parallel.
func (r *rig) inSessions(n int, do func(session parley.ID) error) (made []parley.ID) {
	r.Helper()
	sessions, failed := make(chan parley.ID), make(chan error, n)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { // ends with the sessions
			for session := range sessions {
				if err := do(session); err != nil {
					failed <- fmt.Errorf("session %s: %w", session, err)
				}
			}
		})
	}
	for range n {
		session := r.session(
			tooled("look"),
			func(s *parley.Session) { s.Grants = &[]parley.Grant{{Tool: "*", Effect: parley.GrantAsk}} },
		)
		made = append(made, session)
		sessions <- session
	}
	close(sessions)
	all.Wait()
	close(failed)
	for err := range failed {
		r.Fatal(err)
	}
	return made
}

// memory is what a process holds.
type memory struct {
	heap       int64 // live bytes
	stacks     int64 // bytes, also of goroutines that ended not long ago
	goroutines int
}

func (m memory) bytes() int64 { return m.heap + m.stacks }

// held returns what is in use while nothing runs, without the tests' own data.
func (r *rig) held() memory {
	r.Helper()
	r.idleSlots(r.worker)
	r.seen.mu.Lock()
	r.seen.events = nil
	r.seen.mu.Unlock()
	return holding()
}

// holding returns what is in use now.
func holding() memory {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // a second run, for memory freed by finalizers
	runtime.ReadMemStats(&stats)
	return memory{
		int64(stats.HeapAlloc),  //nolint:gosec // far below the bound
		int64(stats.StackInuse), //nolint:gosec // the same
		runtime.NumGoroutine(),
	}
}
