package storetest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testCancelling(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"NothingEverRan":              cancelNothing,
		"ATurnThatNobodyHolds":        cancelQueuedTurn,
		"AWaitingTurn":                cancelWaiting,
		"TheHolderSettles":            cancelHeld,
		"TakenFromTheHolder":          cancelTaken,
		"TakenWithOpenTools":          cancelTakenTools,
		"TakenAfterItFinished":        cancelTakenLate,
		"FinishedBefore":              cancelFinished,
		"CancelledBefore":             cancelTwice,
		"ItsProofStays":               cancelProof,
		"QueuedTurnsStay":             cancelKeepsQueue,
		"AnUnbegunTurnIsKeptInWords":  cancelUnbegun,
		"QueuedTurnsToo":              cancelQueueToo,
		"QueuedSteersToo":             cancelSteersToo,
		"OneQueuedTurn":               cancelOneQueued,
		"OneQueuedTurnWithOthers":     cancelOneWithOthers,
		"AReleasedFlaggedTurn":        cancelReleased,
		"CancelsRaceTheHoldersSettle": cancelRace,
		"AnUnknownTurn":               cancelUnknown,
	})
}

func (w *world) cancel(t reporter, session parley.ID) store.Cancelled {
	t.Helper()
	cancelled, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	return cancelled
}

func cancelNothing(t *testing.T, w *world) {
	session := w.session(t)
	for range 2 {
		_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, true)
		refused(t, "a cancel where nothing ran", err, parley.CodeNothingToCancel)
		w.post(t, session, w.say("note", alone))
	}
	w.check(t, session)
}

func cancelQueuedTurn(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	cancelled := w.cancel(t, session)
	if cancelled.Held || cancelled.Before || cancelled.Turn.ID != posted.Turn.ID ||
		cancelled.Turn.Status != parley.TurnCancelled {
		t.Errorf("the cancel gives %+v; want it settled at once", cancelled)
	}
	w.claimsNothing(t)
	if s := w.check(t, session); s.Session.Status != parley.SessionCancelled {
		t.Errorf("the session is %s", s.Session.Status)
	}
	w.exchange(t, session, "two", "2")
	w.check(t, session)
}

// cancelUnbegun: a turn that is stopped between the end of the previous one and its own claim leaves its message in the
// record, as it would a moment later.
func cancelUnbegun(t *testing.T, w *world) {
	for name, stop := range map[string]func(parley.ID, store.Posted){
		"cancelled": func(session parley.ID, _ store.Posted) { w.cancel(t, session) },
		"interrupted": func(session parley.ID, _ store.Posted) {
			w.post(t, session, w.say("three", during(parley.DuringInterrupt)))
		},
		"passed over": func(_ parley.ID, later store.Posted) { w.send(t, later.Message.ID, parley.DuringInterrupt) },
	} {
		claim := w.started(t, "one")
		session := claim.Fence.SessionID
		second := w.post(t, session, w.say("two"))
		later := w.post(t, session, w.say("three"))
		w.answer(t, claim, "1")
		stop(session, later)
		s := w.check(t, session)
		if got := w.message(
			t,
			second.Message.ID,
		); got.Sequence != 3 || got.Status != parley.MessageCompleted ||
			len(s.Record) < 3 {
			t.Errorf(
				"%s before it began, the message is %s with the sequence %d; want it in the record",
				name,
				got.Status,
				got.Sequence,
			)
		}
		next := w.claim(t)
		if next.Fence.SessionID != session ||
			string(next.Trigger.Content) != `{"parts":[{"text":"three","type":"text"}]}` {
			t.Errorf("%s, the turn of %s comes next", name, next.Trigger.Content)
		}
		w.answer(t, next, "3")
		if name == "interrupted" {
			w.answer(t, w.claim(t), "3 again")
		}
		w.check(t, session)
	}
}

