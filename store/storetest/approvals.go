package storetest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testApprovals(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AQuestionIsKeptWithItsCall":       approvalKept,
		"AYesWakesTheTurnAndIsUsedOnce":    approvalYes,
		"ANoWakesTheTurn":                  approvalNo,
		"AnAnsweredOneIsRefused":           approvalAnsweredTwice,
		"AnswersRace":                      approvalRace,
		"AYesForTheSessionAddsAGrant":      approvalSession,
		"AYesForTheToolAddsAGrant":         approvalTool,
		"AYesForTheToolAnswersItsOthers":   approvalAlike,
		"AYesForTheCallAnswersItsLikes":    approvalAlikeCall,
		"ItsTermsAreKept":                  approvalTerms,
		"TwoPeopleApprove":                 approvalByTwo,
		"OneNoIsEnough":                    approvalOneNo,
		"ApproversRace":                    approversRace,
		"ACancelBetweenTwoApprovers":       approversCancelled,
		"TheOwnerAcceptsAChange":           changeAccepted,
		"WhatIsAcceptedIsKept":             acceptedKept,
		"NoRoomForTheGrant":                approvalGrantsFull,
		"SilenceIsANo":                     approvalExpires,
		"ARunningToolAsks":                 toolAsks,
		"ADenialIsAToolsAnswer":            toolAsksInVain,
		"ADismissalIsAToolsAnswer":         toolAsksAndIsDismissed,
		"AnAnswerBehindTheDeadline":        approvalTooLate,
		"ACancelSettlesIt":                 approvalCancelled,
		"AnEndOutsideAnyStepSettlesIt":     approvalTurnFails,
		"ADeletionSettlesIt":               approvalDeleted,
		"AResultSettlesIt":                 approvalByResult,
		"AClientCannotGoAroundIt":          approvalNoWayAround,
		"UsedOnlyUnderTheClaim":            approvalFenced,
		"AnotherCallsFingerprintIsRefused": approvalOtherCall,
		"AnAnswerWhileTheTurnRuns":         approvalWhileRunning,
		"MixedCallsWaitTogether":           approvalMixed,
		"ASteerDecidesNothing":             approvalSteer,
		"AnAnswerIsClaimedAtOnce":          approvalClaimed,
		"ADeadProcessLeavesIt":             approvalTakenOver,
		"TheRootHearsOfIt":                 approvalAtRoot,
		"ListsByStateSessionAndAgent":      approvalLists,
		"OthersSeeNothing":                 approvalForeign,
		"AResultOfAQuickClient":            approvalQuickClient,
	})
}

// anHour returns a question with plenty of time.
func anHour() store.Ask { return store.Ask{ApprovalID: parley.NewID(), Timeout: time.Hour} }

// asked returns a turn that waits for the approval of its only call.
func (w *world) asked(t reporter) (store.Claim, string, parley.ID) {
	t.Helper()
	claim := w.started(t, "one")
	ask := anHour()
	calls := w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	turn, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	if turn.WaitReason != parley.WaitApproval {
		t.Fatalf("the parked turn is %+v", turn)
	}
	return claim, calls[0], ask.ApprovalID
}

func (w *world) approval(t reporter, id parley.ID) parley.Approval {
	t.Helper()
	a, err := w.store.Approval(w.ctx, w.scope, id)
	must(t, "Approval", err)
	return a
}

func (w *world) decide(t reporter, id parley.ID, decision parley.Decision) store.Decided {
	t.Helper()
	decided, err := w.store.DecideApproval(w.ctx, w.scope, id, w.decision(decision), parley.ID{})
	must(t, "DecideApproval", err)
	return decided
}

// decision returns a decision by the owner.
func (w *world) decision(d parley.Decision) parley.Decision {
	d.By = w.owner.Author()
	return d
}

func yes() parley.Decision { return parley.Decision{Decision: parley.DecideApprove} }

func no(comment string) parley.Decision {
	return parley.Decision{Decision: parley.DecideDeny, Comment: comment}
}

