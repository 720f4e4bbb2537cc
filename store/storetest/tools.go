package storetest

import (
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testTools(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AResultIsRecordedOnce":        toolOnce,
		"ResultsRace":                  toolRace,
		"AParkedTurnIsAnswered":        toolAnswered,
		"EveryCallMustBeAnswered":      toolAnsweredByTwo,
		"AnAnswerIsClaimedAtOnce":      toolAnswerClaimed,
		"ALateResultIsRefused":         toolLate,
		"AResultForAnEndedTurn":        toolEnded,
		"AnOutsideAgentsOwnCall":       toolOutside,
		"AnOrphanResultIsRefused":      toolOrphan,
		"AnswersRaceACancel":           toolAnswerRacesCancel,
		"AWaitingTurnKeepsItsPlace":    toolWaitingKeepsPlace,
		"AnAnswerIsIdempotent":         toolAnswerRepeated,
		"TheResumedTurnHasItsMessages": toolResume,
	})
}

func toolOnce(t *testing.T, w *world) {
	claim := w.started(t, "one")
	calls := w.callTools(t, claim.Fence, 1, 2)
	for i, call := range calls {
		settle := w.toolSettle(1, call)
		message, err := w.store.SettleTool(w.ctx, claim.Fence, settle)
		must(t, "SettleTool", err)
		if message.ID != settle.MessageID || message.Role != parley.RoleToolResult ||
			message.Status != parley.MessageCompleted ||
			message.ToolCallID != call ||
			message.Sequence != int64(5+i) ||
			string(message.Content) != string(settle.Content) ||
			message.TurnID != claim.Turn.ID {
			t.Errorf("the result is %+v", message)
		}
	}
	before := w.check(t, claim.Fence.SessionID)
	if !hasEvent(before.Events, parley.EventToolCompleted, 2) || !hasEvent(before.Events, parley.EventToolStarted, 2) {
		t.Errorf("each tool must be announced twice")
	}
	_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	refused(t, "a second result", err, parley.CodeConflict)
	w.unchanged(t, "a second result", claim.Fence.SessionID, before)
	if _, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, "call_unknown")); err == nil {
		t.Error("a result for no call is recorded")
	}
	w.unchanged(t, "a result for no call", claim.Fence.SessionID, before)
	w.answer(t, store.Claim{Fence: claim.Fence, Turn: parley.Turn{Step: 1}}, "done")
	w.check(t, claim.Fence.SessionID)
}

func toolRace(t *testing.T, w *world) {
	claim := w.started(t, "one")
	calls := w.callTools(t, claim.Fence, 1, 4)
	errs := make([]error, 16)
	atOnce(len(errs), func(i int) { _, errs[i] = w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[i%4])) })
	settled := 0
	for _, err := range errs {
		if err == nil {
			settled++
		} else {
			refused(t, "a second result", err, parley.CodeConflict)
		}
	}
	if settled != 4 {
		t.Errorf("%d results for 4 calls", settled)
	}
	w.check(t, claim.Fence.SessionID)
}

// parked returns a turn that waits for the results of n calls.
func (w *world) parked(t reporter, n int) (store.Claim, []string) {
	t.Helper()
	claim := w.started(t, "one")
	calls := w.callTools(t, claim.Fence, 1, n)
	turn, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	must(t, "ParkTurn", err)
	if turn.Status != parley.TurnWaiting || turn.WaitReason != parley.WaitToolResult {
		t.Fatalf("the parked turn is %+v", turn)
	}
	return claim, calls
}

