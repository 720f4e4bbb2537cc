package storetest

import (
	"encoding/json"
	"testing"

	"example.org/parley"
)

func testBoundaries(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"FinishGoesOnForASteer":        boundaryFinish,
		"SettleGoesOnForASteer":        boundarySettle,
		"AFailureTurnsASteerIntoATurn": boundaryFailedSteer,
		"ACancelKeepsASteer":           boundaryCancelledSteer,
		"ParkRefusesWhenNothingIsOpen": boundaryPark,
		"ASteerWaitsWithTheTurn":       boundaryParkSteer,
		"ASteerAfterACrashWaits":       boundaryParkSteerAfterCrash,
		"ParkingWhenAskedToStop":       boundaryParkFlagged,
		"AnEditedSteerIsReadAgain":     boundaryEditedSteer,
		"ARemovedSteerIsReadAgain":     boundaryRemovedSteer,
		"SteersEnterInTheirOrder":      boundarySteerOrder,
		"SteersWaitBehindOpenTools":    boundarySteerBetweenCallAndResult,
		"ASteerOfAWaitingTurn":         boundarySteerWaiting,
	})
}

func (w *world) steer(t reporter, session parley.ID, text string) parley.Message {
	t.Helper()
	return w.post(t, session, w.say(text, during(parley.DuringSteer))).Message
}

func boundaryFinish(t *testing.T, w *world) {
	claim := w.started(t, "one")
	steer := w.steer(t, claim.Fence.SessionID, "also")
	before := w.snapshot(t, claim.Fence.SessionID)
	finished, err := w.store.FinishTurn(w.ctx, claim.Fence, *completed())
	must(t, "FinishTurn", err)
	if !finished.More || finished.Turn.Status != parley.TurnRunning {
		t.Fatalf("with a steer undelivered FinishTurn gives %+v; want more", finished)
	}
	w.unchanged(t, "FinishTurn with a steer undelivered", claim.Fence.SessionID, before)
	begin := w.begin(t, claim.Fence, 1, steer)
	settle := settlement(begin, "both")
	settle.End = completed()
	if settled := w.settle(t, claim.Fence, settle); settled.More || settled.Turn.Status != parley.TurnCompleted {
		t.Errorf("with the steer delivered the turn does not end: %+v", settled)
	}
	w.check(t, claim.Fence.SessionID)
}

func boundarySettle(t *testing.T, w *world) {
	claim := w.started(t, "one")
	begin := w.begin(t, claim.Fence, 1)
	steer := w.steer(t, claim.Fence.SessionID, "also")
	settle := settlement(begin, "first")
	settle.End = completed()
	settled := w.settle(t, claim.Fence, settle)
	if !settled.More || settled.Turn.Status != parley.TurnRunning {
		t.Fatalf("with a steer undelivered the settle gives %+v; want more", settled)
	}
	s := w.check(t, claim.Fence.SessionID)
	if s.Record[1].Status != parley.MessageCompleted || len(s.Queue) != 1 {
		t.Errorf("the step did not settle: %+v", s.Record[1])
	}
	second := w.begin(t, claim.Fence, 2, steer)
	settle = settlement(second, "second")
	settle.End = completed()
	if settled := w.settle(t, claim.Fence, settle); settled.More {
		t.Error("the delivered steer still keeps the turn from ending")
	}
	s = w.check(t, claim.Fence.SessionID)
	if len(s.Record) != 4 || s.Record[2].ID != steer.ID || s.Record[2].Status != parley.MessageCompleted ||
		s.Record[2].TurnID != claim.Turn.ID {
		t.Errorf("the record is %+v", s.Record)
	}
}

func boundaryFailedSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	queued := w.post(t, session, w.say("queued before"))
	steer := w.steer(t, session, "also")
	settle := settlement(begin, "")
	settle.End = failed(parley.ClassModel)
	settle.Call.Outcome, settle.Blocks[0].Status, settle.Blocks[0].Error = parley.CallFailed, parley.MessageFailed,
		settle.End.Failure
	if settled := w.settle(t, claim.Fence, settle); settled.More || settled.Turn.Status != parley.TurnFailed {
		t.Fatalf("a failed turn with a steer undelivered: %+v; want it failed", settled)
	}
	s := w.check(t, session)
	if len(s.Queue) != 2 || len(s.Turns) != 3 {
		t.Fatalf(
			"%d are queued and there are %d turns; want the steer with a turn of its own",
			len(s.Queue),
			len(s.Turns),
		)
	}
	triggers := map[parley.ID]bool{}
	for range 2 {
		next := w.claim(t)
		triggers[next.Trigger.ID] = true
		w.answer(t, next, "ok")
	}
	if !triggers[steer.ID] || !triggers[queued.Message.ID] {
		t.Errorf("the steer and the queued message did not both run")
	}
	w.check(t, session)
}

func boundaryCancelledSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.begin(t, claim.Fence, 1)
	steer := w.steer(t, session, "also")
	_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	_, err = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	w.check(t, session)
	if kept := w.message(t, steer.ID); kept.Status == parley.MessageQueued {
		if next := w.claim(t); next.Trigger.ID != steer.ID {
			t.Errorf("the steer is queued and never runs")
		}
	}
	w.check(t, session)
}

func boundaryPark(t *testing.T, w *world) {
	claim := w.started(t, "one")
	before := w.snapshot(t, claim.Fence.SessionID)
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	refused(t, "parking with no call open", err, parley.CodeMore)
	w.unchanged(t, "parking with no call open", claim.Fence.SessionID, before)
	calls := w.callTools(t, claim.Fence, 1, 1)
	_, err = w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	before = w.snapshot(t, claim.Fence.SessionID)
	_, err = w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	refused(t, "parking with every call answered", err, parley.CodeMore)
	w.unchanged(t, "parking with every call answered", claim.Fence.SessionID, before)
}

func boundaryParkSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	w.callTools(t, claim.Fence, 1, 1)
	w.steer(t, claim.Fence.SessionID, "also")
	turn, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	if steers, err := w.store.PendingSteers(w.ctx, claim.Fence); turn.Status != parley.TurnWaiting || err == nil {
		t.Errorf("the turn is %s, and the process that parked it reads %d steers", turn.Status, len(steers))
	}
	w.check(t, claim.Fence.SessionID)
}

// boundaryParkSteerAfterCrash was found by the property tests: a process dies with an open call, a steer arrives, and
// the process that takes the turn over parks it.
func boundaryParkSteerAfterCrash(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	calls := w.callTools(t, claim.Fence, 1, 1)
	w.expire(t, w.process)
	w.process = w.register(t)
	steer := w.steer(t, session, "also")
	again := w.claim(t)
	_, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	turn, err := w.store.ParkTurn(w.ctx, again.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	if s := w.check(t, session); turn.Status != parley.TurnWaiting || len(s.Queue) != 1 {
		t.Fatalf(
			"the turn is %s and %d messages are queued; want it waiting, with the steer behind its call",
			turn.Status,
			len(s.Queue),
		)
	}
	w.post(t, session, w.result(calls[0]))
	last := w.claim(t)
	begin := w.begin(t, last.Fence, 2, steer)
	settle := settlement(begin, "both")
	settle.End = completed()
	if settled := w.settle(t, last.Fence, settle); settled.Turn.Status != parley.TurnCompleted {
		t.Errorf("with the result and the steer delivered the turn is %s", settled.Turn.Status)
	}
	if s := w.check(t, session); len(s.Record) != 6 || s.Record[4].ID != steer.ID {
		t.Errorf("the record has %d messages; want the steer behind the result", len(s.Record))
	}
}

func boundaryParkFlagged(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.callTools(t, claim.Fence, 1, 1)
	urgent := w.post(t, session, w.say("stop that", during(parley.DuringInterrupt)))
	turn, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	if turn.Status != parley.TurnCancelled {
		t.Errorf("a turn that was asked to stop parked and is %s; nothing would ever stop it", turn.Status)
	}
	if next := w.claim(t); next.Turn.ID != urgent.Turn.ID {
		t.Errorf("turn %s runs; want the interrupting one", next.Turn.ID)
	}
	w.check(t, session)
}

func boundaryEditedSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	steer := w.steer(t, claim.Fence.SessionID, "also")
	_, err := w.store.EditQueued(w.ctx, w.scope, w.owner.ID, steer.ID, json.RawMessage(`{"text":"changed"}`))
	must(t, "EditQueued", err)
	before := w.snapshot(t, claim.Fence.SessionID)
	_, err = w.store.BeginStep(w.ctx, claim.Fence, w.stepBegin(1, 1, steer))
	refused(t, "a step that shows an edited steer", err, parley.CodeMore)
	w.unchanged(t, "a step that shows an edited steer", claim.Fence.SessionID, before)
	steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
	must(t, "PendingSteers", err)
	begun, err := w.store.BeginStep(w.ctx, claim.Fence, w.stepBegin(1, 1, steers...))
	must(t, "BeginStep", err)
	if len(begun.Steered) != 1 || string(begun.Steered[0].Content) != `{"text":"changed"}` {
		t.Errorf("the steer enters as %+v", begun.Steered)
	}
	w.check(t, claim.Fence.SessionID)
}

func boundaryRemovedSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	steer := w.steer(t, claim.Fence.SessionID, "also")
	_, err := w.store.RemoveQueued(w.ctx, w.scope, steer.ID)
	must(t, "RemoveQueued", err)
	before := w.snapshot(t, claim.Fence.SessionID)
	_, err = w.store.BeginStep(w.ctx, claim.Fence, w.stepBegin(1, 1, steer))
	refused(t, "a step that shows a removed steer", err, parley.CodeMore)
	w.unchanged(t, "a step that shows a removed steer", claim.Fence.SessionID, before)
}

func boundarySteerOrder(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	first := w.steer(t, session, "first")
	queued := w.post(t, session, w.say("queued"))
	second := w.steer(t, session, "second")
	steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
	must(t, "PendingSteers", err)
	if len(steers) != 2 || steers[0].ID != first.ID || steers[1].ID != second.ID {
		t.Fatalf("PendingSteers reads %+v", steers)
	}
	w.begin(t, claim.Fence, 1, steers...)
	s := w.check(t, session)
	if len(s.Record) != 4 || s.Record[1].ID != first.ID || s.Record[2].ID != second.ID || len(s.Queue) != 1 ||
		s.Queue[0].ID != queued.Message.ID {
		t.Errorf("the record has %d messages and the queue %d", len(s.Record), len(s.Queue))
	}
}

func boundarySteerBetweenCallAndResult(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	calls := w.callTools(t, claim.Fence, 1, 1)
	steer := w.steer(t, session, "also")
	note := w.post(t, session, w.say("note", alone)).Message
	if steer.Sequence != 0 || note.Sequence != 0 {
		t.Fatal("something entered between a call and its result")
	}
	result, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	if result.Sequence != 4 {
		t.Errorf("the result has sequence %d; want 4, right after its call", result.Sequence)
	}
	begin := w.begin(t, claim.Fence, 2, steer)
	settle := settlement(begin, "ok")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)
	if s := w.check(t, session); len(s.Record) != 7 || s.Record[6].ID != note.ID {
		t.Errorf("the record has %d messages", len(s.Record))
	}
}

func boundarySteerWaiting(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	calls := w.callTools(t, claim.Fence, 1, 1)
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	steer := w.steer(t, session, "also")
	if steer.Status != parley.MessageQueued {
		t.Fatalf("a steer of a waiting turn is %s", steer.Status)
	}
	w.claimsNothing(t)
	w.check(t, session)
	w.post(t, session, w.result(calls[0]))
	again := w.claim(t)
	steers, err := w.store.PendingSteers(w.ctx, again.Fence)
	if err != nil || len(steers) != 1 || steers[0].ID != steer.ID {
		t.Errorf("the resumed turn's steers are %+v, %v", steers, err)
	}
	w.check(t, session)
}
