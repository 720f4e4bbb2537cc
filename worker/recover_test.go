package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
	"example.org/parley/store"
	"example.org/parley/tool"
)

// crashing starts a worker whose store can die under it: its earlier writes stay.
func (r *rig) crashing() *faults {
	r.Helper()
	store := &faults{Store: r.store}
	r.options.StoreFlush = 5 * time.Millisecond
	r.options.Drain = time.Millisecond
	r.start(store)
	r.dying = store
	return store
}

// crashLease is short, so that its renewals, sweeps and end come soon, and long enough for a slow machine to renew it.
const crashLease = 3 * time.Second

// expire ends the lease of a dead worker. The test does this itself, so that on a slow machine the lease does not
// expire while the worker lives.
func (r *rig) expire(dying *faults) {
	r.Helper()
	dying.mu.Lock()
	dead := dying.process
	dying.mu.Unlock()
	if _, err := r.store.RenewLease(r.Context(), dead, -time.Second); parley.ErrorCode(err) != parley.CodeFenced {
		r.must(err)
	}
}

// takeOver starts another worker, which takes over from the dead one.
func (r *rig) takeOver() {
	r.Helper()
	r.expire(r.dying)
	r.start(nil)
}

// flushed waits until a message has a version that ends at n bytes.
func (r *rig) flushed(store *faults, sessionID parley.ID, index, n int) {
	r.Helper()
	for {
		rows := r.messages(sessionID)
		if index < len(rows) {
			versions, err := r.store.Versions(r.Context(), r.scope, rows[index].ID)
			r.must(err)
			if k := len(versions); k > 0 && versions[k-1].End >= n {
				return
			}
		}
		wrote := make(chan struct{})
		var once sync.Once
		store.set(func(method string) error {
			if method == "AppendedVersions" {
				once.Do(func() { close(wrote) })
			}
			return nil
		})
		limit := time.NewTimer(20 * time.Millisecond) // it may have been written just before
		select {
		case <-wrote:
		case <-limit.C:
		}
		limit.Stop()
	}
}

func TestTakeOverOfAnOpenCall(t *testing.T) {
	r := newRig(t)
	dying := r.crashing()
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Half an "), text(0, "answer")), says("A whole answer."))
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the stream", reached)
	r.flushed(dying, sessionID, 1, len("Half an answer"))
	dying.kill()

	r.takeOver()
	turn := r.ended(turnID)
	if turn.Status != parley.TurnCompleted || turn.Attempt != 2 || turn.Step != 1 {
		t.Errorf("turn %+v", turn)
	}
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "Go"},
		{parley.RoleAssistant, parley.MessageFailed, "Half an answer"},
		{parley.RoleAssistant, ok, "A whole answer."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
	const kept = "14 characters of this answer were kept; up to 16384 more may have been shown before its process died."
	if failed := r.messages(sessionID)[1]; failed.Error == nil || failed.Error.Detail != kept {
		t.Errorf("the message that was cut off says %+v; want %q", failed.Error, kept)
	}
	log := r.callLog(sessionID)
	if len(log) != 2 || log[0].Outcome != parley.CallInterrupted || log[1].Attempt != 2 ||
		log[0].MessageID == log[1].MessageID {
		t.Errorf("calls %+v", log)
	}
	asked := r.model.asked()
	if got := len(asked[len(asked)-1].Messages); got != 1 {
		t.Errorf("the second request holds %d messages; the failed one does not belong there", got)
	}
}

