package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// Bounds for a hand-over after a kill (beyond the lease) and after SIGTERM, and for the
// first turn of a workspace beside another one's turns.
const (
	handOver  = time.Second
	firstTurn = time.Second
)

const (
	// slowAnswer is a turn that takes three seconds.
	slowAnswer = `[[{"text":"word ","repeat":300,"token_ms":10}]]`
	// endless is a turn that takes ten minutes.
	endless = `[[{"wait_ms":600000},{"text":"At last."}]]`
)

// begun posts a script to a new session and waits until its turn has shown
// something.
func begun(t *testing.T, c *client.Client, script string) client.Posted {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	session := newSession(t, c, "sim/script")
	posted, err := c.Post(ctx, session.ID, client.UserMessage(script))
	if err != nil {
		t.Fatal(err)
	}
	for frame, err := range c.WatchSession(ctx, session.ID, client.WatchSessionQuery{After: posted.EventSequence}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventStepGenerating {
			return posted
		}
	}
	t.Fatal("the stream ended before the turn began")
	return posted
}

// inTime retries an operation with a time bound, as often as a busy machine may need; an
// operation that is really too slow exceeds the bound every time.
func inTime(t *testing.T, what string, within time.Duration, once func() time.Duration) {
	t.Helper()
	const tries = 3
	for try := 1; ; try++ {
		took := once()
		t.Logf("%s took %s", what, took.Round(time.Millisecond))
		if took <= within {
			return
		}
		if try == tries {
			t.Fatalf("%s took longer than %s, %d times in a row", what, within, tries)
		}
	}
}

// attempts waits until a turn has been claimed a number of times, and returns how long that
// took.
func attempts(t *testing.T, c *client.Client, posted client.Posted, want int) time.Duration {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range c.WatchSession(ctx, posted.Message.SessionID,
		client.WatchSessionQuery{After: posted.EventSequence}) {
		if err != nil {
			break
		}
		if frame.Type != parley.EventSessionStarted {
			continue
		}
		var started struct{ Attempt int }
		if err := json.Unmarshal(frame.Data, &started); err != nil {
			t.Fatal(err)
		}
		if started.Attempt == want {
			return time.Since(began)
		}
	}
	t.Fatalf("attempt %d of the turn did not begin within %s", want, turnDeadline)
	return 0
}

// whole checks that a session has one complete answer, and that earlier ones are beginnings
// of it.
func whole(t *testing.T, c *client.Client, session parley.ID, want string) {
	t.Helper()
	completed := 0
	for _, m := range record(t, c, session) {
		switch {
		case m.Role != parley.RoleAssistant:
		case m.Status == parley.MessageCompleted:
			if completed++; text(t, m) != want {
				t.Errorf("the answer has %d bytes; want %d", len(text(t, m)), len(want))
			}
		case !strings.HasPrefix(want, text(t, m)):
			t.Errorf("message %d is not a beginning of the answer: %q", m.Sequence, text(t, m))
		}
	}
	if completed != 1 {
		t.Errorf("%d complete answers", completed)
	}
}

// TestHandOver is failures 30, 34 and 42 between two processes: the turns of a process that
// is killed, stopped or told to end soon continue in the other one.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signal syscall.Signal
		within time.Duration
	}{
		"killed":      {syscall.SIGKILL, shortLease + handOver},
		"stopped":     {syscall.SIGSTOP, shortLease + handOver},
		"told to end": {syscall.SIGTERM, handOver},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inTime(t, "the hand-over", c.within, func() time.Duration { return handedOver(t, c.signal) })
		})
	}
}

// handedOver returns how long another process took to continue the turn of one that got a
// signal.
func handedOver(t *testing.T, signal syscall.Signal) time.Duration {
	t.Helper()
	at := shared(t)
	first := startAt(t, at, "--lease", shortLease.String(), "--drain", "0s")
	second := startAt(t, at.beside(t), "--lease", shortLease.String())
	posted := begun(t, first.client, slowAnswer)
	if err := first.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	took := attempts(t, second.client, posted, 2)
	if signal == syscall.SIGSTOP { // resumed beside the one that has taken over
		if err := first.command.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	}
	after := settled(t, second.client, posted.Message.SessionID, turnDeadline)
	if after.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", after.Status)
	}
	whole(t, second.client, posted.Message.SessionID, strings.Repeat("word ", 300))
	if signal == syscall.SIGSTOP { // and it works again
		again := newSession(t, first.client, "sim/echo")
		if _, err := first.client.Post(t.Context(), again.ID, client.UserMessage("back")); err != nil {
			t.Fatal(err)
		}
		settled(t, first.client, again.ID, turnDeadline)
	}
	return took
}

