package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func approvalWhileRunning(t *testing.T, w *world) {
	claim := w.started(t, "one")
	ask := anHour()
	calls := w.callAsking(t, claim.Fence, 1, 2, map[int]store.Ask{1: ask})
	if decided := w.decide(t, ask.ApprovalID, yes()); decided.Claim != nil {
		t.Error("a turn that runs was claimed again")
	}
	_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	_, err = w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	refused(t, "parking after the answer", err, parley.CodeMore)
	must(
		t,
		"UseApprovals",
		w.store.UseApprovals(
			w.ctx,
			claim.Fence,
			[]store.ApprovalUse{{ApprovalID: ask.ApprovalID, Fingerprint: w.approval(t, ask.ApprovalID).Fingerprint}},
		),
	)
	w.check(t, claim.Fence.SessionID)
}

func approvalMixed(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	first, second := anHour(), anHour()
	calls := w.callAsking(t, claim.Fence, 1, 4, map[int]store.Ask{1: first, 2: second})
	_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	_, err = w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	w.post(t, session, w.result(calls[3])) // a client's result
	w.claimsNothing(t)
	if s := w.sessionState(t, session); s.WaitReason != parley.WaitApproval {
		t.Errorf("with a client's answer the session waits for %q", s.WaitReason)
	}
	w.decide(t, second.ApprovalID, yes())
	again := w.claim(t)
	must(
		t,
		"UseApprovals",
		w.store.UseApprovals(
			w.ctx,
			again.Fence,
			[]store.ApprovalUse{
				{ApprovalID: second.ApprovalID, Fingerprint: w.approval(t, second.ApprovalID).Fingerprint},
			},
		),
	)
	_, err = w.store.SettleTool(w.ctx, again.Fence, w.toolSettle(1, calls[2]))
	must(t, "SettleTool", err)
	_, err = w.store.ParkTurn(w.ctx, again.Fence, parley.WaitApproval)
	must(t, "ParkTurn again", err)
	w.check(t, session)
	w.decide(t, first.ApprovalID, no(""))
	third := w.claim(t)
	_, err = w.store.SettleTool(w.ctx, third.Fence, w.toolSettle(1, calls[1]))
	must(t, "SettleTool of the denied one", err)
	w.answer(t, third, "done")
	w.check(t, session)
}

func approvalSteer(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	ask := anHour()
	w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	early := w.steer(t, session, "also")
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn with a steer", err)
	late := w.steer(t, session, "and")
	w.claimsNothing(t)
	if a := w.approval(t, ask.ApprovalID); a.State != parley.ApprovalPending {
		t.Errorf("a steer made the approval %s", a.State)
	}
	w.decide(t, ask.ApprovalID, no(""))
	again := w.claim(t)
	steers, err := w.store.PendingSteers(w.ctx, again.Fence)
	if err != nil || len(steers) != 2 || steers[0].ID != early.ID || steers[1].ID != late.ID {
		t.Errorf("the resumed turn's steers are %+v, %v", steers, err)
	}
	w.check(t, session)
}

func approvalClaimed(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	decided, err := w.store.DecideApproval(w.ctx, w.scope, id, w.decision(yes()), w.process)
	must(t, "DecideApproval", err)
	if decided.Claim == nil || decided.Claim.Turn.ID != claim.Turn.ID || decided.Claim.Turn.Attempt != 2 {
		t.Fatalf("the answer by a process with a free slot was not claimed: %+v", decided.Claim)
	}
	w.claimsNothing(t)
	w.check(t, claim.Fence.SessionID)
}

func approvalTakenOver(t *testing.T, w *world) {
	claim := w.started(t, "one")
	ask := anHour()
	w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	again := w.takenOver(t, claim)
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	if len(state.Approvals) != 1 || state.Approvals[0].State != parley.ApprovalPending {
		t.Fatalf("after a crash the approvals are %+v", state.Approvals)
	}
	_, err = w.store.ParkTurn(w.ctx, again.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	w.decide(t, ask.ApprovalID, yes())
	w.claim(t)
	w.check(t, claim.Fence.SessionID)
}