func toolAnswered(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	session := claim.Fence.SessionID
	s := w.check(t, session)
	if s.Session.Status != parley.SessionWaiting || s.Session.WaitReason != parley.WaitToolResult ||
		!hasEvent(s.Events, parley.EventSessionWaiting, 1) {
		t.Errorf("the session is %s for %q", s.Session.Status, s.Session.WaitReason)
	}
	w.claimsNothing(t)
	_, err := w.store.FinishTurn(w.ctx, claim.Fence, *completed())
	refused(t, "the parked claim", err, parley.CodeFenced)
	posted := w.post(t, session, w.result(calls[0]))
	if posted.Message.Sequence != 4 || posted.Message.Role != parley.RoleToolResult ||
		posted.Message.TurnID != claim.Turn.ID ||
		posted.Turn == nil ||
		posted.Turn.ID != claim.Turn.ID ||
		posted.Turn.Status != parley.TurnQueued {
		t.Errorf("the answer is %+v, its turn %+v", posted.Message, posted.Turn)
	}
	w.check(t, session)
	again := w.claim(t)
	if again.Turn.ID != claim.Turn.ID || again.Turn.Attempt != 2 || again.Fence.Epoch <= claim.Fence.Epoch {
		t.Errorf("the resumed turn is %+v", again.Turn)
	}
	w.answer(t, again, "done")
	w.check(t, session)
}

func toolAnsweredByTwo(t *testing.T, w *world) {
	claim, calls := w.parked(t, 2)
	session := claim.Fence.SessionID
	w.post(t, session, w.result(calls[1]))
	if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnWaiting {
		t.Errorf("with one of two answers the turn is %s", turn.Status)
	}
	w.claimsNothing(t)
	w.check(t, session)
	before := w.snapshot(t, session)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.result(calls[1]), parley.ID{})
	refused(t, "a second answer to one call", err, parley.CodeConflict)
	w.unchanged(t, "a second answer to one call", session, before)
	w.post(t, session, w.result(calls[0]))
	w.answer(t, w.claim(t), "done")
	w.check(t, session)
}

func toolAnswerClaimed(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	posted, err := w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, w.result(calls[0]), w.process)
	must(t, "PostMessage", err)
	if posted.Claim == nil || posted.Claim.Turn.ID != claim.Turn.ID || posted.Claim.Turn.Attempt != 2 {
		t.Fatalf("the answer by a process with a free slot was not claimed: %+v", posted.Claim)
	}
	w.claimsNothing(t)
	w.answer(t, *posted.Claim, "done")
	w.check(t, claim.Fence.SessionID)
}

func toolLate(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	session := claim.Fence.SessionID
	_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
	must(t, "RequestCancel", err)
	before := w.check(t, session)
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.result(calls[0]), parley.ID{})
	refused(t, "a result after its turn was cancelled", err, parley.CodeConflict)
	w.unchanged(t, "a result after its turn was cancelled", session, before)
}

func toolEnded(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	calls := w.callTools(t, claim.Fence, 1, 1)
	_, err := w.store.FinishTurn(w.ctx, claim.Fence, *failed(parley.ClassLimit))
	must(t, "FinishTurn", err)
	before := w.check(t, session)
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.result(calls[0]), parley.ID{})
	refused(t, "a result for a call of an ended turn", err, parley.CodeConflict)
	w.unchanged(t, "a result for a call of an ended turn", session, before)
	w.post(t, session, w.say("two"))
	second := w.claim(t)
	_, err = w.store.PostMessage(w.ctx, w.scope, session, w.result(calls[0]), parley.ID{})
	refused(t, "a result for a call of an ended turn, during the next", err, parley.CodeConflict)
	w.answer(t, second, "2")
	w.claimsNothing(t)
	w.check(t, session)
}

func toolOutside(t *testing.T, w *world) {
	session := w.session(t)
	call := func(id string) store.NewMessage {
		return w.say("", alone, func(m *store.NewMessage) {
			m.Role, m.Content = parley.RoleToolCall, json.RawMessage(`{"arguments":{},"id":"`+id+`","name":"search"}`)
		})
	}
	w.post(t, session, call("outside_1"))
	result := w.post(t, session, w.result("outside_1"))
	if result.Message.Sequence != 2 || result.Message.ToolName != "search" || result.Turn != nil {
		t.Errorf("the outside agent's result is %+v", result.Message)
	}
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.result("outside_1"), parley.ID{})
	refused(t, "a second result for it", err, parley.CodeConflict)
	w.check(t, session)
	w.post(t, session, call("outside_2"))
	w.post(t, session, w.say("go"))
	claim := w.claim(t)
	queued := w.post(t, session, w.result("outside_2"))
	if queued.Message.Status != parley.MessageQueued {
		t.Errorf("during a turn the outside agent's result is %s", queued.Message.Status)
	}
	w.answer(t, claim, "ok")
	if s := w.check(t, session); len(s.Queue) != 0 || len(s.Record) != 6 {
		t.Errorf("after the turn %d are queued and %d recorded", len(s.Queue), len(s.Record))
	}
	w.claimsNothing(t)
}