// TestStoppedAlone is the other half of failure 34: a process that was stopped past its
// lease continues where it was if nobody took over its turns.
func TestStoppedAlone(t *testing.T) { onEach(t, stoppedAlone) }

func stoppedAlone(t *testing.T, at place) {
	const lease = time.Second
	s := startAt(t, at, "--lease", lease.String())
	posted := begun(t, s.client, slowAnswer)
	if err := s.command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(2 * lease) // the stop itself
	if err := s.command.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, posted.Message.SessionID, turnDeadline)
	whole(t, s.client, posted.Message.SessionID, strings.Repeat("word ", 300))
	calls, err := s.client.Calls(t.Context(), posted.Message.SessionID, client.CallsQuery{})
	if err != nil || len(calls.Data) != 1 {
		t.Errorf("%d model calls, %v; the first one had not ended", len(calls.Data), err)
	}
}

// TestNewcomer: a workspace with more ten-minute turns than there are slots does not keep
// another one's first turn waiting.
func TestNewcomer(t *testing.T) { onEach(t, newcomer) }

func newcomer(t *testing.T, at place) {
	const slots, long = 4, 40
	s := startAt(t, at, "--workers", "4", "--drain", "0s")
	enters := func(workspace string) *client.Client {
		c, err := client.New(client.Options{URL: s.url, Key: s.key(), Workspace: workspace})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	busy := enters("busy")
	for range long {
		session := newSession(t, busy, "sim/script")
		if _, err := busy.PostMessage(t.Context(), session.ID, client.UserMessage(endless)); err != nil {
			t.Fatal(err)
		}
	}
	newcomers := 0
	inTime(t, "a newcomer's first turn", firstTurn, func() time.Duration {
		newcomers++
		own := enters(fmt.Sprintf("new-%d", newcomers))
		session := newSession(t, own, "sim/echo")
		posted := time.Now()
		if _, err := own.PostMessage(t.Context(), session.ID, client.UserMessage("quick")); err != nil {
			t.Fatal(err)
		}
		if after := settled(t, own, session.ID, turnDeadline); after.Status != parley.SessionCompleted {
			t.Errorf("the newcomer's session is %s", after.Status)
		}
		return time.Since(posted)
	})
	s.terminate()
}

// TestRoles: a process without a worker and one without an API together do the work of one
// process, and neither does the other's.
func TestRoles(t *testing.T) {
	t.Parallel()
	at := shared(t)
	api := startAt(t, at, "--role", "api")
	session := newSession(t, api.client, "sim/lorem-50-100")
	posted, err := api.client.Post(t.Context(), session.ID, client.UserMessage("go"))
	if err != nil {
		t.Fatal(err)
	}
	turns, err := api.client.Turns(t.Context(), session.ID, client.TurnsQuery{})
	if err != nil || len(turns.Data) != 1 || turns.Data[0].Status != parley.TurnQueued {
		t.Fatalf("with nobody to run it: %+v, %v", turns.Data, err)
	}
	worker := startAt(t, at.beside(t), "--role", "worker", "--lease", shortLease.String())
	watched := newFold(t)
	watched.last = posted.EventSequence
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range api.client.WatchSession(ctx, session.ID,
		client.WatchSessionQuery{After: posted.EventSequence}) {
		if err != nil {
			t.Fatal(err)
		}
		if watched.take(frame); frame.Type.EndsTurn() {
			break
		}
	}
	watched.check(record(t, api.client, session.ID))
	for path, want := range map[string]int{"/readyz": http.StatusOK, "/healthz": http.StatusOK,
		"/v1/sessions": http.StatusNotFound} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, worker.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close() // only the status counts
		if response.StatusCode != want {
			t.Errorf("the worker answers GET %s with %s", path, response.Status)
		}
	}
	if out, errOut, err := worker.at.parley(t, "ready"); err != nil || strings.TrimSpace(out) != "ready" {
		t.Errorf("parley ready: %v, %s%s", err, out, errOut)
	}
	worker.terminate()
	if _, _, err := worker.at.parley(t, "ready", "--url", worker.url); exitCode(err) != 1 {
		t.Errorf("parley ready without a server: %v", err)
	}
	api.terminate()
}
