package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// begun is a sink that reports its first event.
type begun func()

func (b begun) Event(parley.Event) error    { b(); return nil }
func (b begun) Delta(runner.DryDelta) error { return nil }

// A principal's simultaneous dry runs are bounded, whatever slots the worker has; hanging up gives the place back.
func TestDryRunsOfAPrincipalAreBounded(t *testing.T) {
	t.Parallel()
	const most = 8
	h := newHouse(t, realWorker)
	agent, _, err := h.CreateAgent(
		t.Context(),
		h.member,
		engine.AgentInput{Name: "waiting", Settings: parley.Settings{Model: "sim/script"}},
		store.Idempotency{},
	)
	if err != nil {
		t.Fatal(err)
	}
	session := h.open(t, engine.SessionInput{AgentID: agent.Slug}).ID
	waiting := engine.MessageInput{Content: []byte(`{"text":"[[{\"wait_ms\":600000}]]"}`)}
	run := func(ctx context.Context, tell func()) error {
		_, err := h.DryRunMessage(ctx, h.member, session, waiting, engine.DryWatch{Sink: begun(sync.OnceFunc(tell))})
		return err
	}
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	started, ended := make(chan struct{}, most), make(chan error, most)
	for range most {
		go func() { ended <- run(ctx, func() { started <- struct{}{} }) }() // ends with ctx
	}
	for range most {
		select {
		case <-started:
		case err := <-ended:
			t.Fatalf("a dry run ended: %v", err)
		}
	}
	more, enough := context.WithCancel(ctx)
	defer enough()
	if err := run(
		more,
		enough,
	); parley.ErrorCode(err) != parley.CodeRateLimited ||
		!strings.Contains(err.Error(), "at once") {
		t.Errorf("one more: %v", err)
	}
	hangUp()
	for range most {
		<-ended
	}
	if _, err := h.DryRunMessage(
		t.Context(),
		h.member,
		session,
		engine.MessageInput{Content: []byte(`{"text":"[[]]"}`)},
		engine.DryWatch{},
	); parley.ErrorCode(
		err,
	) == parley.CodeRateLimited {
		t.Errorf("after all have ended: %v", err)
	}
}

// A preview ends when its client hangs up, and so does a turn at its limit of time, even while middleware works on a
// long text.
func TestPreviewsEndWithTheirClient(t *testing.T) {
	t.Parallel()
	h := newHouse(t, realWorker)
	// It stays within the budget of a request and takes seconds.
	slow := parley.MiddlewareSettings{
		Redact: &[]parley.RedactPattern{{Name: "slow", Pattern: `(\w{1,60}){1,15}[xyz]0`}},
	}
	one := 1
	agent, _, err := h.CreateAgent(
		t.Context(),
		h.member,
		engine.AgentInput{
			Name: "slow",
			Settings: parley.Settings{
				Model:      "sim/echo",
				Middleware: new(slow),
				Limits:     &parley.Limits{MaxSeconds: &one},
			},
		},
		store.Idempotency{},
	)
	if err != nil {
		t.Fatal(err)
	}
	session := h.open(t, engine.SessionInput{AgentID: agent.Slug})
	long := say(strings.Repeat("a", 250_000))
	ctx, hangUp := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer hangUp()
	if _, err := h.Preview(ctx, h.member, session.ID, engine.PreviewInput{MessageInput: long}); err == nil {
		t.Error("a preview continued without its client")
	}
	if _, err := h.Preview(
		t.Context(),
		h.member,
		session.ID,
		engine.PreviewInput{MessageInput: long},
	); err == nil ||
		!strings.Contains(err.Error(), "max_seconds") {
		t.Errorf("a preview beyond its time: %v", err)
	}
	turn := h.finish(t, h.post(t, session.ID, long))
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassLimit {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
	}
}