func approvalKept(t *testing.T, w *world) {
	claim, call, id := w.asked(t)
	session := claim.Fence.SessionID
	a := w.approval(t, id)
	fingerprint, err := parley.Fingerprint("tool1", json.RawMessage(`{"n":0}`))
	must(t, "Fingerprint", err)
	s := w.check(t, session)
	want := parley.Approval{
		ID:          id,
		WorkspaceID: w.scope.WorkspaceID,
		SessionID:   session,
		RootID:      session,
		AgentID:     w.agent.ID,
		TurnID:      claim.Turn.ID,
		MessageID:   s.Record[2].ID,
		ToolCallID:  call,
		ToolName:    "tool1",
		Arguments:   json.RawMessage(`{"n":0}`),
		Fingerprint: fingerprint,
		State:       parley.ApprovalPending,
		CreatedAt:   a.CreatedAt,
		ExpiresAt:   a.CreatedAt + parley.Time(time.Hour.Milliseconds()),
	}
	if diff := cmp.Diff(want, a); diff != "" || a.CreatedAt == 0 {
		t.Errorf("the approval (-want +got):\n%s", diff)
	}
	if s.Session.Status != parley.SessionWaiting || s.Session.WaitReason != parley.WaitApproval {
		t.Errorf("the session is %s for %q", s.Session.Status, s.Session.WaitReason)
	}
	if !hasEvent(s.Events, parley.EventApprovalCreated, 1) || hasEvent(s.Events, parley.EventToolStarted, 1) {
		t.Error("the question must be announced once, without a start of its tool")
	}
	w.claimsNothing(t)
}

func approvalYes(t *testing.T, w *world) {
	claim, call, id := w.asked(t)
	session := claim.Fence.SessionID
	decided := w.decide(t, id, yes())
	a := decided.Approval
	if a.State != parley.ApprovalApproved || a.Scope != parley.ScopeOnce || a.DecidedBy == nil ||
		a.DecidedBy.ID != w.owner.ID ||
		a.DecidedAt == 0 ||
		a.UsedAt != 0 {
		t.Errorf("the answered approval is %+v", a)
	}
	if diff := cmp.Diff(a, w.approval(t, id)); diff != "" {
		t.Errorf("the returned approval is not the stored one:\n%s", diff)
	}
	again := w.claim(t)
	if again.Turn.ID != claim.Turn.ID || again.Turn.Attempt != 2 {
		t.Fatalf("the resumed turn is %+v", again.Turn)
	}
	state, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	if len(state.Approvals) != 1 || state.Approvals[0].ID != id || state.Approvals[0].State != parley.ApprovalApproved {
		t.Fatalf("the resumed turn's approvals are %+v", state.Approvals)
	}
	use := []store.ApprovalUse{{ApprovalID: id, Fingerprint: a.Fingerprint}}
	must(t, "UseApprovals", w.store.UseApprovals(w.ctx, again.Fence, use))
	if used := w.approval(t, id); used.UsedAt == 0 || used.State != parley.ApprovalApproved {
		t.Errorf("the used approval is %+v", used)
	}
	before := w.check(t, session)
	if !hasEvent(before.Events, parley.EventApprovalResolved, 1) ||
		!hasEvent(before.Events, parley.EventToolStarted, 1) {
		t.Error("the decision and the start must be announced once each")
	}
	refused(t, "a second use", w.store.UseApprovals(w.ctx, again.Fence, use), parley.CodeConflict)
	w.unchanged(t, "a second use", session, before)
	settle := w.toolSettle(1, call)
	settle.ApprovalID = id
	_, err = w.store.SettleTool(w.ctx, again.Fence, settle)
	must(t, "SettleTool", err)
	if after := w.approval(t, id); after.State != parley.ApprovalApproved {
		t.Errorf("with its result the approval is %s", after.State)
	}
	w.answer(t, again, "done")
	w.check(t, session)
}

func approvalNo(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	a := w.decide(t, id, no("not on Fridays")).Approval
	if a.State != parley.ApprovalDenied || a.Comment != "not on Fridays" || a.Scope != "" {
		t.Errorf("the denied approval is %+v", a)
	}
	again := w.claim(t)
	refused(
		t,
		"using a denied one",
		w.store.UseApprovals(w.ctx, again.Fence, []store.ApprovalUse{{ApprovalID: id, Fingerprint: a.Fingerprint}}),
		parley.CodeConflict,
	)
	_, err := w.store.ParkTurn(w.ctx, again.Fence, parley.WaitApproval)
	refused(t, "parking with a denied call open", err, parley.CodeMore)
	w.check(t, claim.Fence.SessionID)
}

