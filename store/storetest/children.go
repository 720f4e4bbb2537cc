package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testChildren(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AChildIsOpenedOnce":                childOnce,
		"OpeningsRace":                      childRace,
		"WhatMayNotBeOpened":                childRefused,
		"ACircleEndsAtTheBound":             childDepth,
		"TheAnswerComesHome":                childHome,
		"TheParentWaitsForAll":              childAll,
		"AnAnswerForARunningTurn":           childRunning,
		"AChildWithoutAnAnswer":             childWithout,
		"ALateAnswerIsDropped":              childLate,
		"AClientDoesNotAnswerForAChild":     childClient,
		"ASteerKeepsNoChildFromBeingWaited": childSteer,
		"ACancelStopsTheTree":               childTreeCancelled,
		"AHolderThatDoesNotStop":            childTaken,
		"ACallAnsweredOtherwise":            childCalledOff,
		"ADeletedParent":                    childDeletedParent,
		"CancelsRaceTheWayHome":             childCancelRaces,
		"AnErrandWaitsForNoOther":           childFair,
		"ATreeAddsUp":                       childTree,
		"ATreeOfOthers":                     childTreeScope,
		"WhoSeesATree":                      childVisibility,
		"WhoSeesWhatIsOpenedMeanwhile":      childVisibilityRaces,
	})
}

// agentCall is a call of an agent tool: its message and its id.
type agentCall struct {
	message parley.ID
	id      string
}

// callAgents runs a step that calls n agents.
func (w *world) callAgents(t reporter, fence store.Fence, step, n int) (calls []agentCall) {
	t.Helper()
	begin := w.begin(t, fence, step)
	settle := settlement(begin, "")
	settle.Call.Finish = parley.FinishToolCalls
	for range n {
		call := agentCall{parley.NewID(), "call_" + parley.NewID().String()}
		_, err := w.store.OpenBlock(w.ctx, fence, store.BlockOpen{
			MessageID:  call.message,
			Step:       step,
			Role:       parley.RoleToolCall,
			Author:     w.author(),
			Model:      modelID,
			ToolCallID: call.id,
			ToolName:   "scout",
		})
		must(t, "OpenBlock", err)
		content, err := parley.EncodeContent(
			parley.ToolCallContent{ID: call.id, Name: "scout", Arguments: json.RawMessage(`{"task":"look"}`)},
		)
		must(t, "EncodeContent", err)
		settle.Blocks = append(
			settle.Blocks,
			store.BlockSettled{MessageID: call.message, Status: parley.MessageCompleted, Content: content,
				ToolName: "scout", Metadata: parley.LinkChild(call.message)},
		)
		settle.ToolsStarted = append(settle.ToolsStarted, call.id)
		calls = append(calls, call)
	}
	w.settle(t, fence, settle)
	return calls
}

// child returns the session of a call, as a worker opens it.
func (w *world) child(call agentCall) store.NewSession {
	session := w.newSession()
	session.ID, session.ParentMessageID, session.Kind = parley.ChildID(call.message), call.message, parley.KindTool
	first := w.say("look")
	return store.NewSession{Session: session, First: &first}
}

func (w *world) openChild(t reporter, fence store.Fence, call agentCall) parley.Session {
	t.Helper()
	session, err := w.store.OpenChild(w.ctx, fence, w.child(call))
	must(t, "OpenChild", err)
	return session
}

// asking returns a parked turn with n calls, each running in its own session.
func (w *world) asking(t reporter, n int) (store.Claim, []agentCall) {
	t.Helper()
	claim := w.started(t, "go")
	calls := w.callAgents(t, claim.Fence, 1, n)
	for _, call := range calls {
		w.openChild(t, claim.Fence, call)
	}
	turn, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitChild)
	must(t, "ParkTurn", err)
	if turn.Status != parley.TurnWaiting || turn.WaitReason != parley.WaitChild {
		t.Fatalf("the parked turn is %+v", turn)
	}
	return claim, calls
}