func TestTakeOverAtTheTools(t *testing.T) {
	ok := parley.MessageCompleted
	for _, c := range []struct {
		name        string
		annotations parley.ToolAnnotations
		runs        int
		result      string
	}{
		{"read-only runs again", parley.ToolAnnotations{ReadOnly: true}, 2, `"effect"`},
		{"idempotent runs again", parley.ToolAnnotations{Idempotent: true}, 2, `"effect"`},
		{"others never", parley.ToolAnnotations{Destructive: true}, 1, prompt.NoResult},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			var mu sync.Mutex // guards runs and keys
			runs := 0
			keys := map[string]bool{}
			reached := make(chan struct{})
			r.tools = fakeTools{
				{"act", c.annotations, func(ctx context.Context, call tool.Call) (json.RawMessage, error) {
					mu.Lock()
					runs++
					keys[call.Headers()[tool.IdempotencyKeyHeader]] = true
					first := runs == 1
					mu.Unlock()
					if first {
						close(reached)
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return json.RawMessage(`"effect"`), nil
				}},
			}
			dying := r.crashing()
			r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("Done."))
			sessionID := r.session(granted(parley.GrantAllow, "act"), nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.wait("the tool", reached)
			dying.kill()

			r.takeOver()
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Step != 2 {
				t.Errorf("turn %+v", turn)
			}
			want := []line{
				{parley.RoleUser, ok, "Go"},
				{parley.RoleAssistant, ok, ""},
				{parley.RoleToolCall, ok, "act {}"},
				{parley.RoleToolResult, ok, c.result},
				{parley.RoleAssistant, ok, "Done."},
			}
			if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
			mu.Lock()
			defer mu.Unlock()
			if runs != c.runs {
				t.Errorf("the tool ran %d times, want %d", runs, c.runs)
			}
			if len(keys) != 1 || keys[""] {
				t.Errorf("the attempts at one call have the keys %v", keys)
			}
			if got := r.model.sent(); got != 2 {
				t.Errorf("%d requests; a settled answer must never be requested again", got)
			}
		})
	}
}

// TestTakeOverBetweenTransactions kills a worker right before each write of a turn with a tool call, and lets another
// worker finish it.
func TestTakeOverBetweenTransactions(t *testing.T) {
	ok, failed := parley.MessageCompleted, parley.MessageFailed
	whole := []line{{parley.RoleUser, ok, "Go"}, {parley.RoleAssistant, ok, ""}, {parley.RoleToolCall, ok, "look {}"},
		{parley.RoleToolResult, ok, "1"}, {parley.RoleAssistant, ok, "Done."}}
	for _, c := range []struct {
		method string
		nth    int
		extra  line // a row that the crash leaves, before the given position
		at     int
		again  int // answers requested twice
	}{
		{"BeginStep", 1, line{}, 0, 1},
		{"OpenBlock", 1, line{parley.RoleAssistant, failed, ""}, 1, 1},
		{"SettleStep", 1, line{parley.RoleAssistant, failed, ""}, 1, 1},
		{"SettleTool", 1, line{}, 0, 0},
		{"BeginStep", 2, line{}, 0, 2},
		{"SettleStep", 2, line{parley.RoleAssistant, failed, ""}, 4, 2},
	} {
		t.Run(c.method, func(t *testing.T) {
			r := newRig(t)
			r.tools = fakeTools{
				{
					"look",
					readOnly(),
					func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage("1"), nil },
				},
			}
			dying := r.crashing()
			script := []answerFunc{calls(parley.FinishToolCalls, "look", "{}"), says("Done.")}
			switch c.again {
			case 1:
				r.model.play(script[0], script[0], script[1])
			case 2:
				r.model.play(script[0], script[1], script[1])
			default:
				r.model.play(script...)
			}
			dead := dying.killBefore(c.method, c.nth)
			sessionID := r.session(tooled("look"), nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.wait("the crash", dead)
			r.takeOver()
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Step != 2 {
				t.Errorf("turn %+v", turn)
			}
			got := r.record(sessionID)
			var rest []line
			for _, l := range got {
				if l.Status != failed {
					rest = append(rest, l)
				}
			}
			if diff := cmp.Diff(whole, rest); diff != "" {
				t.Error(diff)
			}
			if c.at > 0 && got[c.at].Status != failed {
				t.Errorf("row %d should be what the crash left: %+v", c.at, got)
			}
			for i, m := range r.messages(sessionID) {
				if m.Sequence != int64(i+1) {
					t.Errorf("sequence %d at position %d", m.Sequence, i+1)
				}
			}
		})
	}
}