// cancelProof: the turn keeps what its cancel settled, and a repeated cancel finds it, even when it names no turn and
// the cancel took others with it.
func cancelProof(t *testing.T, w *world) {
	claim, calls := w.parked(t, 2)
	session := claim.Fence.SessionID
	w.post(t, session, w.result(calls[0]))
	queued := w.post(t, session, w.say("later"))
	first, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, true)
	must(t, "RequestCancel", err)
	proof := parley.ValueOf(first.Turn.Cancelled)
	if proof.By != parley.ByCanceller || len(proof.Settled) != 1 ||
		w.message(t, proof.Settled[0]).ToolCallID != calls[1] ||
		!slices.Equal(proof.Removed, []parley.ID{queued.Message.ID}) ||
		!slices.Equal(proof.Turns, []parley.ID{queued.Turn.ID}) {
		t.Errorf("the cancel settled %+v", proof)
	}
	again, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, true)
	must(t, "RequestCancel", err)
	if diff := cmp.Diff(first.Turn, again.Turn); diff != "" || !again.Before {
		t.Errorf("repeated, the cancel returns (-first +again):\n%s", diff)
	}
	if kept := w.turn(t, queued.Turn.ID).Cancelled; kept == nil || kept.With != claim.Turn.ID {
		t.Errorf("the queued turn keeps %+v", kept)
	}
	w.check(t, session)
}

func cancelWaiting(t *testing.T, w *world) {
	claim, calls := w.parked(t, 2)
	session := claim.Fence.SessionID
	w.post(t, session, w.result(calls[0]))
	cancelled := w.cancel(t, session)
	if cancelled.Held || cancelled.Turn.Status != parley.TurnCancelled {
		t.Errorf("the cancel gives %+v", cancelled)
	}
	s := w.check(t, session)
	checkUnknownEffect(t, s, calls[1])
	w.exchange(t, session, "two", "2")
	w.check(t, session)
}

// checkUnknownEffect requires a result that says that the call was interrupted.
func checkUnknownEffect(t reporter, s Snapshot, call string) {
	t.Helper()
	for _, m := range s.Record {
		if m.Role != parley.RoleToolResult || m.ToolCallID != call {
			continue
		}
		var content parley.ToolResultContent
		if err := json.Unmarshal(
			m.Content,
			&content,
		); err != nil || content.Success || content.Error == nil ||
			!strings.Contains(*content.Error, "unknown") {
			t.Errorf(
				"the open call was settled as %s, %v; want an error that says its effect is unknown",
				m.Content,
				err,
			)
		}
		return
	}
	t.Errorf("the open call %s has no result", call)
}

func cancelHeld(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	cancelled := w.cancel(t, session)
	if !cancelled.Held || cancelled.Turn.ID != claim.Turn.ID || len(cancelled.Settled) != 0 ||
		cancelled.Turn.Status != parley.TurnRunning {
		t.Fatalf("the cancel of a held turn gives %+v", cancelled)
	}
	again := w.cancel(t, session)
	if !again.Held {
		t.Errorf("asking again gives %+v", again)
	}
	cancels, err := w.store.RenewLease(w.ctx, w.process, longLease)
	if err != nil || len(cancels) != 1 || cancels[0] != claim.Turn.ID {
		t.Errorf("the holder learns of %v, %v", cancels, err)
	}
	settle := settlement(begin, "half")
	settle.Call.Outcome, settle.Blocks[0].Status, settle.End = parley.CallCancelled, parley.MessageCancelled,
		&store.TurnEnd{
			Status: parley.TurnCancelled,
		}
	w.settle(t, claim.Fence, settle)
	cancels, err = w.store.RenewLease(w.ctx, w.process, longLease)
	if err != nil || len(cancels) != 0 {
		t.Errorf("after the settle the holder still learns of %v, %v", cancels, err)
	}
	s := w.check(t, session)
	if s.Session.Status != parley.SessionCancelled ||
		string(s.Record[1].Content) != `{"parts":[{"text":"half","type":"text"}]}` ||
		!hasEvent(s.Events, parley.EventStepError, 1) {
		t.Errorf("the session is %s, the message %s", s.Session.Status, s.Record[1].Content)
	}
}