// errands applies what is due in the outbox.
func (w *world) errands(t reporter) {
	t.Helper()
	for more := true; more; {
		var err error
		_, more, err = w.store.ApplyOutbox(w.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
	}
}

// claimAll claims all ready turns and returns the claims by session.
func (w *world) claimAll(t reporter) map[parley.ID]store.Claim {
	t.Helper()
	claims, err := w.store.Claim(w.ctx, w.process, store.MaxClaims, roomy())
	must(t, "Claim", err)
	found := map[parley.ID]store.Claim{}
	for _, claim := range claims {
		found[claim.Fence.SessionID] = claim
	}
	return found
}

// results returns the contents of a session's tool results.
func (w *world) results(
	t reporter,
	session parley.ID,
) (contents []parley.ToolResultContent, messages []parley.Message) {
	t.Helper()
	messages, err := w.store.Messages(
		w.ctx,
		w.scope,
		session,
		store.MessageQuery{Roles: []parley.Role{parley.RoleToolResult}, Limit: 100},
	)
	must(t, "Messages", err)
	for _, m := range messages {
		var content parley.ToolResultContent
		must(t, "the content of a result", json.Unmarshal(m.Content, &content))
		contents = append(contents, content)
	}
	return contents, messages
}

func childOnce(t *testing.T, w *world) {
	claim := w.started(t, "go")
	call := w.callAgents(t, claim.Fence, 1, 1)[0]
	first := w.openChild(t, claim.Fence, call)
	if first.ID != parley.ChildID(call.message) || first.ParentSessionID != claim.Fence.SessionID ||
		first.RootID != claim.Fence.SessionID ||
		first.Depth != 1 || first.Kind != parley.KindTool ||
		first.Status != parley.SessionRunning ||
		first.TurnID.IsZero() {
		t.Errorf("the child is %+v", first)
	}
	before := w.check(t, first.ID)
	second := w.openChild(t, claim.Fence, call)
	if second.ID != first.ID || second.TurnID != first.TurnID {
		t.Errorf("opened again it is %+v", second)
	}
	w.unchanged(t, "opening it again", first.ID, before)
	children, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{ParentID: claim.Fence.SessionID, Limit: 10})
	must(t, "Sessions", err)
	if len(children) != 1 || children[0].RootID != claim.Fence.SessionID || children[0].Depth != 1 {
		t.Errorf("the parent has %d children: %+v", len(children), children)
	}
	if root := w.sessionState(t, claim.Fence.SessionID); root.RootID != root.ID || root.Depth != 0 {
		t.Errorf("the root of a root is %s at %d", root.RootID, root.Depth)
	}
	if child := w.claim(
		t,
	); child.Fence.SessionID != first.ID || child.Session.RootID != claim.Fence.SessionID ||
		child.Session.Depth != 1 {
		t.Errorf("claimed was %+v", child.Session)
	}
}

func childRace(t *testing.T, w *world) {
	claim := w.started(t, "go")
	call := w.callAgents(t, claim.Fence, 1, 1)[0]
	opened, errs := make([]parley.Session, 8), make([]error, 8)
	atOnce(len(errs), func(i int) { opened[i], errs[i] = w.store.OpenChild(w.ctx, claim.Fence, w.child(call)) })
	for i := range errs {
		must(t, "OpenChild", errs[i])
		if opened[i].TurnID != opened[0].TurnID {
			t.Errorf("two openings made the turns %s and %s", opened[i].TurnID, opened[0].TurnID)
		}
	}
	w.check(t, opened[0].ID)
	if child := w.claim(t); child.Fence.SessionID != opened[0].ID {
		t.Errorf("claimed was %s", child.Fence.SessionID)
	}
	w.claimsNothing(t)
}

