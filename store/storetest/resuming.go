package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testResuming(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AFailedTurnIsTriedAgain":      retryFailed,
		"ACancelledTurnIsTriedAgain":   retryCancelled,
		"ARetryIsTriedAgain":           retryChain,
		"WhatIsNotTriedAgain":          retryRefused,
		"ARepeatedRetryIsTheFirst":     retryRepeated,
		"FiftyRetriesMakeOneTurn":      retryConcurrently,
		"ALimitIsGoneBeyond":           continueLimit,
		"AWaitingTurnGoesOn":           continueWaiting,
		"WhatIsNotContinued":           continueRefused,
		"ForeignScopesResumeNothing":   resumeForeign,
		"ASteerWaitsForTheFirstStep":   steerBeforeTheFirstStep,
		"AnArchivedSessionStaysAsItIs": resumeArchived,
	})
}

// broken returns a session whose turn failed at its second step, after a tool.
func (w *world) broken(t reporter, class parley.ErrorClass) store.Claim {
	t.Helper()
	claim := w.started(t, "one")
	for _, call := range w.callTools(t, claim.Fence, 1, 1) {
		_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, call))
		must(t, "SettleTool", err)
	}
	settle := settlement(w.begin(t, claim.Fence, 2), "half")
	settle.End = failed(class)
	settle.Call.Outcome, settle.Blocks[0].Status, settle.Blocks[0].Error = parley.CallFailed, parley.MessageFailed,
		settle.End.Failure
	w.settle(t, claim.Fence, settle)
	return claim
}

func (w *world) again(key string) store.TurnAgain {
	again := store.TurnAgain{TurnID: parley.NewID()}
	if key != "" {
		again.Idempotency = store.Idempotency{Key: key, Fingerprint: parley.HashOf([]byte(key))}
	}
	return again
}

func (w *world) retry(t reporter, session, turn parley.ID) store.TurnResumed {
	t.Helper()
	resumed, err := w.store.RetryTurn(w.ctx, w.scope, session, turn, w.again(""), parley.ID{})
	must(t, "RetryTurn", err)
	return resumed
}

func retryFailed(t *testing.T, w *world) {
	claim := w.broken(t, parley.ClassStream)
	session := claim.Fence.SessionID
	before := w.check(t, session)
	resumed, err := w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again(""), w.process)
	must(t, "RetryTurn", err)
	if resumed.Claim == nil || resumed.Claim.Turn.ID != resumed.Turn.ID ||
		resumed.Claim.Trigger.ID != claim.Trigger.ID ||
		resumed.Claim.Turn.Attempt != 1 {
		t.Fatalf("with a free slot the retry is %+v", resumed)
	}
	if turn := w.turn(
		t,
		resumed.Turn.ID,
	); turn.ContinuesID != claim.Turn.ID || turn.TriggerMessageID != claim.Trigger.ID ||
		turn.Status != parley.TurnRunning {
		t.Errorf("the retry is %+v", turn)
	}
	if resumed.EventSequence != before.Session.LastEvent || resumed.Replayed {
		t.Errorf(
			"the retry reports event %d; the last was %d",
			resumed.EventSequence,
			before.Session.LastEvent,
		)
	}
	s := w.check(t, session)
	if len(s.Record) != len(before.Record) || s.Session.Status != parley.SessionRunning {
		t.Errorf("the retry wrote %d messages, the session is %s", len(s.Record)-len(before.Record), s.Session.Status)
	}
	w.answer(t, *resumed.Claim, "at last")
	if s = w.check(
		t,
		session,
	); s.Session.Status != parley.SessionCompleted ||
		w.turn(t, claim.Turn.ID).Status != parley.TurnFailed {
		t.Errorf("after the retry the session is %s", s.Session.Status)
	}
}

func retryCancelled(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.begin(t, claim.Fence, 1)
	_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	_, err = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
	must(t, "TakeCancel", err)
	resumed := w.retry(t, session, claim.Turn.ID)
	if resumed.Turn.Status != parley.TurnQueued || resumed.Claim != nil {
		t.Errorf("with no process named the retry is %+v", resumed)
	}
	w.check(t, session)
	queued := w.post(t, session, w.say("two")) // after the retry
	if next := w.claim(t); next.Turn.ID != resumed.Turn.ID || next.Turn.ContinuesID != claim.Turn.ID {
		t.Fatalf("turn %+v runs", next.Turn)
	} else {
		w.answer(t, next, "1")
	}
	if next := w.claim(t); next.Turn.ID != queued.Turn.ID || !next.Turn.ContinuesID.IsZero() {
		t.Errorf("turn %+v follows", next.Turn)
	}
	w.check(t, session)
}

