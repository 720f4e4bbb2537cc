package storetest

import (
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// overdue returns a turn that waits for an expired approval.
func (w *world) overdue(t reporter) (store.Claim, parley.ID) {
	t.Helper()
	claim := w.started(t, "one")
	ask := store.Ask{ApprovalID: parley.NewID()} // expires immediately
	w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	return claim, ask.ApprovalID
}

func approvalExpires(t *testing.T, w *world) {
	claim, id := w.overdue(t)
	_, _, other := w.asked(t)
	touched, err := w.store.Sweep(w.ctx)
	must(t, "Sweep", err)
	if touched != 1 {
		t.Errorf("the sweep touched %d sessions", touched)
	}
	a := w.approval(t, id)
	if a.State != parley.ApprovalExpired || a.DecidedAt == 0 || a.DecidedBy != nil {
		t.Errorf("the approval is %+v", a)
	}
	if a := w.approval(t, other); a.State != parley.ApprovalPending {
		t.Errorf("an approval with time left is %s", a.State)
	}
	again := w.claim(t)
	if again.Turn.ID != claim.Turn.ID {
		t.Errorf("a different turn runs: %+v", again.Turn)
	}
	if touched, err := w.store.Sweep(w.ctx); err != nil || touched != 0 {
		t.Errorf("a second sweep touched %d, %v", touched, err)
	}
	w.check(t, claim.Fence.SessionID)
}

func approvalTooLate(t *testing.T, w *world) {
	claim, id := w.overdue(t)
	before := w.check(t, claim.Fence.SessionID)
	_, err := w.store.DecideApproval(w.ctx, w.scope, id, w.decision(yes()), parley.ID{})
	conflicts(t, "a yes after the deadline", err, parley.ApprovalExpired)
	w.unchanged(t, "a yes after the deadline", claim.Fence.SessionID, before)
}

func approvalCancelled(t *testing.T, w *world) {
	claim, call, id := w.asked(t)
	session := claim.Fence.SessionID
	cancelled := w.cancel(t, session)
	if cancelled.Turn.Status != parley.TurnCancelled || len(cancelled.Settled) != 1 {
		t.Errorf("the cancel did %+v", cancelled)
	}
	if a := w.approval(t, id); a.State != parley.ApprovalCancelled || a.DecidedAt == 0 {
		t.Errorf("the approval is %+v", a)
	}
	result := w.message(t, cancelled.Settled[0])
	if result.ToolCallID != call || !jsonHas(result.Content, parley.NotDecided) {
		t.Errorf("the call's result is %s", result.Content)
	}
	before := w.check(t, session)
	_, err := w.store.DecideApproval(w.ctx, w.scope, id, w.decision(yes()), parley.ID{})
	conflicts(t, "an answer after the cancel", err, parley.ApprovalCancelled)
	w.unchanged(t, "an answer after the cancel", session, before)
	w.exchange(t, session, "and now?", "fine")
	w.check(t, session)
}

func jsonHas(content json.RawMessage, text string) bool {
	var result parley.ToolResultContent
	return json.Unmarshal(content, &result) == nil && result.Error != nil && *result.Error == text
}

func approvalTurnFails(t *testing.T, w *world) {
	claim := w.started(t, "one")
	ask := anHour()
	w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	_, err := w.store.FinishTurn(w.ctx, claim.Fence, *failed(parley.ClassLimit))
	must(t, "FinishTurn", err)
	if a := w.approval(t, ask.ApprovalID); a.State != parley.ApprovalCancelled {
		t.Errorf("with its turn failed the approval is %s", a.State)
	}
	w.check(t, claim.Fence.SessionID)
}

func approvalDeleted(t *testing.T, w *world) {
	claim, id := w.overdue(t)
	session := claim.Fence.SessionID
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	_, err := w.store.Approval(w.ctx, w.scope, id)
	refused(t, "reading one of a deleted session", err, parley.CodeNotFound)
	_, err = w.store.DecideApproval(w.ctx, w.scope, id, w.decision(yes()), parley.ID{})
	refused(t, "answering one of a deleted session", err, parley.CodeNotFound)
	if touched, err := w.store.Sweep(w.ctx); err != nil || touched != 0 {
		t.Errorf("the sweep touched %d of a deleted session, %v", touched, err)
	}
	if left, err := w.store.Approvals(w.ctx, w.scope, store.ApprovalQuery{Limit: 10}); err != nil || len(left) != 0 {
		t.Errorf("listed: %+v, %v", left, err)
	}
	w.drainOutbox(t)
}

func approvalByResult(t *testing.T, w *world) {
	claim := w.started(t, "one")
	ask := anHour()
	calls := w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	settle := w.toolSettle(1, calls[0])
	settle.ApprovalID = ask.ApprovalID
	_, err := w.store.SettleTool(w.ctx, claim.Fence, settle)
	must(t, "SettleTool", err)
	if a := w.approval(t, ask.ApprovalID); a.State != parley.ApprovalCancelled {
		t.Errorf("with a result the approval is %s", a.State)
	}
	w.answer(t, store.Claim{Fence: claim.Fence, Turn: parley.Turn{Step: 1}}, "done")
	w.check(t, claim.Fence.SessionID)
}

func approvalNoWayAround(t *testing.T, w *world) {
	claim, call, id := w.asked(t)
	before := w.check(t, claim.Fence.SessionID)
	_, err := w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, w.result(call), parley.ID{})
	conflicts(t, "a client's result for a call that waits for a yes", err, parley.ApprovalPending)
	w.unchanged(t, "a client's result for it", claim.Fence.SessionID, before)
	w.decide(t, id, yes())
	_, err = w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, w.result(call), parley.ID{})
	conflicts(t, "a client's result for a call that is about to run", err, parley.ApprovalApproved)
}