// conflicts requires a refusal that names the approval's state.
func conflicts(t reporter, what string, err error, want parley.ApprovalState) {
	t.Helper()
	refused(t, what, err, parley.CodeConflict)
	if known, ok := err.(*parley.Error); !ok || //nolint:errorlint // stores return it bare
		known.State != string(want) {
		t.Errorf("%s: %#v does not name the state %s", what, err, want)
	}
}

func approvalAnsweredTwice(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	w.decide(t, id, yes())
	before := w.check(t, claim.Fence.SessionID)
	for _, decision := range []parley.Decision{yes(), no("")} {
		_, err := w.store.DecideApproval(w.ctx, w.scope, id, w.decision(decision), w.process)
		conflicts(t, "a second answer", err, parley.ApprovalApproved)
		w.unchanged(t, "a second answer", claim.Fence.SessionID, before)
	}
}

func approvalRace(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	errs := make([]error, 12)
	atOnce(len(errs), func(i int) {
		decision := yes()
		if i%2 == 1 {
			decision = no("")
		}
		_, errs[i] = w.store.DecideApproval(w.ctx, w.scope, id, w.decision(decision), parley.ID{})
	})
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			refused(t, "a later answer", err, parley.CodeConflict)
		}
	}
	if won != 1 {
		t.Errorf("%d answers won", won)
	}
	w.claim(t)
	w.claimsNothing(t)
	w.check(t, claim.Fence.SessionID)
}

func approvalSession(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	a := w.decide(t, id, parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession}).Approval
	if a.Scope != parley.ScopeSession || a.Covers != parley.CoversCall {
		t.Errorf("the approval is %+v", a)
	}
	session := w.sessionState(t, claim.Fence.SessionID)
	want := []parley.Grant{{Tool: "tool1", Fingerprint: a.Fingerprint, Effect: parley.GrantAllow}}
	if session.Grants == nil || !cmp.Equal(*session.Grants, want) {
		t.Errorf("the session's grants are %+v", session.Grants)
	}
	if again := w.claim(t); again.Session.Grants == nil || !cmp.Equal(*again.Session.Grants, want) {
		t.Errorf("the resumed turn's session has the grants %+v", again.Session.Grants)
	}
}

func approvalTool(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	w.decide(
		t,
		id,
		parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession, Covers: parley.CoversTool},
	)
	session := w.sessionState(t, claim.Fence.SessionID)
	want := []parley.Grant{{Tool: "tool1", Effect: parley.GrantAllow}}
	if session.Grants == nil || !cmp.Equal(*session.Grants, want) {
		t.Errorf("the session's grants are %+v", session.Grants)
	}
	w.check(t, claim.Fence.SessionID)
}

func approvalAlike(t *testing.T, w *world) {
	claim := w.started(t, "one")
	ids := w.callEach(
		t,
		claim.Fence,
		askedCall{tool: "write", arguments: `{"n":0}`},
		askedCall{tool: "write", arguments: `{"n":1}`},
		askedCall{tool: "send", arguments: `{"n":2}`},
	)
	w.decide(
		t,
		ids[0],
		parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession, Covers: parley.CoversTool},
	)
	other, third := w.approval(t, ids[1]), w.approval(t, ids[2])
	if other.State != parley.ApprovalApproved || other.DecidedBy == nil || third.State != parley.ApprovalPending {
		t.Errorf("the other call of the tool is %s, the other tool's %s", other.State, third.State)
	}
	w.check(t, claim.Fence.SessionID)
}

func approvalGrantsFull(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	full := slices.Repeat([]parley.Grant{{Tool: "other", Effect: parley.GrantAsk}}, parley.MaxGrants)
	_, err := w.store.UpdateSession(w.ctx, w.scope, claim.Fence.SessionID, store.SessionChange{
		Settings: parley.SettingsPatch{Grants: parley.Change[*[]parley.Grant]{Set: true, Value: &full}}})
	must(t, "UpdateSession", err)
	before := w.check(t, claim.Fence.SessionID)
	_, err = w.store.DecideApproval(
		w.ctx,
		w.scope,
		id,
		w.decision(parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession}),
		parley.ID{},
	)
	refused(t, "a grant too many", err, parley.CodeConflict)
	w.unchanged(t, "a grant too many", claim.Fence.SessionID, before)
	if a := w.approval(t, id); a.State != parley.ApprovalPending {
		t.Errorf("the approval is %s", a.State)
	}
	w.decide(t, id, yes())
}