func retryChain(t *testing.T, w *world) {
	claim := w.broken(t, parley.ClassNetwork)
	session := claim.Fence.SessionID
	w.post(t, session, w.say("a note", alone)) // not part of the turn
	first := w.retry(t, session, claim.Turn.ID)
	_, err := w.store.FinishTurn(w.ctx, w.claim(t).Fence, *failed(parley.ClassNetwork)) // before it wrote anything
	must(t, "FinishTurn", err)
	before := w.check(t, session)
	_, err = w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again(""), parley.ID{})
	refused(t, "retrying a retried turn", err, parley.CodeConflict)
	w.unchanged(t, "retrying a retried turn", session, before)
	second := w.retry(t, session, first.Turn.ID)
	if turn := w.turn(
		t,
		second.Turn.ID,
	); turn.ContinuesID != first.Turn.ID ||
		turn.TriggerMessageID != claim.Trigger.ID {
		t.Errorf("the second retry is %+v", turn)
	}
	w.answer(t, w.claim(t), "at last")
	w.check(t, session)
}

func retryRefused(t *testing.T, w *world) {
	session := w.session(t)
	done := w.exchange(t, session, "zero", "0")
	claim := w.broken(t, parley.ClassNetwork)
	busy := claim.Fence.SessionID
	queued := w.post(t, busy, w.say("two"))
	running := w.claim(t)
	behind := w.post(t, busy, w.say("three"))
	_, err := w.store.RemoveQueued(w.ctx, w.scope, behind.Message.ID)
	must(t, "RemoveQueued", err)
	for name, c := range map[string]struct {
		session, turn parley.ID
		state         parley.TurnStatus
	}{
		"a completed turn":           {session, done.Turn.ID, parley.TurnCompleted},
		"a running turn":             {busy, queued.Turn.ID, parley.TurnRunning},
		"one before an unfinished":   {busy, claim.Turn.ID, parley.TurnRunning},
		"one that was taken back":    {busy, behind.Turn.ID, parley.TurnRunning},
		"one of an unfinished other": {busy, claim.Turn.ID, parley.TurnRunning},
	} {
		before := w.snapshot(t, c.session)
		_, err := w.store.RetryTurn(w.ctx, w.scope, c.session, c.turn, w.again(""), w.process)
		refused(t, "retrying "+name, err, parley.CodeConflict)
		if known, ok := err.(*parley.Error); !ok || //nolint:errorlint // not wrapped
			known.State != string(c.state) {
			t.Errorf("retrying %s: %v names the state %q", name, err, known.State)
		}
		w.unchanged(t, "retrying "+name, c.session, before)
	}
	w.answer(t, running, "2")
	_, err = w.store.RetryTurn(w.ctx, w.scope, busy, claim.Turn.ID, w.again(""), w.process)
	refused(t, "retrying an earlier turn", err, parley.CodeConflict)
	_, err = w.store.RetryTurn(w.ctx, w.scope, busy, behind.Turn.ID, w.again(""), w.process)
	refused(t, "retrying a turn that never entered the record", err, parley.CodeConflict)
	_, err = w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again(""), w.process)
	refused(t, "retrying another session's turn", err, parley.CodeNotFound)
	w.check(t, busy)
}

func retryRepeated(t *testing.T, w *world) {
	claim := w.broken(t, parley.ClassNetwork)
	session := claim.Fence.SessionID
	first, err := w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again("k"), parley.ID{})
	must(t, "RetryTurn", err)
	before := w.check(t, session)
	for range 2 { // while it runs, and when it has ended
		repeat, err := w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again("k"), w.process)
		must(t, "the repeat", err)
		if !repeat.Replayed || repeat.Turn.ID != first.Turn.ID || repeat.EventSequence != first.EventSequence ||
			repeat.Claim != nil {
			t.Errorf("the repeat gives %+v; want %+v", repeat, first)
		}
		w.unchanged(t, "a repeat", session, before)
		if before.Session.Status == parley.SessionRunning {
			w.answer(t, w.claim(t), "at last")
			before = w.check(t, session)
		}
	}
	other := w.again("k")
	other.Idempotency.Fingerprint = parley.HashOf([]byte("other"))
	_, err = w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, other, parley.ID{})
	refused(t, "another request under the key", err, parley.CodeKeyReused)
}

func retryConcurrently(t *testing.T, w *world) {
	const n = 50
	claim := w.broken(t, parley.ClassNetwork)
	session := claim.Fence.SessionID
	resumed, errs := make([]store.TurnResumed, n), make([]error, n)
	atOnce(n, func(i int) {
		resumed[i], errs[i] = w.store.RetryTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again("k"), parley.ID{})
	})
	for i := range n {
		must(t, "a concurrent retry", errs[i])
		if resumed[i].Turn.ID != resumed[0].Turn.ID {
			t.Fatalf("two retries made the turns %s and %s", resumed[i].Turn.ID, resumed[0].Turn.ID)
		}
	}
	if s := w.check(t, session); len(s.Turns) != 2 {
		t.Errorf("there are %d turns", len(s.Turns))
	}
}