func childRefused(t *testing.T, w *world) {
	claim := w.started(t, "go")
	calls := w.callAgents(t, claim.Fence, 1, 2)
	before := w.snapshot(t, claim.Fence.SessionID)
	stale := claim.Fence
	stale.Epoch--
	_, err := w.store.OpenChild(w.ctx, stale, w.child(calls[0]))
	refused(t, "under an old claim", err, parley.CodeFenced)
	other := w.started(t, "another")
	_, err = w.store.OpenChild(w.ctx, other.Fence, w.child(calls[0]))
	refused(t, "for a call of another session", err, parley.CodeConflict)
	named := w.child(calls[0])
	named.Session.ID = parley.NewID()
	_, err = w.store.OpenChild(w.ctx, claim.Fence, named)
	refused(t, "under an id of its own", err, parley.CodeConflict)
	foreign := w.child(calls[0])
	foreign.Session.AgentID = w.neighbour(t, "elsewhere").agent.ID
	_, err = w.store.OpenChild(w.ctx, claim.Fence, foreign)
	refused(t, "of a foreign agent", err, parley.CodeNotFound)
	_, err = w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, calls[1].id))
	must(t, "SettleTool", err)
	_, err = w.store.OpenChild(w.ctx, claim.Fence, w.child(calls[1]))
	refused(t, "for a call with a result", err, parley.CodeConflict)
	children, err := w.store.Sessions(w.ctx, w.scope, store.SessionQuery{ParentID: claim.Fence.SessionID, Limit: 10})
	must(t, "Sessions", err)
	if len(children) != 0 {
		t.Errorf("%d children were opened", len(children))
	}
	if now := w.snapshot(t, claim.Fence.SessionID); len(now.Record) != len(before.Record)+1 {
		t.Errorf("the refusals wrote something")
	}
}

func childDepth(t *testing.T, w *world) {
	claim := w.started(t, "go")
	for depth := 1; depth <= parley.MaxToolDepth; depth++ {
		child := w.openChild(t, claim.Fence, w.callAgents(t, claim.Fence, 1, 1)[0])
		if child.Depth != depth {
			t.Fatalf("a child at %d is at %d", depth, child.Depth)
		}
		claim = w.claim(t)
	}
	call := w.callAgents(t, claim.Fence, 1, 1)[0]
	_, err := w.store.OpenChild(w.ctx, claim.Fence, w.child(call))
	refused(t, "a child below the deepest", err, parley.CodeConflict)
	byHand := w.newSession()
	byHand.ParentSessionID, byHand.Kind = claim.Fence.SessionID, parley.KindTool
	_, err = w.store.EnsureSession(w.ctx, w.scope, store.NewSession{Session: byHand}, parley.ID{})
	refused(t, "one made by hand", err, parley.CodeConflict)
}

func childHome(t *testing.T, w *world) {
	parent, calls := w.asking(t, 1)
	child := w.claim(t)
	w.claimsNothing(t)
	w.errands(t)
	if results, _ := w.results(t, parent.Fence.SessionID); len(results) != 0 {
		t.Fatalf("there is a result before the end: %+v", results)
	}
	w.answer(t, child, "All quiet.")
	w.errands(t)
	contents, messages := w.results(t, parent.Fence.SessionID)
	if len(contents) != 1 || string(contents[0].Result) != `{"text":"All quiet."}` || !contents[0].Success ||
		contents[0].ExecutionTimeMS == nil {
		t.Fatalf("came home: %+v", contents)
	}
	m := messages[0]
	if m.ToolCallID != calls[0].id || m.ToolName != "scout" || m.TurnID != parent.Turn.ID || m.Author != w.author() ||
		string(m.Metadata) != string(parley.LinkChild(calls[0].message)) {
		t.Errorf("the result is %+v", m)
	}
	s := w.check(t, parent.Fence.SessionID)
	if !hasEvent(s.Events, parley.EventToolCompleted, 1) || s.Session.Status != parley.SessionRunning {
		t.Errorf("the parent is %s, its events %+v", s.Session.Status, s.Events)
	}
	w.check(t, child.Fence.SessionID)
	again := w.claim(t)
	if again.Turn.ID != parent.Turn.ID || again.Turn.Attempt != 2 {
		t.Errorf("the parent's turn is %+v", again.Turn)
	}
	w.answer(t, again, "done")
	before := w.check(t, parent.Fence.SessionID)
	w.exchange(t, child.Fence.SessionID, "and then?", "Still quiet.") // somebody continues with the child
	w.errands(t)
	w.unchanged(t, "another turn of the child", parent.Fence.SessionID, before)
	w.claimsNothing(t)
}

