package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/runner"
	"example.org/parley/runner/standard"
	"example.org/parley/store"
	"example.org/parley/tool"
)

func TestSlots(t *testing.T) {
	r := newRig(t)
	r.options.Slots = 2
	w := New(r.store, r.model, r.tools, r.hub, r.options) // registered only: this test is the only claimer
	held, err := w.register(t.Context())
	r.must(err)
	defer held.end(ErrStopped)
	mine, other := r.scope.WorkspaceID, parley.NewID()
	a, okA := w.Offer(mine)
	b, okB := w.Offer(mine)
	if _, more := w.Offer(mine); !okA || !okB || more {
		t.Errorf("offers of two slots: %v %v %v", okA, okB, more)
	}
	c, ok := w.Offer(other)
	if !ok {
		t.Fatal("the slot kept for others was not offered to another workspace")
	}
	if _, ok := w.Offer(parley.NewID()); ok {
		t.Error("more slots were offered than exist")
	}
	a.Release()
	if _, ok := w.Offer(mine); ok {
		t.Error("a post was offered a slot before older waiting turns")
	}
	if w.claimOnce() {
		t.Error("more was claimed than exists")
	}
	c.Release()
	w.claimOnce()
	d, ok := w.Offer(mine)
	if !ok || d.ProcessID() != held.id {
		t.Error("a released slot was not offered again")
	}
	b.Release()
	d.Release()
	if w.places.Taken != 0 || len(w.places.Held) != 0 {
		t.Errorf("after all were released: %+v", w.places)
	}
	if got := w.Runtimes(); !cmp.Equal(got, []string{parley.StandardRuntime}) {
		t.Errorf("runtimes %v", got)
	}
	if w.Cancel(parley.NewID()) != nil {
		t.Error("a turn that does not run here was cancelled")
	}
}

// TestPlacesOfDeliveries: a turn that a delivery starts gets a place only while nobody can be waiting that comes first:
// not beyond the share of background work, not the last place, and not while the claimer has something to look at.
func TestPlacesOfDeliveries(t *testing.T) {
	r := newRig(t)
	r.options.Slots = 4
	w := New(r.store, r.model, r.tools, r.hub, r.options) // registered only: this test is the only claimer
	if w.backgroundPlace() != nil {
		t.Error("a place without a lease")
	}
	held, err := w.register(t.Context())
	r.must(err)
	defer held.end(ErrStopped)
	a, b := w.backgroundPlace(), w.backgroundPlace()
	if a != held || b != held || w.backgroundPlace() != nil {
		t.Fatal("of four slots, background work did not get two")
	}
	w.settlePlace(a, nil)
	if w.backgroundPlace() != nil {
		t.Error("a place of the share was offered before what waits for it")
	}
	w.claimOnce()
	if w.backgroundPlace() != nil {
		t.Error("a place was offered while the claimer has been told to look")
	}
	<-w.claimNow
	w.settlePlace(b, nil)
	var posts []runner.Slot
	for range 3 {
		slot, ok := w.Offer(r.scope.WorkspaceID)
		if !ok {
			t.Fatal("a free slot was not offered")
		}
		posts = append(posts, slot)
	}
	if w.backgroundPlace() != nil {
		t.Error("the last place was offered")
	}
	for _, slot := range posts {
		slot.Release()
	}
	w.places.Slots = 2 * store.MaxClaims // so that a claim leaves places
	if n, _, _ := w.reserve(); n == 0 || w.backgroundPlace() != nil {
		t.Error("a place was offered while the claimer claims")
	} else {
		w.claimed(n, nil, false)
	}
	if place := w.backgroundPlace(); place == nil {
		t.Error("a place that nobody else can want was not offered")
	} else {
		w.settlePlace(place, nil)
	}
	if w.places.Taken != 0 || w.places.Background != 0 || len(w.places.Held) != 0 {
		t.Errorf("after all were released: %+v", w.places)
	}
}

