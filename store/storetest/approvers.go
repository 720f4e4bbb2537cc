package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// askedOf returns a turn that waits for the approval of its only call, on given terms.
func (w *world) askedOf(t reporter, ask store.Ask) (store.Claim, parley.ID) {
	t.Helper()
	claim := w.started(t, "one")
	ask.ApprovalID, ask.Timeout = parley.NewID(), time.Hour
	w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: ask})
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	return claim, ask.ApprovalID
}

// askedCall is a call that needs approval.
type askedCall struct {
	tool, arguments string
	ask             store.Ask
}

// callEach settles a step whose calls all need approval, and returns the approvals.
func (w *world) callEach(t reporter, fence store.Fence, calls ...askedCall) []parley.ID {
	t.Helper()
	begin := w.begin(t, fence, 1)
	settle := settlement(begin, "")
	approvals := make([]parley.ID, len(calls))
	for i, call := range calls {
		id, message := "call_"+parley.NewID().String(), parley.NewID()
		_, err := w.store.OpenBlock(
			w.ctx,
			fence,
			store.BlockOpen{
				MessageID:  message,
				Step:       1,
				Role:       parley.RoleToolCall,
				Author:     w.author(),
				Model:      modelID,
				ToolCallID: id,
				ToolName:   call.tool,
			},
		)
		must(t, "OpenBlock", err)
		content, err := parley.EncodeContent(
			parley.ToolCallContent{ID: id, Name: call.tool, Arguments: json.RawMessage(call.arguments)},
		)
		must(t, "EncodeContent", err)
		settle.Blocks = append(
			settle.Blocks,
			store.BlockSettled{
				MessageID: message,
				Status:    parley.MessageCompleted,
				Content:   content,
				ToolName:  call.tool,
			},
		)
		ask := call.ask
		ask.ApprovalID, ask.ToolCallID, ask.Timeout = parley.NewID(), id, time.Hour
		approvals[i] = ask.ApprovalID
		settle.Asked = append(settle.Asked, ask)
	}
	w.settle(t, fence, settle)
	return approvals
}

// states returns the states of approvals, in order.
func (w *world) states(t reporter, ids []parley.ID) (states []parley.ApprovalState) {
	t.Helper()
	for _, id := range ids {
		states = append(states, w.approval(t, id).State)
	}
	return states
}

// approvalAlikeCall: a yes for exactly these arguments also approves an identical call, and no other.
func approvalAlikeCall(t *testing.T, w *world) {
	claim := w.started(t, "one")
	ids := w.callEach(
		t,
		claim.Fence,
		askedCall{tool: "write", arguments: `{"n":0}`},
		askedCall{tool: "write", arguments: `{"n":0}`},
		askedCall{tool: "write", arguments: `{"n":1}`},
		askedCall{tool: "send", arguments: `{"n":0}`},
		askedCall{"write", `{"n":0}`, store.Ask{Approvers: 2, Named: true}},
	)
	w.decide(
		t,
		ids[0],
		parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession, Covers: parley.CoversCall},
	)
	want := []parley.ApprovalState{
		parley.ApprovalApproved,
		parley.ApprovalApproved,
		parley.ApprovalPending,
		parley.ApprovalPending,
		parley.ApprovalPending,
	}
	if diff := cmp.Diff(want, w.states(t, ids)); diff != "" {
		t.Errorf("a yes to exactly this call gives (-want +got):\n%s", diff)
	}
	w.check(t, claim.Fence.SessionID)
}

// person returns another principal of the workspace.
func person(name string) parley.Author {
	return parley.Author{Kind: parley.AuthorPerson, ID: parley.NewID(), Name: name}
}

// decideAs decides an approval as a principal.
func (w *world) decideAs(id parley.ID, by parley.Author, decision parley.Decision) (parley.Approval, error) {
	decision.By = by
	decided, err := w.store.DecideApproval(w.ctx, w.scope, id, decision, parley.ID{})
	return decided.Approval, err
}