func approvalFenced(t *testing.T, w *world) {
	claim, _, id := w.asked(t)
	a := w.decide(t, id, yes()).Approval
	use := []store.ApprovalUse{{ApprovalID: id, Fingerprint: a.Fingerprint}}
	refused(t, "a use without a claim", w.store.UseApprovals(w.ctx, claim.Fence, use), parley.CodeFenced)
	again := w.claim(t)
	refused(t, "a use under the old claim", w.store.UseApprovals(w.ctx, claim.Fence, use), parley.CodeFenced)
	must(t, "UseApprovals", w.store.UseApprovals(w.ctx, again.Fence, use))
}

func approvalOtherCall(t *testing.T, w *world) {
	claim := w.started(t, "one")
	first, second := anHour(), anHour()
	w.callAsking(t, claim.Fence, 1, 2, map[int]store.Ask{0: first, 1: second})
	a, b := w.decide(t, first.ApprovalID, yes()).Approval, w.approval(t, second.ApprovalID)
	if a.Fingerprint == b.Fingerprint {
		t.Fatal("two calls share a fingerprint")
	}
	before := w.check(t, claim.Fence.SessionID)
	for what, use := range map[string]store.ApprovalUse{
		"another fingerprint":   {ApprovalID: a.ID, Fingerprint: b.Fingerprint},
		"none":                  {ApprovalID: a.ID},
		"one that is undecided": {ApprovalID: b.ID, Fingerprint: b.Fingerprint},
	} {
		refused(t, what, w.store.UseApprovals(w.ctx, claim.Fence, []store.ApprovalUse{use}), parley.CodeConflict)
	}
	both := []store.ApprovalUse{
		{ApprovalID: a.ID, Fingerprint: a.Fingerprint},
		{ApprovalID: b.ID, Fingerprint: b.Fingerprint},
	}
	refused(t, "one of two undecided", w.store.UseApprovals(w.ctx, claim.Fence, both), parley.CodeConflict)
	w.unchanged(t, "a refused use", claim.Fence.SessionID, before)
	if now := w.approval(t, a.ID); now.UsedAt != 0 {
		t.Error("a refused use was recorded")
	}
}

func approvalAtRoot(t *testing.T, w *world) {
	root := w.session(t)
	other := w.neighbour(t, "elsewhere").session(t)
	child := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	w.post(t, child, w.say("work"))
	claim := w.claim(t)
	ask := anHour()
	w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	w.drainOutbox(t)
	events := func(session parley.ID) (types []parley.EventType) {
		found, err := w.store.Events(w.ctx, w.scope, session, 0, 100)
		must(t, "Events", err)
		for _, e := range found {
			types = append(types, e.Type)
		}
		return types
	}
	if got := events(root); !cmp.Equal(got, []parley.EventType{parley.EventApprovalCreated}) {
		t.Fatalf("the root heard %v", got)
	}
	for name, session := range map[string]parley.ID{"root": root, "child": child} {
		if list, err := w.store.Approvals(
			w.ctx,
			w.scope,
			store.ApprovalQuery{SessionID: session, State: parley.ApprovalPending, Limit: 5},
		); err != nil || len(list) != 1 ||
			list[0].ID != ask.ApprovalID {
			t.Errorf("listed at the %s: %+v, %v", name, list, err)
		}
	}
	w.decide(t, ask.ApprovalID, yes())
	w.drainOutbox(t)
	w.drainOutbox(t)
	if got := events(
		root,
	); !cmp.Equal(
		got,
		[]parley.EventType{parley.EventApprovalCreated, parley.EventApprovalResolved},
	) {
		t.Errorf("the root heard %v", got)
	}
	_, err := w.store.Approvals(w.ctx, w.scope, store.ApprovalQuery{SessionID: other, Limit: 5})
	refused(t, "another workspace's session", err, parley.CodeNotFound)
	w.check(t, root)
	w.check(t, child)
}

