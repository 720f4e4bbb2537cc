package worker

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/model"
)

// TestLateFlushSparesTheNextTurn: a flush that reaches the store after its turn is over is fenced; the session's next
// turn, already running, is not.
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
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		if yield(text(0, "One."), nil) {
			<-flushing
			yield(done(parley.FinishStop), nil)
		}
	}, func(ctx context.Context, yield func(model.Chunk, error) bool) {
		if !yield(text(0, "Two."), nil) {
			return
		}
		close(late)
		select {
		case <-again:
			yield(done(parley.FinishStop), nil)
		case <-ctx.Done():
			yield(model.Chunk{}, context.Cause(ctx))
		}
	})
	sessionID := r.session(parley.Settings{}, nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if turn := r.ended(
		r.post(sessionID, "Go on", "").Turn.ID,
	); turn.Status != parley.TurnCompleted ||
		turn.Attempt != 1 {
		t.Errorf("the next turn is %s after %d attempts", turn.Status, turn.Attempt)
	}
}

// TestFlushWhoseAnswerWasLost: a flush that the store took, but whose answer was lost, is repeated unchanged, however
// far the text has come by then. Nothing is missing when another process settles the message from its versions.
func TestFlushWhoseAnswerWasLost(t *testing.T) {
	r := newRig(t)
	dying := r.crashing()
	lost, repeated := make(chan struct{}), make(chan struct{})
	flushes := 0 // by the flusher's one goroutine
	dying.set(func(method string) error {
		if method != "AppendedVersions" {
			return nil
		}
		switch flushes++; flushes {
		case 1:
			close(lost)
			return parley.Errorf(parley.CodeUnavailable, "the connection broke")
		case 3: // the repetition, and what has grown meanwhile
			close(repeated)
		}
		return nil
	})
	reached := r.saysInThree(lost, repeated)
	r.nothingIsMissing(dying, reached)
}

// saysInThree makes the model say "One, two, three", each further word after a flush, and then hang; another process
// gets "Again.".
func (r *rig) saysInThree(second, third <-chan struct{}) (reached chan struct{}) {
	reached = make(chan struct{})
	r.model.play(func(ctx context.Context, yield func(model.Chunk, error) bool) {
		next := "One, "
		for _, flush := range []<-chan struct{}{second, third} {
			if !yield(text(0, next), nil) {
				return
			}
			next = "two, "
			select {
			case <-flush:
			case <-ctx.Done():
				return
			}
		}
		if yield(text(0, "three"), nil) {
			close(reached)
			<-ctx.Done()
			yield(model.Chunk{}, context.Cause(ctx))
		}
	}, says("Again."))
	return reached
}

// nothingIsMissing runs such a turn, kills its process once everything is flushed, and expects all of it in the record
// after another process has settled it.
func (r *rig) nothingIsMissing(dying *faults, reached <-chan struct{}) {
	r.Helper()
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the stream", reached)
	r.flushed(dying, sessionID, 1, len("One, two, three"))
	dying.kill()
	r.takeOver()
	r.ended(turnID)
	want := []line{
		{parley.RoleUser, parley.MessageCompleted, "Go"},
		{parley.RoleAssistant, parley.MessageFailed, "One, two, three"},
		{parley.RoleAssistant, parley.MessageCompleted, "Again."},
	}
	if diff := cmp.Diff(want, r.record(sessionID)); diff != "" {
		r.Error(diff)
	}
}

// TestFlushOfALockedSession: text that the store could not take because its session was locked is written with a later
// flush, followed by the newer text. Nothing is missing when another process settles the message from its versions.
func TestFlushOfALockedSession(t *testing.T) {
	r := newRig(t)
	dying := r.crashing()
	skipped, grown := make(chan struct{}), make(chan struct{})
	flushes := 0 // by the flusher's one goroutine
	dying.set(func(method string) error {
		if method != "AppendVersions" {
			return nil
		}
		flushes++
		switch flushes {
		case 1:
			close(skipped)
		case 3:
			close(grown)
		}
		if flushes <= 5 {
			return errLocked
		}
		return nil
	})
	reached := r.saysInThree(skipped, grown)
	r.nothingIsMissing(dying, reached)
}

// TestShownTextIsBounded: watchers never see more than a bounded number of bytes that the store lacks, however fast the
// model and however rare the flushes.
func TestShownTextIsBounded(t *testing.T) {
	r := newRig(t)
	store := &faults{Store: r.store}
	var calls atomic.Int64 // the store is out of reach at first
	store.set(func(method string) error {
		if calls.Add(1) <= 3 && method == "AppendVersions" {
			return errLocked
		}
		return nil
	})
	r.options.StoreFlush = time.Hour
	r.start(store)
	reached, enough := make(chan struct{}), make(chan struct{})
	long := strings.Repeat(
		"ö",
		3*parley.MaxUnkept/2,
	) // each piece ends one byte into a character
	r.model.play(func(_ context.Context, yield func(model.Chunk, error) bool) {
		for _, piece := range []string{"x", long, "Well.", long} {
			if !yield(text(0, piece), nil) {
				return
			}
		}
		close(reached)
		<-enough
		yield(done(parley.FinishStop), nil)
	})
	sessionID := r.session(parley.Settings{}, nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the answer", reached)
	messages := r.messages(sessionID)
	versions, err := r.store.Versions(r.Context(), r.scope, messages[len(messages)-1].ID)
	r.must(err)
	said := len("x") + 2*len(long) + len("Well.")
	if n := len(versions); n == 0 || said-versions[n-1].End > parley.MaxUnkept {
		t.Errorf("of %d bytes that were shown the store has %+v", said, versions)
	}
	close(enough)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("the turn is %s: %+v", turn.Status, turn.Error)
	}
	if answer := r.record(sessionID)[1].Says; answer != "x"+long+"Well."+long {
		t.Errorf("the answer has %d bytes; want %d", len(answer), said)
	}
}