func approvalTerms(t *testing.T, w *world) {
	ask := store.Ask{
		Reason:       parley.AskedAgentChange,
		Approvers:    2,
		Named:        true,
		RequesterIDs: []parley.ID{w.owner.ID},
		Digest:       "d1",
		Rules:        parley.HashOf([]byte("rules")),
	}
	_, id := w.askedOf(t, ask)
	a := w.approval(t, id)
	got := store.Ask{
		Reason:       a.Reason,
		Approvers:    a.Approvers,
		Named:        a.Named,
		RequesterIDs: a.RequesterIDs,
		Digest:       a.Digest,
		Rules:        a.Rules,
	}
	if diff := cmp.Diff(ask, got); diff != "" {
		t.Errorf("the terms (-want +got):\n%s", diff)
	}
}

func approvalByTwo(t *testing.T, w *world) {
	claim, id := w.askedOf(t, store.Ask{Approvers: 2, Named: true})
	session := claim.Fence.SessionID
	ada, ben := person("Ada"), person("Ben")
	first, err := w.decideAs(id, ada, yes())
	must(t, "the first yes", err)
	if first.State != parley.ApprovalPending || first.StillMissing() != 1 || len(first.ApprovedBy) != 1 ||
		first.DecidedBy != nil {
		t.Errorf("after one of two it is %+v", first)
	}
	if diff := cmp.Diff(first, w.approval(t, id)); diff != "" {
		t.Errorf("the returned approval is not the stored one:\n%s", diff)
	}
	w.claimsNothing(t)
	before := w.check(t, session)
	if !hasEvent(before.Events, parley.EventApprovalApproved, 1) ||
		hasEvent(before.Events, parley.EventApprovalResolved, 1) {
		t.Error("the first yes must be announced without ending the approval")
	}
	_, err = w.decideAs(id, ada, yes())
	conflicts(t, "a second yes of the same person", err, parley.ApprovalPending)
	_, err = w.decideAs(id, ben, parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeSession})
	refused(t, "a yes for the session", err, parley.CodeInvalid)
	w.unchanged(t, "refused answers", session, before)
	second, err := w.decideAs(id, ben, yes())
	must(t, "the second yes", err)
	if second.State != parley.ApprovalApproved || len(second.ApprovedBy) != 2 || second.DecidedBy.ID != ben.ID ||
		second.ApprovedBy[0].ID != ada.ID ||
		second.ApprovedBy[1].At == 0 {
		t.Errorf("after both it is %+v", second)
	}
	again := w.claim(t)
	must(
		t,
		"UseApprovals",
		w.store.UseApprovals(
			w.ctx,
			again.Fence,
			[]store.ApprovalUse{{ApprovalID: id, Fingerprint: second.Fingerprint}},
		),
	)
	w.check(t, session)
}

func approvalOneNo(t *testing.T, w *world) {
	_, id := w.askedOf(t, store.Ask{Approvers: 3, Named: true, RequesterIDs: []parley.ID{w.owner.ID}})
	_, err := w.decideAs(id, person("Ada"), yes())
	must(t, "a yes", err)
	_, err = w.decideAs(id, w.owner.Author(), yes())
	refused(t, "a yes of one who asked for it", err, parley.CodeForbidden)
	denied, err := w.decideAs(id, w.owner.Author(), no("never mind"))
	must(t, "a no of one who asked for it", err)
	if denied.State != parley.ApprovalDenied || len(denied.ApprovedBy) != 1 {
		t.Errorf("one no makes it %+v", denied)
	}
	_, err = w.decideAs(id, person("Ben"), yes())
	conflicts(t, "a yes after the no", err, parley.ApprovalDenied)
}