func childAll(t *testing.T, w *world) {
	parent, calls := w.asking(t, 3)
	claims := w.claimAll(t)
	if len(claims) != 3 {
		t.Fatalf("%d children are ready", len(claims))
	}
	for i, call := range calls {
		w.answer(t, claims[parley.ChildID(call.message)], fmt.Sprint("saw ", i))
		w.errands(t)
		results, _ := w.results(t, parent.Fence.SessionID)
		turn := w.turn(t, parent.Turn.ID)
		if len(results) != i+1 || (turn.Status == parley.TurnWaiting) != (i < 2) {
			t.Errorf("with %d at home there are %d results and the turn is %s", i+1, len(results), turn.Status)
		}
	}
	w.answer(t, w.claim(t), "done")
	w.check(t, parent.Fence.SessionID)
}

// childRunning: a child may finish before its parent waits for it.
func childRunning(t *testing.T, w *world) {
	parent := w.started(t, "go")
	calls := w.callAgents(t, parent.Fence, 1, 2)
	w.openChild(t, parent.Fence, calls[0])
	w.answer(t, w.claim(t), "quick")
	w.errands(t)
	results, _ := w.results(t, parent.Fence.SessionID)
	if turn := w.turn(t, parent.Turn.ID); len(results) != 1 || turn.Status != parley.TurnRunning {
		t.Errorf("%d results, the turn is %s", len(results), turn.Status)
	}
	_, err := w.store.SettleTool(w.ctx, parent.Fence, w.toolSettle(1, calls[0].id))
	refused(t, "a second result", err, parley.CodeConflict)
	w.openChild(t, parent.Fence, calls[1])
	w.answer(t, w.claim(t), "quick too")
	w.errands(t)
	_, err = w.store.ParkTurn(w.ctx, parent.Fence, parley.WaitChild)
	refused(t, "waiting for existing results", err, parley.CodeMore)
	w.answer(t, store.Claim{Fence: parent.Fence, Turn: parley.Turn{Step: 1}}, "done")
	w.check(t, parent.Fence.SessionID)
}

func childWithout(t *testing.T, w *world) {
	parent, calls := w.asking(t, 4)
	claims := w.claimAll(t)
	of := func(i int) store.Claim { return claims[parley.ChildID(calls[i].message)] }
	_, err := w.store.FinishTurn(w.ctx, of(0).Fence, *failed(parley.ClassAuth))
	must(t, "FinishTurn", err)
	_, err = w.store.FinishTurn(w.ctx, of(1).Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, of(2).Fence.SessionID))
	w.answer(t, of(3), strings.Repeat("ä", parley.MaxChildResultBytes/2+1))
	w.errands(t)
	contents, messages := w.results(t, parent.Fence.SessionID)
	byCall := map[string]parley.ToolResultContent{}
	for i, m := range messages {
		byCall[m.ToolCallID] = contents[i]
	}
	for i, want := range []string{parley.ClassAuth.Sentence(), "cancelled", "deleted"} {
		content := byCall[calls[i].id]
		if content.Error == nil || !strings.Contains(*content.Error, want) || content.Success {
			t.Errorf("child %d came home with %+v; want %q", i, content, want)
		}
	}
	var cut struct{ Text string }
	must(t, "the result", json.Unmarshal(byCall[calls[3].id].Result, &cut))
	if !byCall[calls[3].id].Success || len(cut.Text) > parley.MaxChildResultBytes+100 ||
		!strings.HasSuffix(cut.Text, "cut off here.]") {
		t.Errorf("a long answer came home as %d bytes", len(cut.Text))
	}
	w.answer(t, w.claim(t), "done")
	w.check(t, parent.Fence.SessionID)
}