// TestANewcomerDoesNotWait: one workspace's turns hang in every slot and more of them wait; the first turn of another
// workspace runs, whether its post or the claimer takes it.
func TestANewcomerDoesNotWait(t *testing.T) {
	for _, slots := range []int{1, 2, 64} {
		for _, direct := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d slots, claimed by the post: %v", slots, direct), func(t *testing.T) {
				r := newRig(t)
				r.options.Slots = slots
				r.options.Drain = time.Millisecond
				w := r.start(nil)
				busy := make(chan struct{}, slots)
				hang := func(ctx context.Context, yield func(model.Chunk, error) bool) {
					busy <- struct{}{}
					<-ctx.Done()
					yield(model.Chunk{}, context.Cause(ctx))
				}
				for range slots {
					r.model.play(hang)
				}
				for range slots + 3 {
					r.post(r.session(parley.Settings{}, nil), "Long", "")
				}
				for range slots {
					<-busy
				}
				other := r.neighbour("other")
				r.model.play(says("At once."))
				session := other.session(parley.Settings{}, nil)
				var turn parley.ID
				if direct {
					turn = other.post(session, "Short", "").Turn.ID
				} else {
					turn = other.postElsewhere(session, "Short").Turn.ID
				}
				if ended := other.ended(turn); ended.Status != parley.TurnCompleted {
					t.Errorf("the newcomer's turn is %s: %+v", ended.Status, ended.Error)
				}
				if got := r.model.sent(); got != slots+1 {
					t.Errorf("%d requests; %d slots and the newcomer's", got, slots)
				}
				r.stop(w)
			})
		}
	}
}

// TestQueuedTurnsRunOneAfterTheOther through one slot, over several sessions.
func TestQueuedTurnsRunOneAfterTheOther(t *testing.T) {
	r := newRig(t)
	r.options.Slots = 1
	r.start(nil)
	var mu sync.Mutex // guards the two
	inside, most := 0, 0
	var turns []parley.ID
	for range 3 {
		sessionID := r.session(parley.Settings{}, nil)
		for range 3 {
			r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				_ = yield(text(0, "x"), nil) && yield(done(parley.FinishStop), nil)
				mu.Lock()
				inside--
				mu.Unlock()
			})
			turns = append(turns, r.post(sessionID, "Go", "").Turn.ID)
		}
	}
	for _, id := range turns {
		if turn := r.ended(id); turn.Status != parley.TurnCompleted {
			t.Errorf("turn %s", turn.Status)
		}
	}
	if most != 1 {
		t.Errorf("%d turns in parallel in one slot", most)
	}
}

func TestDrainLetsTurnsFinish(t *testing.T) {
	r := newRig(t)
	w := r.start(nil)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		yield(text(0, "To the "), nil)
		close(reached)
		<-goOn
		_ = yield(text(0, "end."), nil) && yield(done(parley.FinishStop), nil)
	})
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the stream", reached)
	stopped := make(chan struct{})
	go func() { r.stop(w); close(stopped) }() // ends with the drain
	r.wait("the drain to begin", w.stopping)
	if _, ok := w.Offer(r.scope.WorkspaceID); ok {
		t.Error("a draining worker offers a slot")
	}
	close(goOn)
	r.wait("the drain", stopped)
	turn, err := r.store.Turn(t.Context(), r.scope, turnID)
	r.must(err)
	if turn.Status != parley.TurnCompleted {
		t.Errorf("the turn is %s", turn.Status)
	}
}

// TestDrainGivesBackWhatDoesNotFinish: the text is kept, and the turn resumes in the next process without counting as a
// crash.
func TestDrainGivesBackWhatDoesNotFinish(t *testing.T) {
	r := newRig(t)
	r.options.Drain = -1
	r.options.StoreFlush = time.Hour // only the drain flushes
	w := r.start(nil)
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Half")), says("Whole."))
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the stream", reached)
	r.stop(w)
	turn, err := r.store.Turn(t.Context(), r.scope, turnID)
	r.must(err)
	if turn.Status != parley.TurnQueued {
		t.Errorf("a released turn is %s", turn.Status)
	}
	r.start(nil)
	turn = r.ended(turnID)
	if turn.Status != parley.TurnCompleted || turn.Takeovers != 0 {
		t.Errorf("turn %+v", turn)
	}
	ok := parley.MessageCompleted
	want := []line{
		{parley.RoleUser, ok, "Go"},
		{parley.RoleAssistant, parley.MessageFailed, "Half"},
		{parley.RoleAssistant, ok, "Whole."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		t.Error(diff)
	}
}

func TestStoreFlushAppends(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	r.options.StoreFlush = time.Millisecond
	r.start(store)
	wrote := make(chan struct{}, 1000)
	store.set(func(method string) error {
		if method == "AppendedVersions" {
			wrote <- struct{}{}
		}
		return nil
	})
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		for _, piece := range []string{"Grü", "ße ", "🌍"} {
			if !yield(text(0, piece), nil) {
				return
			}
			<-wrote
		}
		yield(done(parley.FinishStop), nil)
	})
	sessionID := r.session(parley.Settings{}, nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	versions, err := r.store.Versions(t.Context(), r.scope, r.messages(sessionID)[1].ID)
	r.must(err)
	var got strings.Builder
	end := 0
	for i, v := range versions {
		if v.N != i+1 || v.Offset != end {
			t.Errorf("version %d begins at %d, want %d", v.N, v.Offset, end)
		}
		end = v.End
		got.WriteString(v.Text)
	}
	if got.String() != "Grüße 🌍" || len(versions) < 3 {
		t.Errorf("%d versions make %q", len(versions), got.String())
	}
}