func approversRace(t *testing.T, w *world) {
	_, id := w.askedOf(t, store.Ask{Approvers: 3, Named: true})
	people := []parley.Author{person("Ada"), person("Ben"), person("Cleo"), person("Dan")}
	errs := make([]error, 3*len(people))
	atOnce(len(errs), func(i int) { _, errs[i] = w.decideAs(id, people[i%len(people)], yes()) })
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if parley.ErrorCode(err) != parley.CodeConflict {
			t.Errorf("a race ends with %v", err)
		}
	}
	a := w.approval(t, id)
	seen := map[parley.ID]bool{}
	for _, by := range a.ApprovedBy {
		seen[by.ID] = true
	}
	if won != 3 || a.State != parley.ApprovalApproved || len(a.ApprovedBy) != 3 || len(seen) != 3 {
		t.Errorf("%d answers were taken, of %d people: %+v", won, len(seen), a)
	}
	w.claim(t)
}

func approversCancelled(t *testing.T, w *world) {
	claim, id := w.askedOf(t, store.Ask{Approvers: 2, Named: true})
	_, err := w.decideAs(id, person("Ada"), yes())
	must(t, "a yes", err)
	_, err = w.store.RequestCancel(w.ctx, w.scope, claim.Fence.SessionID, claim.Turn.ID, false)
	must(t, "RequestCancel", err)
	_, err = w.decideAs(id, person("Ben"), yes())
	conflicts(t, "a yes after the cancel", err, parley.ApprovalCancelled)
	w.check(t, claim.Fence.SessionID)
}

func changeAccepted(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	rules := parley.HashOf([]byte("rules"))
	change := store.Ask{Reason: parley.AskedAgentChange, Digest: "d1", Rules: rules}
	other := change
	other.Digest = "d2"
	ids := w.callEach(
		t,
		claim.Fence,
		askedCall{"write", `{"n":0}`, change},
		askedCall{"write", `{"n":1}`, change},
		askedCall{"write", `{"n":0}`, other},
		askedCall{"send", `{"n":0}`, change},
		askedCall{tool: "write", arguments: `{"n":0}`},
	)
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
	must(t, "ParkTurn", err)
	accept := parley.Decision{Decision: parley.DecideApprove, Scope: parley.ScopeChange}
	before := w.check(t, session)
	_, err = w.decideAs(ids[0], person("Ada"), accept)
	refused(t, "somebody else's acceptance", err, parley.CodeForbidden)
	_, err = w.decideAs(ids[4], w.owner.Author(), accept)
	refused(t, "nothing to accept", err, parley.CodeInvalid)
	w.unchanged(t, "refused acceptances", session, before)
	accepted, err := w.decideAs(ids[0], w.owner.Author(), accept)
	must(t, "an acceptance", err)
	if accepted.State != parley.ApprovalApproved || accepted.Scope != parley.ScopeChange {
		t.Errorf("the accepted one is %+v", accepted)
	}
	kept, err := w.store.Accepted(w.ctx, w.scope.WorkspaceID, session)
	must(t, "Accepted", err)
	if diff := cmp.Diff(
		[]parley.AcceptedChange{{AgentID: w.agent.ID, Tool: "write", Digest: "d1", Rules: rules}},
		kept.Changes,
	); diff != "" {
		t.Errorf("the session has accepted (-want +got):\n%s", diff)
	}
	want := []parley.ApprovalState{
		parley.ApprovalApproved,
		parley.ApprovalApproved,
		parley.ApprovalPending,
		parley.ApprovalPending,
		parley.ApprovalPending,
	}
	if diff := cmp.Diff(want, w.states(t, ids)); diff != "" {
		t.Errorf("an acceptance answers (-want +got):\n%s", diff)
	}
	if got := w.check(t, session).Session.Grants; got != nil {
		t.Errorf("an acceptance added a grant: %+v", got)
	}
}