func childLate(t *testing.T, w *world) {
	parent, _ := w.asking(t, 1)
	child := w.claim(t)
	begin := w.begin(t, child.Fence, 1)
	settle := settlement(begin, "too late")
	settle.End = completed()
	w.settle(t, child.Fence, settle) // its errand waits
	_, err := w.store.RequestCancel(w.ctx, w.scope, parent.Fence.SessionID, parley.ID{}, false)
	must(t, "RequestCancel", err)
	before := w.check(t, parent.Fence.SessionID)
	w.errands(t)
	w.unchanged(t, "an answer after the cancel", parent.Fence.SessionID, before)
	w.claimsNothing(t)
	w.exchange(t, parent.Fence.SessionID, "next", "fine")
}

func childClient(t *testing.T, w *world) {
	claim := w.started(t, "go")
	calls := w.callAgents(t, claim.Fence, 1, 1)
	w.openChild(t, claim.Fence, calls[0])
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitToolResult) // as if another call needed a client
	must(t, "ParkTurn", err)
	before := w.check(t, claim.Fence.SessionID)
	_, err = w.store.PostMessage(w.ctx, w.scope, claim.Fence.SessionID, w.result(calls[0].id), parley.ID{})
	refused(t, "a client's answer", err, parley.CodeConflict)
	w.unchanged(t, "a client's answer", claim.Fence.SessionID, before)
}

func childSteer(t *testing.T, w *world) {
	claim := w.started(t, "go")
	call := w.callAgents(t, claim.Fence, 1, 1)[0]
	w.openChild(t, claim.Fence, call)
	w.post(t, claim.Fence.SessionID, w.say("and hurry", during(parley.DuringSteer)))
	turn, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitChild)
	must(t, "ParkTurn", err)
	if turn.Status != parley.TurnWaiting {
		t.Errorf("the turn is %s", turn.Status)
	}
	w.answer(t, w.claim(t), "seen")
	w.errands(t)
	again := w.claim(t)
	steers, err := w.store.PendingSteers(w.ctx, again.Fence)
	must(t, "PendingSteers", err)
	if len(steers) != 1 {
		t.Errorf("%d steers are undelivered", len(steers))
	}
	begin := w.begin(t, again.Fence, 2, steers...)
	last := settlement(begin, "done")
	last.End = completed()
	w.settle(t, again.Fence, last)
	w.check(t, claim.Fence.SessionID)
}

// childFair: a long errand is done in parts, with others in between.
func childFair(t *testing.T, w *world) {
	project, _, err := w.store.ChooseProject(
		w.ctx,
		parley.Project{ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Path: "/work", Name: "work"},
	)
	must(t, "ChooseProject", err)
	for range 200 {
		w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	}
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, false))
	parent, _ := w.asking(t, 1)
	w.answer(t, w.claim(t), "seen")
	for range 3 { // a part that ends in the same millisecond as the answer goes first once more
		_, _, err := w.store.ApplyOutbox(w.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
	}
	if results, _ := w.results(t, parent.Fence.SessionID); len(results) != 1 {
		t.Error("the answer is still waiting for a long errand")
	}
}

