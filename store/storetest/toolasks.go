package storetest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// asksItself is a question of a tool.
func asksItself(call string) store.Ask {
	ask := anHour()
	ask.ToolCallID, ask.Reason, ask.State = call, parley.AskedByTool, json.RawMessage(`{"state":"7"}`)
	ask.Question = &parley.ToolQuestion{Message: "Where?", Schema: new(json.RawMessage(`{"type":"object"}`))}
	return ask
}

// toolAsking has a turn wait for a question of its only call's tool.
func (w *world) toolAsking(t *testing.T) (claim store.Claim, call string, ask store.Ask) {
	t.Helper()
	claim = w.started(t, "one")
	call = w.callAsking(t, claim.Fence, 1, 1, nil)[0]
	ask = asksItself(call)
	must(t, "AskTool", w.store.AskTool(w.ctx, claim.Fence, ask))
	before := w.check(t, claim.Fence.SessionID)
	must(t, "AskTool again", w.store.AskTool(w.ctx, claim.Fence, ask))
	w.unchanged(t, "the same question", claim.Fence.SessionID, before)
	if !hasEvent(before.Events, parley.EventApprovalCreated, 1) {
		t.Error("the question is not announced once")
	}
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	w.claimsNothing(t)
	return claim, call, ask
}

func toolAsks(t *testing.T, w *world) {
	_, call, ask := w.toolAsking(t)
	lasting := yes()
	lasting.Scope = parley.ScopeSession
	_, err := w.store.DecideApproval(w.ctx, w.scope, ask.ApprovalID, lasting, parley.ID{})
	refused(t, "an answer for the session", err, parley.CodeInvalid)
	answer := yes()
	answer.Answer = json.RawMessage(`{"where":"here"}`)
	w.decide(t, ask.ApprovalID, answer)
	a := w.approval(t, ask.ApprovalID)
	if diff := cmp.Diff(ask.Question, a.Question); diff != "" || string(a.Answer) != `{"where":"here"}` ||
		string(a.Carried) != string(ask.State) || a.Reason != parley.AskedByTool {
		t.Errorf("the answered question is %+v\n%s", a, diff)
	}
	again := w.claim(t)
	use := []store.ApprovalUse{{ApprovalID: a.ID, Fingerprint: a.Fingerprint}}
	must(t, "UseApprovals", w.store.UseApprovals(w.ctx, again.Fence, use))
	second := asksItself(call)
	must(t, "a second AskTool", w.store.AskTool(w.ctx, again.Fence, second))
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	if n := len(state.Approvals); n != 2 || state.Approvals[1].ID != second.ApprovalID {
		t.Errorf("the turn's approvals are %+v", state.Approvals)
	}
	settle := w.toolSettle(1, call)
	settle.ApprovalID = second.ApprovalID
	_, err = w.store.SettleTool(w.ctx, again.Fence, settle)
	must(t, "SettleTool", err)
	if left := w.approval(t, second.ApprovalID); left.State != parley.ApprovalCancelled {
		t.Errorf("with a result the question is %s", left.State)
	}
	refused(t, "a question after the result",
		w.store.AskTool(w.ctx, again.Fence, asksItself(call)), parley.CodeConflict)
	w.answer(t, again, "done")
	w.check(t, again.Fence.SessionID)
}

func toolAsksAndIsDismissed(t *testing.T, w *world) {
	_, _, ask := w.toolAsking(t)
	a := w.decide(t, ask.ApprovalID, parley.Decision{Decision: parley.DecideDismiss}).Approval
	if a.State != parley.ApprovalExpired || a.DecidedBy == nil || a.Answer != nil {
		t.Errorf("the dismissed question is %+v", a)
	}
	again := w.claim(t)
	use := []store.ApprovalUse{{ApprovalID: a.ID, Fingerprint: a.Fingerprint}}
	must(t, "UseApprovals", w.store.UseApprovals(w.ctx, again.Fence, use))
}

func toolAsksInVain(t *testing.T, w *world) {
	claim, _, ask := w.toolAsking(t)
	refused(t, "a question without a claim",
		w.store.AskTool(w.ctx, claim.Fence, asksItself(ask.ToolCallID)), parley.CodeFenced)
	a := w.decide(t, ask.ApprovalID, no("")).Approval
	again := w.claim(t)
	use := []store.ApprovalUse{{ApprovalID: a.ID, Fingerprint: a.Fingerprint}}
	must(t, "UseApprovals", w.store.UseApprovals(w.ctx, again.Fence, use))
	refused(t, "a second use", w.store.UseApprovals(w.ctx, again.Fence, use), parley.CodeConflict)
}