func cancelTaken(t *testing.T, w *world) {
	tape := w.record()
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, "Hello ")
	w.flush(t, claim.Fence, begin.Call.MessageID, 2, 6, "wör")
	w.cancel(t, session)
	taken, err := w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	if taken.Turn.Status != parley.TurnCancelled || len(taken.Settled) != 1 ||
		taken.Settled[0] != begin.Call.MessageID {
		t.Errorf("the taken cancel gives %+v", taken)
	}
	tape.find(t, "the cancel under a later epoch", func(c store.Commit) bool {
		return c.SessionID == session && len(c.Settled) == 1 && c.Epoch > claim.Fence.Epoch
	})
	s := w.check(t, session)
	if m := s.Record[1]; m.Status != parley.MessageCancelled ||
		string(m.Content) != `{"parts":[{"text":"Hello wör","type":"text"}]}` {
		t.Errorf("the message is %s with %s; want its versions' text", m.Status, m.Content)
	}
	if s.Calls[0].Outcome != parley.CallCancelled {
		t.Errorf("the call is %s", s.Calls[0].Outcome)
	}
	_, err = w.store.SettleStep(w.ctx, claim.Fence, settlement(begin, "late"))
	refused(t, "the old holder's settle", err, parley.CodeFenced)
	w.exchange(t, session, "two", "2")
	w.check(t, session)
}

func cancelTakenTools(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	calls := w.callTools(t, claim.Fence, 1, 2)
	_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	w.cancel(t, session)
	_, err = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	checkUnknownEffect(t, w.check(t, session), calls[1])
}

func cancelTakenLate(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.cancel(t, session)
	w.answer(t, claim, "done already")
	before := w.snapshot(t, session)
	taken, err := w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	if taken.Turn.Status != parley.TurnCompleted || len(taken.Settled) != 0 {
		t.Errorf("the taken cancel of a finished turn gives %+v", taken)
	}
	w.unchanged(t, "a taken cancel of a finished turn", session, before)
	w.exchange(t, session, "two", "2") // the flag is gone with its turn
	w.check(t, session)
}

func cancelFinished(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.exchange(t, session, "one", "1")
	before := w.snapshot(t, session)
	for _, turn := range []parley.ID{{}, posted.Turn.ID} {
		_, err := w.store.RequestCancel(w.ctx, w.scope, session, turn, false)
		refused(t, "a cancel of a finished turn", err, parley.CodeConflict)
		if !strings.Contains(err.Error(), "completed") {
			t.Errorf("the refusal does not name the state: %v", err)
		}
	}
	w.unchanged(t, "a cancel of a finished turn", session, before)
}

func cancelTwice(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	w.cancel(t, session)
	before := w.snapshot(t, session)
	for _, turn := range []parley.ID{{}, posted.Turn.ID} {
		again, err := w.store.RequestCancel(w.ctx, w.scope, session, turn, false)
		if err != nil || !again.Before || again.Turn.ID != posted.Turn.ID || again.Held {
			t.Errorf("a second cancel gives %+v, %v; want the same turn, cancelled before", again, err)
		}
	}
	w.unchanged(t, "a second cancel", session, before)
}

func cancelKeepsQueue(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("one"))
	second := w.post(t, session, w.say("two"))
	w.cancel(t, session)
	w.check(t, session)
	if next := w.claim(t); next.Turn.ID != second.Turn.ID || next.Trigger.Sequence != 2 {
		t.Errorf("after the cancel turn %s runs; want the queued one", next.Turn.ID)
	}
	w.check(t, session)
}

func cancelQueueToo(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	second, third := w.post(t, session, w.say("two")), w.post(t, session, w.say("three"))
	cancelled, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, true)
	must(t, "RequestCancel", err)
	if !cancelled.Held {
		t.Errorf("the cancel gives %+v", cancelled)
	}
	_, err = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	for _, id := range []parley.ID{claim.Turn.ID, second.Turn.ID, third.Turn.ID} {
		if turn := w.turn(t, id); turn.Status != parley.TurnCancelled {
			t.Errorf("turn %s is %s", id, turn.Status)
		}
	}
	w.claimsNothing(t)
	if s := w.check(t, session); len(s.Queue) != 0 || s.Session.Status != parley.SessionCancelled {
		t.Errorf("%d are queued, the session is %s", len(s.Queue), s.Session.Status)
	}
	w.exchange(t, session, "four", "4")
	w.check(t, session)
}