func childTree(t *testing.T, w *world) {
	parent, calls := w.asking(t, 2)
	claims := w.claimAll(t)
	first, second := claims[parley.ChildID(calls[0].message)], claims[parley.ChildID(calls[1].message)]
	w.openChild(t, second.Fence, w.callAgents(t, second.Fence, 1, 1)[0])
	w.answer(t, first, "one")
	deepest := w.claim(t)
	w.answer(t, deepest, "deep")
	tree, err := w.store.Tree(w.ctx, w.scope, parent.Fence.SessionID)
	must(t, "Tree", err)
	want := []struct {
		id       parley.ID
		depth    int
		status   parley.SessionStatus
		own, sum int64 // sessions' calls, in units of callEnd
		sessions int64
	}{
		{parent.Fence.SessionID, 0, parley.SessionWaiting, 1, 4, 4},
		{first.Fence.SessionID, 1, parley.SessionCompleted, 1, 1, 1},
		{second.Fence.SessionID, 1, parley.SessionRunning, 1, 2, 2},
		{deepest.Fence.SessionID, 2, parley.SessionCompleted, 1, 1, 1},
	}
	if len(tree.Data) != len(want) || tree.Truncated {
		t.Fatalf("the tree has %d sessions, truncated %v", len(tree.Data), tree.Truncated)
	}
	for i, node := range tree.Data {
		u := want[i]
		if node.ID != u.id || node.Depth != u.depth || node.Status != u.status || node.AgentSlug != w.agent.Slug ||
			node.AgentID != w.agent.ID ||
			node.Statistics.InputTokens != 10*u.own || node.Total.InputTokens != 10*u.sum ||
			node.Total.OutputTokens != 4*u.sum || node.Total.CachedTokens != 3*u.sum ||
			node.Statistics.Cost != parley.Money(7*u.own) || node.Total.Cost != parley.Money(7*u.sum) ||
			node.Total.Sessions != u.sessions ||
			node.Total.Turns != u.sessions {
			t.Errorf("position %d is %+v; want %+v", i, node, u)
		}
		if own := w.sessionState(t, node.ID).Statistics; own != node.Statistics {
			t.Errorf("its own statistics are %+v, in the tree %+v", own, node.Statistics)
		}
	}
	if tree.Total != tree.Data[0].Total {
		t.Errorf("the total is %+v", tree.Total)
	}
	part, err := w.store.Tree(w.ctx, w.scope, second.Fence.SessionID)
	must(t, "Tree", err)
	if len(part.Data) != 2 || part.Data[0].Depth != 0 || part.Data[0].ParentSessionID != parent.Fence.SessionID ||
		part.Total.Sessions != 2 {
		t.Errorf("the tree from the middle is %+v", part)
	}
}

func childTreeScope(t *testing.T, w *world) {
	parent, calls := w.asking(t, 2)
	session := parent.Fence.SessionID
	hidden := parley.ChildID(calls[0].message)
	private := parley.VisibilityPrivate
	shared := parley.VisibilityWorkspace
	for _, id := range []parley.ID{session, parley.ChildID(calls[1].message)} {
		_, err := w.store.UpdateSession(w.ctx, w.scope, id, store.SessionChange{Visibility: &shared})
		must(t, "UpdateSession", err)
	}
	_, err := w.store.UpdateSession(w.ctx, w.scope, hidden, store.SessionChange{Visibility: &private})
	must(t, "UpdateSession", err)
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	tree, err := w.store.Tree(w.ctx, stranger, session)
	must(t, "Tree", err)
	if len(tree.Data) != 2 || slices.ContainsFunc(tree.Data, func(n parley.TreeNode) bool { return n.ID == hidden }) {
		t.Errorf("a stranger sees %+v", tree.Data)
	}
	_, err = w.store.Tree(w.ctx, stranger, hidden)
	refused(t, "a private session's tree", err, parley.CodeNotFound)
	_, err = w.store.Tree(w.ctx, store.Scope{WorkspaceID: w.neighbour(t, "elsewhere").scope.WorkspaceID}, session)
	refused(t, "a foreign session's tree", err, parley.CodeNotFound)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, hidden))
	tree, err = w.store.Tree(w.ctx, w.scope, session)
	must(t, "Tree", err)
	if len(tree.Data) != 2 {
		t.Errorf("with one child deleted the tree has %d sessions", len(tree.Data))
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	_, err = w.store.Tree(w.ctx, w.scope, session)
	refused(t, "a deleted session's tree", err, parley.CodeNotFound)
}