// TestLostLease: a process that loses its lease aborts its runs, writes nothing more, and then works again under a new
// id.
func TestLostLease(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	var mu sync.Mutex // guards the two
	lost := false
	var after []string
	store.set(func(method string) error {
		mu.Lock()
		defer mu.Unlock()
		switch method {
		case "RenewLease":
			if lost {
				return parley.Errorf(parley.CodeFenced, "gone")
			}
		case "BeginStep", "SettleStep", "FinishTurn", "ReleaseTurn", "SettleTool":
			if lost {
				after = append(after, method)
			}
		}
		return nil
	})
	r.options.Lease = 600 * time.Millisecond
	w := r.start(store)
	reached := make(chan struct{})
	ended := make(chan struct{})
	r.model.play(func(ctx context.Context, yield func(model.Chunk, error) bool) {
		yield(text(0, "Half"), nil)
		close(reached)
		<-ctx.Done()
		yield(model.Chunk{}, context.Cause(ctx))
		close(ended)
	})
	before := w.currentLease()
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the stream", reached)
	r.happened(sessionID, parley.EventStepStarted)
	mu.Lock()
	lost = true
	mu.Unlock()
	r.wait("the abort", ended)
	if cause := context.Cause(before.ctx); !errors.Is(cause, ErrLeaseLost) {
		t.Errorf("the lease ended with %v", cause)
	}
	r.idleSlots(w)
	mu.Lock()
	if len(after) != 0 {
		t.Errorf("written without a lease: %v", after)
	}
	lost = false
	mu.Unlock()
	// The sweep finds the turn once the old lease has expired by the store's clock.
	r.model.play(says("A whole one."))
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Attempt < 2 {
		t.Errorf("turn %+v", turn)
	}
}

// TestStoppedPastTheLease: a process that was paused past its lease continues if nobody has taken over, and finds out
// if somebody has.
func TestStoppedPastTheLease(t *testing.T) {
	r := newRig(t)
	w := New(r.store, r.model, r.tools, r.hub, r.options) // registered only: this test renews the lease
	held, err := w.register(t.Context())
	r.must(err)
	defer held.end(ErrStopped)
	stopped := func() {
		t.Helper()
		_, err := r.store.RenewLease(t.Context(), held.id, 0) // expired by the store's clock
		r.must(err)
		held.prolong(time.Now().Add(-time.Second)) // and by this process's clock
	}
	stopped()
	if w.sweep() {
		t.Error("it swept before renewing its own lease")
	}
	old := held
	if held = w.renew(held); held == nil {
		t.Fatal("nobody had taken over, and the lease was given up")
	}
	if held.expired() || held != w.currentLease() {
		t.Error("a renewed lease counts as expired")
	}
	if !old.expired() {
		t.Error("what was claimed before counts as held: a sweep may have given some of it to others")
	}
	// It was stopped in the middle of a renewal that the store accepts afterwards.
	w.store = &faults{Store: r.store, hook: func(method string) error {
		if method == "RenewLease" {
			held.wall.Store(0)
		}
		return nil
	}}
	old = held
	if held = w.renew(held); held == nil || held.expired() || !old.expired() {
		t.Error("what was claimed before a stop in the middle of a renewal counts as held")
	}
	w.store = r.store
	stopped()
	_, err = r.store.Sweep(t.Context())
	r.must(err)
	if w.renew(held) != nil {
		t.Error("a lease that was swept counts as held")
	}
}

// TestNothingIsSentPastTheLease: a process that was stopped past its lease, while another one answered the turn, does
// not ask the model for it.
func TestNothingIsSentPastTheLease(t *testing.T) {
	r := newRig(t)
	over := &faults{Store: r.store}
	w := r.start(over)
	refused := make(chan struct{})
	over.set(func(method string) error {
		if method != "BeginStep" {
			return nil
		}
		defer close(refused)
		return parley.Errorf(parley.CodeFenced, "another process has the turn")
	})
	var asked atomic.Bool
	r.model.play(func(context.Context, func(model.Chunk, error) bool) { asked.Store(true) })
	session := r.session(parley.Settings{}, nil)
	w.currentLease().wall.Store(0)
	r.post(session, "Go", "")
	r.wait("BeginStep", refused)
	r.idleSlots(w)
	if asked.Load() {
		t.Error("the model was asked for a turn that another process has")
	}
}