func toolOrphan(t *testing.T, w *world) {
	idle := w.session(t)
	before := w.snapshot(t, idle)
	_, err := w.store.PostMessage(w.ctx, w.scope, idle, w.result("call_nobody_made"), parley.ID{})
	refused(t, "a result for no call", err, parley.CodeConflict)
	w.unchanged(t, "a result for no call", idle, before)
	claim, _ := w.parked(t, 1)
	before = w.snapshot(t, claim.Fence.SessionID)
	_, err = w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, w.result("call_nobody_made"), parley.ID{})
	refused(t, "a result for another call", err, parley.CodeConflict)
	w.unchanged(t, "a result for another call", claim.Fence.SessionID, before)
}

func toolAnswerRacesCancel(t *testing.T, w *world) {
	for range 12 {
		claim, calls := w.parked(t, 1)
		session := claim.Fence.SessionID
		var answer, cancel error
		atOnce(2, func(i int) {
			if i == 0 {
				_, answer = w.store.PostMessage(w.ctx, w.scope, session, w.result(calls[0]), parley.ID{})
			} else {
				_, cancel = w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
			}
		})
		must(t, "the cancel", cancel) // waiting or queued, so without a holder
		if answer != nil {
			refused(t, "the answer", answer, parley.CodeConflict)
		}
		if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnCancelled {
			t.Fatalf("the turn is %s; want cancelled, whichever came first", turn.Status)
		}
		w.check(t, session)
		w.exchange(t, session, "and now?", "fine") // no lasting conflict
		w.check(t, session)
	}
}

func toolWaitingKeepsPlace(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	session := claim.Fence.SessionID
	later := w.post(t, session, w.say("later"))
	if later.Message.Status != parley.MessageQueued {
		t.Fatalf("after a waiting turn a message is %s", later.Message.Status)
	}
	w.claimsNothing(t)
	w.post(t, session, w.result(calls[0]))
	again := w.claim(t)
	if again.Turn.ID != claim.Turn.ID {
		t.Errorf("turn %s runs; want the answered one first", again.Turn.ID)
	}
	w.answer(t, again, "done")
	if next := w.claim(t); next.Turn.ID != later.Turn.ID {
		t.Errorf("turn %s runs; want the later one", next.Turn.ID)
	}
	w.check(t, session)
}

func toolAnswerRepeated(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	result := func() store.NewMessage { m := w.result(calls[0]); keyed("k", "body")(&m); return m }
	first := w.post(t, claim.Fence.SessionID, result())
	again := w.post(t, claim.Fence.SessionID, result())
	if !again.Replayed || again.Message.ID != first.Message.ID {
		t.Errorf("the repeated answer is %+v; want the first one's", again)
	}
	w.check(t, claim.Fence.SessionID)
}

func toolResume(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	w.post(t, claim.Fence.SessionID, w.result(calls[0]))
	again := w.claim(t)
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	roles := ""
	for _, m := range state.Messages {
		roles += string(m.Role) + " "
	}
	if roles != "user assistant tool_call tool_result " || state.Messages[0].ID != claim.Trigger.ID ||
		again.Turn.Step != 1 {
		t.Errorf("the resumed turn has %sand is at step %d", roles, again.Turn.Step)
	}
	if state.Attempts != 1 {
		t.Errorf("step 1 has %d recorded calls; want 1", state.Attempts)
	}
	w.check(t, claim.Fence.SessionID)
}