// TestFullDisk: a write that finds no room is repeated until there is some; a step that cannot begin fails its turn;
// the session works again.
func TestFullDisk(t *testing.T) {
	full := parley.Errorf(parley.CodeStorageFull, "no room")
	for _, c := range []struct {
		method string
		times  int
		status parley.TurnStatus
	}{
		{"SettleStep", 3, parley.TurnCompleted},
		{"SettleStep", persistTries, parley.TurnFailed},
		{"BeginStep", 1, parley.TurnFailed},
		{"SettleTool", 2, parley.TurnCompleted},
		{"OpenBlock", 1, parley.TurnFailed},
	} {
		t.Run(c.method, func(t *testing.T) {
			r := newRig(t)
			store := &faults{Store: r.store}
			var mu sync.Mutex // guards left
			left := c.times
			store.set(func(method string) error {
				mu.Lock()
				defer mu.Unlock()
				if method == c.method && left > 0 {
					left--
					return full
				}
				return nil
			})
			r.tools = fakeTools{
				{
					"look",
					readOnly(),
					func(context.Context, tool.Call) (json.RawMessage, error) { return json.RawMessage("1"), nil },
				},
			}
			r.start(store)
			r.model.play(calls(parley.FinishToolCalls, "look", "{}"), says("Done."))
			sessionID := r.session(tooled("look"), nil)
			turn := r.ended(r.post(sessionID, "Go", "").Turn.ID)
			if turn.Status != c.status {
				t.Errorf("the turn is %s (%+v), want %s", turn.Status, turn.Error, c.status)
			}
			if turn.Error != nil && !strings.Contains(turn.Error.Sentence, "disk is full") {
				t.Errorf("the error says %q", turn.Error.Sentence)
			}
			r.model.mu.Lock()
			r.model.answers = nil
			r.model.mu.Unlock()
			r.model.play(says("Again."))
			if turn := r.ended(r.post(sessionID, "More", "").Turn.ID); turn.Status != parley.TurnCompleted {
				t.Errorf("the next turn is %s", turn.Status)
			}
		})
	}
}

// TestDatabaseOutOfReach: a turn whose step could not begin because the database was unreachable resumes when it is
// back; if it never is, the turn fails.
func TestDatabaseOutOfReach(t *testing.T) {
	for name, c := range map[string]struct {
		times  int // number of times that a step cannot begin
		status parley.TurnStatus
	}{
		"for a while": {2, parley.TurnCompleted},
		"for good":    {maxRestarts, parley.TurnFailed},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			store := &faults{Store: r.store}
			var mu sync.Mutex // guards left
			left := c.times
			store.set(func(method string) error {
				mu.Lock()
				defer mu.Unlock()
				if method == "BeginStep" && left > 0 {
					left--
					return parley.Errorf(parley.CodeUnavailable, "no database")
				}
				return nil
			})
			r.start(store)
			for range c.times + 1 {
				r.model.play(says("Here."))
			}
			turn := r.ended(r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID)
			if turn.Status != c.status || turn.Takeovers != 0 || turn.Attempt != min(c.times+1, maxRestarts) {
				t.Errorf(
					"the turn is %s after %d attempts and %d takeovers (%+v)",
					turn.Status,
					turn.Attempt,
					turn.Takeovers,
					turn.Error,
				)
			}
		})
	}
}

// brokenRuntime panics in the middle of a turn.
type brokenRuntime struct{ standard.Runtime }

func (brokenRuntime) Name() string              { return "broken" }
func (brokenRuntime) RunTurn(runner.Turn) error { panic("oh") }

func TestPanicInARuntimeFailsItsTurnAlone(t *testing.T) {
	r := newRig(t)
	r.agent.Runtime = "broken"
	var err error
	r.agent, err = r.store.UpdateAgent(t.Context(), r.agent)
	r.must(err)
	r.options.Runtimes = []runner.Runtime{brokenRuntime{}}
	r.start(nil)
	turn := r.ended(r.post(r.session(parley.Settings{}, nil), "Go", "").Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error.Class != parley.ClassInternal ||
		strings.Contains(turn.Error.Sentence, "oh") {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
}

func TestDeletedSessionStopsItsRun(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "Half")))
	sessionID := r.session(parley.Settings{}, nil)
	r.post(sessionID, "Go", "")
	r.wait("the stream", reached)
	r.must(r.store.DeleteSession(t.Context(), r.scope, sessionID))
	r.idleSlots(r.worker)
}