func continueLimit(t *testing.T, w *world) {
	claim := w.broken(t, parley.ClassLimit)
	session := claim.Fence.SessionID
	resumed, err := w.store.ContinueTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again("k"), w.process)
	must(t, "ContinueTurn", err)
	if resumed.Claim == nil || resumed.Turn.ContinuesID != claim.Turn.ID || resumed.Turn.Step != 0 {
		t.Fatalf("the turn resumed as %+v", resumed)
	}
	w.answer(t, *resumed.Claim, "done")
	w.check(t, session)
	repeat, err := w.store.ContinueTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again("k"), w.process)
	if err != nil || !repeat.Replayed || repeat.Turn.ID != resumed.Turn.ID {
		t.Errorf("the repeat gives %+v, %v", repeat, err)
	}
}

func continueWaiting(t *testing.T, w *world) {
	for _, reason := range []parley.WaitReason{parley.WaitBudget, parley.WaitRateLimit} {
		claim := w.started(t, "one")
		session := claim.Fence.SessionID
		_, err := w.store.ParkTurn(w.ctx, claim.Fence, reason)
		must(t, "ParkTurn", err)
		before := w.check(t, session)
		resumed, err := w.store.ContinueTurn(w.ctx, w.scope, session, claim.Turn.ID, w.again(""), w.process)
		must(t, "ContinueTurn", err)
		if resumed.Turn.ID != claim.Turn.ID || resumed.Claim == nil || resumed.Claim.Turn.Attempt != 2 ||
			resumed.EventSequence != before.Session.LastEvent {
			t.Fatalf("the waiting turn resumed as %+v", resumed)
		}
		w.answer(t, *resumed.Claim, "done")
		w.check(t, session)
	}
}

func continueRefused(t *testing.T, w *world) {
	broken := w.broken(t, parley.ClassNetwork)
	session := w.session(t)
	done := w.exchange(t, session, "zero", "0")
	waits := w.started(t, "one")
	w.callTools(t, waits.Fence, 1, 1)
	_, err := w.store.ParkTurn(w.ctx, waits.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	running := w.started(t, "one")
	for name, c := range map[string]struct{ session, turn parley.ID }{
		"a turn that failed otherwise":    {broken.Fence.SessionID, broken.Turn.ID},
		"a completed turn":                {session, done.Turn.ID},
		"a turn that waits for something": {waits.Fence.SessionID, waits.Turn.ID},
		"a running turn":                  {running.Fence.SessionID, running.Turn.ID},
	} {
		before := w.snapshot(t, c.session)
		_, err := w.store.ContinueTurn(w.ctx, w.scope, c.session, c.turn, w.again(""), w.process)
		refused(t, "continuing "+name, err, parley.CodeConflict)
		w.unchanged(t, "continuing "+name, c.session, before)
	}
}

func resumeForeign(t *testing.T, w *world) {
	claim := w.broken(t, parley.ClassLimit)
	before := w.snapshot(t, claim.Fence.SessionID)
	for name, scope := range map[string]store.Scope{
		"another workspace": w.neighbour(t, "other").scope,
		"another principal": {WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()},
	} {
		_, err := w.store.RetryTurn(w.ctx, scope, claim.Fence.SessionID, claim.Turn.ID, w.again(""), parley.ID{})
		refused(t, "a retry from "+name, err, parley.CodeNotFound)
		_, err = w.store.ContinueTurn(w.ctx, scope, claim.Fence.SessionID, claim.Turn.ID, w.again(""), parley.ID{})
		refused(t, "going on from "+name, err, parley.CodeNotFound)
	}
	w.unchanged(t, "a foreign retry", claim.Fence.SessionID, before)
}

func resumeArchived(t *testing.T, w *world) {
	claim := w.broken(t, parley.ClassLimit)
	yes := true
	_, err := w.store.UpdateSession(w.ctx, w.scope, claim.Fence.SessionID, store.SessionChange{Archived: &yes})
	must(t, "UpdateSession", err)
	before := w.snapshot(t, claim.Fence.SessionID)
	_, err = w.store.RetryTurn(w.ctx, w.scope, claim.Fence.SessionID, claim.Turn.ID, w.again(""), parley.ID{})
	refused(t, "a retry", err, parley.CodeArchived)
	w.unchanged(t, "a retry", claim.Fence.SessionID, before)
}

// steerBeforeTheFirstStep: a claim says that a steer came before the turn began.
func steerBeforeTheFirstStep(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("one"))
	w.steer(t, session, "also")
	if claim := w.claim(t); !claim.Steers {
		t.Error("the claim does not report the steer")
	}
	if claim := w.started(t, "one"); claim.Steers {
		t.Error("a claim reports a steer that does not exist")
	}
}