func acceptedKept(t *testing.T, w *world) {
	session := w.newSession()
	session.Accepted = &parley.Accepted{Agents: map[parley.ID]int{w.agent.ID: 1}, Tools: []string{"a", "b"}}
	opened, err := w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: session}, parley.ID{})
	must(t, "EnsureSession", err)
	id := opened.Session.ID
	kept, err := w.store.Accepted(w.ctx, w.scope.WorkspaceID, id)
	must(t, "Accepted", err)
	if diff := cmp.Diff(*session.Accepted, kept); diff != "" {
		t.Errorf("what was accepted (-want +got):\n%s", diff)
	}
	_, err = w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{AcceptTools: []string{"c", "a"}})
	must(t, "UpdateSession", err)
	kept, err = w.store.Accepted(w.ctx, w.scope.WorkspaceID, id)
	must(t, "Accepted", err)
	if diff := cmp.Diff([]string{"a", "b", "c"}, kept.Tools); diff != "" {
		t.Errorf("after a patch (-want +got):\n%s", diff)
	}
	elsewhere := w.neighbour(t, "other")
	_, err = elsewhere.store.Accepted(w.ctx, elsewhere.scope.WorkspaceID, id)
	refused(t, "another workspace's", err, parley.CodeNotFound)
	old, err := w.store.Accepted(w.ctx, w.scope.WorkspaceID, w.session(t))
	must(t, "Accepted", err)
	if !old.Before || len(old.Agents) != 0 {
		t.Errorf("a session without acceptances has %+v", old)
	}
}

func testAgentOwners(t *testing.T, w *world) {
	mine := w.newAgent("mine", "x")
	mine.OwnerID, mine.OwnerName, mine.ChangedByID = w.owner.ID, w.owner.Name, w.owner.ID
	mine.Accepted = &parley.Accepted{Agents: map[parley.ID]int{mine.ID: 1}, Tools: []string{"a"}}
	made, _, err := w.store.CreateAgent(w.ctx, mine, store.Idempotency{})
	must(t, "CreateAgent", err)
	w.createAgent(t, "nobodys", "x")
	owned := func(owner parley.ID, tag string) []string {
		t.Helper()
		found, err := w.store.Agents(w.ctx, w.scope.WorkspaceID, store.AgentQuery{OwnerID: owner, Tag: tag, Limit: 10})
		must(t, "Agents", err)
		return slugs(found)
	}
	for _, tag := range []string{"", "x"} {
		if diff := cmp.Diff([]string{"mine"}, owned(w.owner.ID, tag)); diff != "" {
			t.Errorf("the owner's, tagged %q (-want +got):\n%s", tag, diff)
		}
	}
	next, heir := made, parley.NewID()
	next.OwnerID, next.ChangedByID, next.Accepted = heir, heir, nil
	next, err = w.store.UpdateAgent(w.ctx, next)
	must(t, "UpdateAgent", err)
	if len(owned(w.owner.ID, "")) != 0 || len(owned(heir, "")) != 1 {
		t.Errorf("after it was given away: %v and %v", owned(w.owner.ID, ""), owned(heir, ""))
	}
	by, err := w.store.AgentVersionBy(w.ctx, w.scope.WorkspaceID, made.ID, w.owner.ID, next.Version)
	must(t, "AgentVersionBy", err)
	if by.Version != 1 || by.Accepted == nil || !by.Accepted.HasTool("a") {
		t.Errorf("the first owner's latest version is %+v", by)
	}
	_, err = w.store.AgentVersionBy(w.ctx, w.scope.WorkspaceID, made.ID, heir, 1)
	refused(t, "a version by somebody who made a later one", err, parley.CodeNotFound)
	found, err := w.store.Principal(w.ctx, w.scope.WorkspaceID, w.owner.ID)
	if err != nil || found.Name != w.owner.Name {
		t.Errorf("the owner is %+v, %v", found, err)
	}
	_, err = w.store.Principal(w.ctx, w.neighbour(t, "other").scope.WorkspaceID, w.owner.ID)
	refused(t, "another workspace's principal", err, parley.CodeNotFound)
}