func cancelSteersToo(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	steer := w.steer(t, session, "also")
	_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, true)
	must(t, "RequestCancel", err)
	_, err = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	if kept := w.message(t, steer.ID); kept.Status != parley.MessageCancelled {
		t.Errorf("the steer is %s; it would run as a turn of its own", kept.Status)
	}
	w.claimsNothing(t)
	w.check(t, session)
}

// cancelOneWithOthers: the proof of a queued turn's cancel names its own message and those of the turns that it took
// with it.
func cancelOneWithOthers(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	second := w.post(t, session, w.say("two"))
	third := w.post(t, session, w.say("three"))
	cancelled, err := w.store.RequestCancel(w.ctx, w.scope, session, second.Turn.ID, true)
	must(t, "RequestCancel", err)
	proof := parley.ValueOf(cancelled.Turn.Cancelled)
	if !slices.Equal(proof.Removed, []parley.ID{third.Message.ID, second.Message.ID}) ||
		!slices.Equal(proof.Turns, []parley.ID{third.Turn.ID}) {
		t.Errorf("the cancel took %+v", proof)
	}
	w.answer(t, claim, "1")
	w.check(t, session)
}

func cancelOneQueued(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	second := w.post(t, session, w.say("two"))
	cancelled, err := w.store.RequestCancel(w.ctx, w.scope, session, second.Turn.ID, false)
	if err == nil {
		if cancelled.Held || cancelled.Turn.ID != second.Turn.ID || cancelled.Turn.Status != parley.TurnCancelled {
			t.Errorf("a cancel of a queued turn gives %+v", cancelled)
		}
		if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnRunning {
			t.Errorf("the running turn is %s", turn.Status)
		}
	} else {
		refused(t, "a cancel of a queued turn", err, parley.CodeConflict)
	}
	w.check(t, session)
	w.answer(t, claim, "1")
	w.check(t, session)
}

func cancelReleased(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.cancel(t, session)
	must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, claim.Fence))
	switch turn := w.turn(t, claim.Turn.ID); turn.Status {
	case parley.TurnCancelled:
		w.claimsNothing(t)
	case parley.TurnQueued:
		cancelled := w.cancel(t, session)
		if cancelled.Turn.Status != parley.TurnCancelled {
			t.Errorf("the released turn is not cancelled: %+v", cancelled)
		}
	default:
		t.Errorf("the released turn is %s", turn.Status)
	}
	w.check(t, session)
}

func cancelRace(t *testing.T, w *world) {
	for range 12 {
		claim := w.started(t, "one")
		session := claim.Fence.SessionID
		begin := w.begin(t, claim.Fence, 1)
		w.cancel(t, session)
		settle := settlement(begin, "half")
		settle.Call.Outcome, settle.Blocks[0].Status, settle.End = parley.CallCancelled, parley.MessageCancelled,
			&store.TurnEnd{
				Status: parley.TurnCancelled,
			}
		var taken store.Cancelled
		var holder, canceller error
		atOnce(2, func(i int) {
			if i == 0 {
				_, holder = w.store.SettleStep(w.ctx, claim.Fence, settle)
			} else {
				taken, canceller = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
			}
		})
		must(t, "TakeCancel", canceller)
		if holder != nil {
			refused(t, "the holder's settle", holder, parley.CodeFenced)
		}
		if (holder != nil) != (len(taken.Settled) == 1) {
			t.Errorf("holder: %v; the canceller settled %v: want exactly one of them", holder, taken.Settled)
		}
		w.check(t, session)
	}
}

func cancelUnknown(t *testing.T, w *world) {
	claim := w.started(t, "one")
	other := w.started(t, "two")
	for name, turn := range map[string]parley.ID{"unknown": parley.NewID(), "of another session": other.Turn.ID} {
		before := w.snapshot(t, claim.Fence.SessionID)
		_, err := w.store.RequestCancel(w.ctx, w.scope, claim.Fence.SessionID, turn, false)
		refused(t, "a cancel of a turn that is "+name, err, parley.CodeNotFound)
		w.unchanged(t, "a cancel of a turn that is "+name, claim.Fence.SessionID, before)
	}
}