func approvalLists(t *testing.T, w *world) {
	var ids []parley.ID
	for range 5 {
		_, _, id := w.asked(t)
		ids = append(ids, id)
	}
	w.decide(t, ids[1], no(""))
	list := func(q store.ApprovalQuery) (found []parley.ID) {
		q.Limit = max(q.Limit, 2)
		for {
			page, err := w.store.Approvals(w.ctx, w.scope, q)
			must(t, "Approvals", err)
			for _, a := range page {
				found = append(found, a.ID)
			}
			if len(page) < q.Limit {
				return found
			}
			last := page[len(page)-1]
			q.AfterCreated, q.AfterID = last.CreatedAt, last.ID
		}
	}
	reversed := slices.Clone(ids)
	slices.Reverse(reversed)
	fourth := w.approval(t, ids[3])
	for name, c := range map[string]struct {
		query store.ApprovalQuery
		want  []parley.ID
	}{
		"newest first": {store.ApprovalQuery{}, reversed},
		"oldest first": {store.ApprovalQuery{Ascending: true}, ids},
		"pending": {store.ApprovalQuery{State: parley.ApprovalPending, Ascending: true},
			[]parley.ID{ids[0], ids[2], ids[3], ids[4]}},
		"denied":           {store.ApprovalQuery{State: parley.ApprovalDenied}, ids[1:2]},
		"of an agent":      {store.ApprovalQuery{AgentID: w.agent.ID, Ascending: true}, ids},
		"of another agent": {store.ApprovalQuery{AgentID: parley.NewID()}, nil},
		"of a session":     {store.ApprovalQuery{SessionID: fourth.SessionID}, ids[3:4]},
		"of both": {store.ApprovalQuery{SessionID: fourth.SessionID, AgentID: w.agent.ID,
			State: parley.ApprovalPending}, ids[3:4]},
	} {
		if diff := cmp.Diff(c.want, list(c.query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func approvalForeign(t *testing.T, w *world) {
	_, _, id := w.asked(t)
	for name, scope := range map[string]store.Scope{
		"another workspace": w.neighbour(t, "elsewhere").scope,
		"another principal": w.guest(),
	} {
		_, err := w.store.Approval(w.ctx, scope, id)
		refused(t, name+" reads", err, parley.CodeNotFound)
		_, err = w.store.DecideApproval(w.ctx, scope, id, w.decision(yes()), parley.ID{})
		refused(t, name+" answers", err, parley.CodeNotFound)
		if list, err := w.store.Approvals(w.ctx, scope, store.ApprovalQuery{Limit: 5}); err != nil || len(list) != 0 {
			t.Errorf("%s lists %+v, %v", name, list, err)
		}
	}
	if a := w.approval(t, id); a.State != parley.ApprovalPending {
		t.Errorf("the approval is %s", a.State)
	}
}

// approvalQuickClient: a client answers its call while the turn still runs its other tools.
func approvalQuickClient(t *testing.T, w *world) {
	tools := []parley.ToolRef{
		{Name: "tool1"},
		{
			Name:       "tool2",
			Definition: &parley.ToolDefinition{Name: "tool2", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
	}
	session := w.session(t, func(s *parley.Session) { s.Tools = &tools })
	w.post(t, session, w.say("go"))
	claim := w.claim(t)
	calls := w.callTools(t, claim.Fence, 1, 2)
	before := w.check(t, session)
	_, err := w.store.PostMessage(w.ctx, w.scope, session, w.result(calls[0]), parley.ID{})
	refused(t, "a client's result for a call that the server runs", err, parley.CodeConflict)
	w.unchanged(t, "a client's result for the server's call", session, before)
	posted := w.post(t, session, w.result(calls[1]))
	if posted.Message.Sequence == 0 || posted.Turn.Status != parley.TurnRunning {
		t.Errorf("the quick result is %+v of a turn that is %s", posted.Message, posted.Turn.Status)
	}
	_, err = w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[0]))
	must(t, "SettleTool", err)
	_, err = w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult)
	refused(t, "parking after it", err, parley.CodeMore)
	w.answer(t, store.Claim{Fence: claim.Fence, Turn: parley.Turn{Step: 1}}, "done")
	w.check(t, session)
}