// TestNothingIsSentAfterALateRenewal: a process that was stopped past its lease, and renewed it while a sweep was
// giving its turns to others, asks the store before the model in each turn that it had claimed before.
func TestNothingIsSentAfterALateRenewal(t *testing.T) {
	r := newRig(t)
	r.options.Lease = time.Hour // this test alone renews it
	over := &faults{Store: r.store}
	var w *Worker
	r.tools = fakeTools{{name: "look", call: func(context.Context, tool.Call) (json.RawMessage, error) {
		held := w.currentLease()
		held.wall.Store(0)
		if w.renew(held) == nil {
			t.Error("the lease is lost")
		}
		return json.RawMessage(`{}`), nil
	}}}
	w = r.start(over)
	refused := make(chan struct{})
	tells := sync.OnceFunc(func() { close(refused) })
	var steps atomic.Int64
	over.set(func(method string) error {
		if method != "BeginStep" || steps.Add(1) == 1 {
			return nil
		}
		defer tells()
		return parley.Errorf(parley.CodeFenced, "another process has the turn")
	})
	var asked atomic.Bool
	r.model.play(calls(parley.FinishToolCalls, "look", `{}`),
		func(context.Context, func(model.Chunk, error) bool) { asked.Store(true) })
	r.post(r.session(parley.Settings{Tools: &[]parley.ToolRef{{Name: "look"}}}, nil), "Go", "")
	r.wait("the second BeginStep", refused)
	r.idleSlots(w)
	if asked.Load() {
		t.Error("the model was asked for a turn that another process has")
	}
}

// TestDeadProcessIsSwept: another process takes over from a dead one by itself, soon after the lease has ended.
func TestDeadProcessIsSwept(t *testing.T) {
	r := newRig(t)
	dying := r.crashing()
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Half")), says("Whole."))
	turnID := r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID
	r.wait("the stream", reached)
	r.options.Lease = time.Hour // its next full sweep is half an hour away
	r.start(nil)
	dying.kill()
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Attempt != 2 {
		t.Errorf("turn %+v", turn)
	}
}

// TestFailedSweepIsTriedAgain: a process whose first sweep fails starts anyway, and later takes over what a dead one
// left.
func TestFailedSweepIsTriedAgain(t *testing.T) {
	r := newRig(t)
	dying := r.crashing()
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Half")), says("Whole."))
	turnID := r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID
	r.wait("the stream", reached)
	dying.kill()
	var failed atomic.Bool
	second := &faults{Store: r.store}
	second.set(func(method string) error {
		if method == "Sweep" && failed.CompareAndSwap(false, true) {
			return parley.Errorf(parley.CodeInternal, "a session that cannot be read")
		}
		return nil
	})
	r.start(second)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Attempt != 2 {
		t.Errorf("turn %+v", turn)
	}
	if !failed.Load() {
		t.Error("no sweep failed")
	}
}

// TestLostClaims: a claim whose answer was lost, of a post or of the claimer, is found and its turn resumes here;
// running turns are left alone.
func TestLostClaims(t *testing.T) {
	r := newRig(t)
	db := &faults{Store: r.store}
	r.options.Lease = crashLease
	w := r.start(db)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		close(reached)
		<-goOn
		_ = yield(text(0, "Slow."), nil) && yield(done(parley.FinishStop), nil)
	}, says("One."), says("Two."))
	slow := r.post(r.session(parley.Settings{}, nil), "Go", "")
	r.wait("the stream", reached)
	var once sync.Once
	db.set(func(method string) (err error) {
		if method == "Claimed" {
			once.Do(func() { err = parley.Errorf(parley.CodeUnavailable, "the connection broke") })
		}
		return err
	})
	claimed := r.postElsewhere(r.session(parley.Settings{}, nil), "Go")
	direct, err := r.store.PostMessage(
		t.Context(),
		r.scope,
		r.session(parley.Settings{}, nil),
		r.said("Go", ""),
		w.currentLease().id,
	)
	if err != nil || direct.Claim == nil {
		t.Fatalf("the post was not claimed: %v", err)
	}
	for _, posted := range []store.Posted{claimed, direct} {
		if turn := r.ended(
			posted.Turn.ID,
		); turn.Status != parley.TurnCompleted || turn.Attempt != 2 ||
			turn.Takeovers != 0 {
			t.Errorf("a turn whose claim was lost: %+v", turn)
		}
	}
	close(goOn)
	if turn := r.ended(slow.Turn.ID); turn.Status != parley.TurnCompleted || turn.Attempt != 1 {
		t.Errorf("a turn that ran all the time: %+v", turn)
	}
}

// TestTurnLongerThanTheLease: while an answer takes several leases without output, the process keeps its claim and no
// sweep takes the turn.
func TestTurnLongerThanTheLease(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	renewed := make(chan struct{}, 100)
	store.set(func(method string) error {
		if method == "RenewLease" {
			renewed <- struct{}{}
		}
		return nil
	})
	r.options.Lease = crashLease
	r.start(store)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		close(reached)
		<-goOn
		_ = yield(text(0, "At last."), nil) && yield(done(parley.FinishStop), nil)
	})
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the request", reached)
	for range 3*renewals + 1 {
		r.wait("a renewal", renewed)
	}
	touched, err := r.store.Sweep(t.Context())
	r.must(err)
	if touched != 0 {
		t.Error("a turn that runs was taken over")
	}
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || turn.Attempt != 1 {
		t.Errorf("the turn is %s after %d attempts", turn.Status, turn.Attempt)
	}
}

// TestFencedRunWritesNothing: another process took the claim while this one slept.
func TestFencedRunWritesNothing(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		yield(text(0, "Half"), nil)
		close(reached)
		<-goOn // ignores its context, like a stopped process
		_ = yield(text(0, " and more"), nil) && yield(done(parley.FinishStop), nil)
	})
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the stream", reached)
	r.running.Store(nil) // its hints are lost too
	_, err := r.store.RequestCancel(t.Context(), r.scope, sessionID, turnID, false)
	r.must(err)
	_, err = r.store.TakeCancel(t.Context(), r.scope, sessionID, turnID)
	r.must(err)
	taken := r.record(sessionID)
	close(goOn)
	r.idleSlots(r.worker)
	if diff := cmp.Diff(taken, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
	if turn := r.ended(turnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the turn is %s", turn.Status)
	}
}

// TestWriteWhoseAnswerWasLost: a write that the store took, but whose answer was lost, does not fail the turn: it
// resumes from its record.
func TestWriteWhoseAnswerWasLost(t *testing.T) {
	ok := parley.MessageCompleted
	for _, method := range []string{"SettledStep", "SettledTool"} {
		t.Run(method, func(t *testing.T) {
			r := newRig(t)
			store := &faults{Store: r.store}
			var once sync.Once
			store.set(func(called string) (err error) {
				if called == method {
					once.Do(func() { err = parley.Errorf(parley.CodeUnavailable, "the connection broke") })
				}
				return err
			})
			r.tools = fakeTools{
				{
					"look",
					parley.ToolAnnotations{ReadOnly: true},
					func(context.Context, tool.Call) (json.RawMessage, error) {
						return json.RawMessage(`1`), nil
					},
				},
			}
			r.start(store)
			r.model.play(calls(parley.FinishToolCalls, "look", `{}`), says("Done."))
			sessionID := r.session(tooled("look"), nil)
			if turn := r.ended(
				r.post(sessionID, "Go", "").Turn.ID,
			); turn.Status != parley.TurnCompleted || turn.Attempt != 2 ||
				turn.Takeovers != 0 {
				t.Errorf("turn %+v", turn)
			}
			want := []line{
				{parley.RoleUser, ok, "Go"},
				{parley.RoleAssistant, ok, ""},
				{parley.RoleToolCall, ok, "look {}"},
				{parley.RoleToolResult, ok, "1"},
				{parley.RoleAssistant, ok, "Done."},
			}
			if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
