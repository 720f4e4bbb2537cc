package storetest

import (
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testPipelines(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"EachNodeBeginsWhenItsInputsExist": pipelineRuns,
		"ARepeatGivesTheFirstRun":          pipelineRepeated,
		"AJoinWaitsForTheLastOfItsInputs":  pipelineJoins,
		"WhatFailedIsRetriedAlone":         pipelineRetried,
		"ACancelStopsWhatIsUnfinished":     pipelineCancelled,
		"ADeletedTransformFails":           pipelineTransformDeleted,
		"WhatCannotBeginFails":             pipelineRefused,
		"WhatCannotBeginYetGoesBehind":     pipelinePostponed,
		"ListsAndScopes":                   pipelineLists,
		"ItIsPurgedWithItsSession":         pipelinePurged,
	})
}

// node returns a node that reads what others write.
func node(name string, from ...string) parley.PipelineNode {
	n := parley.PipelineNode{
		Name: name, Instructions: "Write " + name + ".", Inputs: []parley.PipelineEdge{},
		Outputs: []parley.PipelineTarget{{TransformTarget: parley.TransformTarget{
			Name: "content", Kind: parley.ArtifactMarkdown, Title: name,
		}}},
	}
	for _, other := range from {
		n.Inputs = append(n.Inputs, parley.PipelineEdge{Node: other})
	}
	return n
}

// diamond is a graph with a join: two nodes read from the first, the last reads from both.
func diamond() []parley.PipelineNode {
	return []parley.PipelineNode{node("top"), node("left", "top"), node("right", "top"), node("join", "left", "right")}
}

func (w *world) newRun(nodes ...parley.PipelineNode) store.NewPipelineRun {
	session := w.newSession()
	session.Kind, session.Mode, session.Type = parley.KindTool, parley.ModeBackground, parley.PipelineRunType
	return store.NewPipelineRun{
		Session:  store.NewSession{Session: session},
		Author:   w.owner.Author(),
		Pipeline: parley.Pipeline{Name: "book", Parallel: 4, Documents: []parley.PipelineDocument{}, Nodes: nodes},
	}
}

func (w *world) startRun(t reporter, nodes ...parley.PipelineNode) parley.ID {
	t.Helper()
	creating := w.newRun(nodes...)
	run, _, err := w.store.CreatePipelineRun(w.ctx, w.scope, creating)
	must(t, "CreatePipelineRun", err)
	if run.ID != creating.Session.Session.ID {
		t.Fatalf("the run is %s, its session %s", run.ID, creating.Session.Session.ID)
	}
	return run.ID
}

func (w *world) run(t reporter, id parley.ID) parley.PipelineRun {
	t.Helper()
	run, err := w.store.PipelineRun(w.ctx, w.scope, id)
	must(t, "PipelineRun", err)
	return run
}

// beginning returns how a transform of a run begins.
func (w *world) beginning(run *parley.PipelineRun, start parley.PipelineStart) store.PipelineBegin {
	n := &run.Nodes[start.Node].Node
	session := w.newSession()
	session.ID = parley.PipelineTransformID(run.ID, n.Name, start.Instance, start.Attempt)
	session.Kind, session.Mode, session.Type = parley.KindTool, parley.ModeBackground, parley.PipelineNodeType
	first := w.say(n.Instructions)
	made := parley.Transform{
		ID: session.ID, RunID: run.ID, Node: n.Name, CreatedByID: w.owner.ID,
		TransformSpec: parley.TransformSpec{Name: n.Name, AgentID: w.agent.ID, Instructions: n.Instructions},
		Inputs:        []parley.TransformInput{},
		Outputs: []parley.TransformOutput{{
			Position: 1, TransformTarget: n.Outputs[0].TransformTarget, ArtifactID: parley.NewID(), Creates: true,
		}},
	}
	return store.PipelineBegin{
		WorkspaceID: run.WorkspaceID, RunID: run.ID, Start: start,
		Session: store.NewSession{Session: session, First: &first, Transform: &made},
	}
}

// begins begins everything that is due in a run, as its worker does, and returns the names of the nodes.
func (w *world) begins(t reporter, id parley.ID) (names []string) {
	t.Helper()
	run := w.run(t, id)
	for _, start := range run.Due() {
		began, err := w.store.BeginPipelineNode(w.ctx, w.beginning(&run, start))
		must(t, "BeginPipelineNode", err)
		if !began {
			t.Fatalf("%s does not begin: %+v", run.Nodes[start.Node].Node.Name, run)
		}
		names = append(names, run.Nodes[start.Node].Node.Name)
	}
	return names
}

// begun requires that exactly these nodes begin, and returns the claims of their turns by node.
func (w *world) begun(t reporter, id parley.ID, want ...string) map[string]store.Claim {
	t.Helper()
	if got := w.begins(t, id); !slices.Equal(got, want) {
		t.Fatalf("%q begin, want %q", got, want)
	}
	run, claims := w.run(t, id), map[string]store.Claim{}
	for session, claim := range w.claimAll(t) {
		for i := range run.Nodes {
			if slices.ContainsFunc(run.Nodes[i].Instances, func(one parley.PipelineInstance) bool {
				return one.TransformID == session
			}) {
				claims[run.Nodes[i].Node.Name] = claim
			}
		}
	}
	if len(claims) != len(want) {
		t.Fatalf("%d turns can run, want those of %q", len(claims), want)
	}
	return claims
}

// transformed ends the turn of a transform with its document.
func (w *world) transformed(t reporter, claim store.Claim) {
	t.Helper()
	made, err := w.store.Transform(w.ctx, w.scope, claim.Fence.SessionID) // they share the id
	must(t, "Transform", err)
	begin := w.begin(t, claim.Fence, claim.Turn.Step+1)
	settle := settlement(begin, "Here is "+made.Node)
	settle.End = completed()
	settle.End.Transform = &store.TransformEnd{
		Transform: made, Author: w.owner.Author(), MessageID: begin.Call.MessageID, Chunks: 1,
		Written: []store.TransformWriting{{
			Output: made.Outputs[0], Content: contentFor("This is "+made.Node+made.ID.String(), nil),
		}},
	}
	w.settle(t, claim.Fence, settle)
}

// nodesAre requires the states of a run and of its nodes.
func (w *world) nodesAre(t reporter, id parley.ID, status parley.PipelineStatus, nodes ...parley.PipelineStatus) {
	t.Helper()
	run := w.run(t, id)
	var got []parley.PipelineStatus
	for i := range run.Nodes {
		got = append(got, run.Nodes[i].Status)
	}
	if run.Status != status || !slices.Equal(got, nodes) {
		t.Fatalf("the run is %s, its nodes %s; want %s, %s", run.Status, got, status, nodes)
	}
}

const (
	pending      = parley.PipelinePending
	runs         = parley.PipelineRunning
	hasCompleted = parley.PipelineCompleted
	hasFailed    = parley.PipelineFailed
	isCancelled  = parley.PipelineCancelled
)

func pipelineRuns(t *testing.T, w *world) {
	id := w.startRun(t, diamond()...)
	w.nodesAre(t, id, pending, pending, pending, pending, pending)
	due, err := w.store.DuePipelineRuns(w.ctx, 10)
	must(t, "DuePipelineRuns", err)
	if diff := cmp.Diff([]parley.PipelineRun{w.run(t, id)}, due); diff != "" {
		t.Fatalf("due (-want +got):\n%s", diff)
	}
	read := w.run(t, id)
	begin := w.beginning(&read, read.Due()[0])
	top := w.begun(t, id, "top")["top"]
	again, err := w.store.BeginPipelineNode(w.ctx, begin)
	if err != nil || again {
		t.Fatalf("a node begins twice: %v, %v", again, err)
	}
	if due, err = w.store.DuePipelineRuns(w.ctx, 10); err != nil || len(due) > 0 {
		t.Fatalf("while the first node runs, %+v is due, %v", due, err)
	}
	session, err := w.store.Session(w.ctx, w.scope, top.Fence.SessionID)
	must(t, "Session", err)
	if session.ParentSessionID != id || session.Depth != 1 || session.OwnerID != w.owner.ID ||
		session.Kind != parley.KindTool {
		t.Errorf("the transform stands in %+v", session)
	}
	w.transformed(t, top)
	w.nodesAre(t, id, runs, runs, pending, pending, pending) // until the outbox tells the run
	w.errands(t)
	w.nodesAre(t, id, runs, hasCompleted, pending, pending, pending)
	both := w.begun(t, id, "left", "right")
	w.transformed(t, both["left"])
	w.errands(t)
	if names := w.begins(t, id); len(names) > 0 {
		t.Fatalf("%q begin before the right one has ended", names)
	}
	w.transformed(t, both["right"])
	w.errands(t)
	w.transformed(t, w.begun(t, id, "join")["join"])
	w.errands(t)
	w.nodesAre(t, id, hasCompleted, hasCompleted, hasCompleted, hasCompleted, hasCompleted)
	run := w.run(t, id)
	if run.StartedAt == 0 || run.EndedAt < run.StartedAt || run.Cost != 4*7 {
		t.Errorf("the run ended as %+v", run)
	}
	for i := range run.Nodes {
		out := run.Nodes[i].Instances[0].Outputs
		if len(out) != 1 {
			t.Fatalf("%s wrote %+v", run.Nodes[i].Node.Name, out)
		}
		a, err := w.store.Artifact(w.ctx, w.scope, out[0].ArtifactID)
		must(t, "Artifact", err)
		if a.Name != run.Nodes[i].Node.Name || a.Version != out[0].Version {
			t.Errorf("%s wrote %+v", run.Nodes[i].Node.Name, a)
		}
	}
	w.check(t, id)
	var told []parley.EventType
	events, err := w.store.Events(w.ctx, w.scope, id, 0, 100)
	must(t, "Events", err)
	for _, e := range events {
		told = append(told, e.Type)
	}
	updated, progress := parley.EventPipelineUpdated, parley.EventToolProgress
	if want := []parley.EventType{
		updated, progress, updated, progress, progress, progress, progress, progress, progress, progress, updated,
	}; !slices.Equal(told, want) {
		t.Errorf("the run told %q, want %q", told, want)
	}
}

func pipelineRepeated(t *testing.T, w *world) {
	creating := w.newRun(diamond()...)
	creating.Session.Idempotency = store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	first, repeat, err := w.store.CreatePipelineRun(w.ctx, w.scope, creating)
	if err != nil || repeat {
		t.Fatal(repeat, err)
	}
	again := w.newRun(diamond()...)
	again.Session.Idempotency = creating.Session.Idempotency
	second, repeat, err := w.store.CreatePipelineRun(w.ctx, w.scope, again)
	if err != nil || !repeat || second.ID != first.ID {
		t.Fatalf("a repeat gives %s, %v, %v", second.ID, repeat, err)
	}
	again.Session.Idempotency.Fingerprint = parley.HashOf([]byte("other"))
	_, _, err = w.store.CreatePipelineRun(w.ctx, w.scope, again)
	refused(t, "another body under the key", err, parley.CodeKeyReused)
}

// pipelineJoins ends both inputs of a join at once, several times, and applies the errands from several goroutines.
func pipelineJoins(t *testing.T, w *world) { joins(t, w, w) }

func joins(t *testing.T, w, other *world) {
	for range 5 {
		id := w.startRun(t, diamond()...)
		w.transformed(t, w.begun(t, id, "top")["top"])
		w.errands(t)
		both := w.begun(t, id, "left", "right")
		together(func() { w.transformed(t, both["left"]) }, func() { other.transformed(t, both["right"]) })
		together(func() { w.errands(t) }, func() { other.errands(t) }, func() { w.errands(t) })
		w.errands(t)
		run := w.run(t, id)
		due := run.Due()
		if len(due) != 1 || run.Nodes[due[0].Node].Node.Name != "join" {
			t.Fatalf("%+v is due after both ended: %+v", due, run)
		}
		var two [2]bool
		together(
			func() { two[0], _ = w.store.BeginPipelineNode(w.ctx, w.beginning(&run, due[0])) },
			func() { two[1], _ = other.store.BeginPipelineNode(other.ctx, other.beginning(&run, due[0])) },
		)
		if two[0] == two[1] {
			t.Fatalf("the join begins %v", two)
		}
		for _, claim := range w.claimAll(t) {
			w.transformed(t, claim)
		}
		w.errands(t)
		w.nodesAre(t, id, hasCompleted, hasCompleted, hasCompleted, hasCompleted, hasCompleted)
	}
}

// together runs functions at the same time, and waits for all.
func together(works ...func()) {
	var all sync.WaitGroup
	for _, work := range works {
		all.Go(work)
	}
	all.Wait()
}

// fails ends the turn of a transform with a failure.
func (w *world) fails(t reporter, claim store.Claim) {
	t.Helper()
	begin := w.begin(t, claim.Fence, claim.Turn.Step+1)
	settle := settlement(begin, "Sorry")
	settle.End = failed(parley.ClassModel)
	w.settle(t, claim.Fence, settle)
}

func pipelineRetried(t *testing.T, w *world) {
	id := w.startRun(t, diamond()...)
	w.transformed(t, w.begun(t, id, "top")["top"])
	w.errands(t)
	both := w.begun(t, id, "left", "right")
	w.fails(t, both["left"])
	w.errands(t)
	w.nodesAre(t, id, runs, hasCompleted, hasFailed, runs, pending)
	_, err := w.store.RetryPipelineRun(w.ctx, w.scope, id)
	refused(t, "a retry while something runs", err, parley.CodeConflict)
	w.transformed(t, both["right"])
	w.errands(t)
	w.nodesAre(t, id, hasFailed, hasCompleted, hasFailed, hasCompleted, pending)
	kept, before := w.run(t, id).Nodes[2].Instances[0], w.run(t, id).Nodes[1].Instances[0]
	if before.Failure == "" {
		t.Error("the failed node does not say why")
	}
	_, err = w.store.CancelPipelineRun(w.ctx, w.scope, id)
	refused(t, "cancelling what has ended", err, parley.CodeConflict)
	run, err := w.store.RetryPipelineRun(w.ctx, w.scope, id)
	must(t, "RetryPipelineRun", err)
	if run.EndedAt != 0 || run.Status.Finished() {
		t.Errorf("after the retry the run is %+v", run)
	}
	w.transformed(t, w.begun(t, id, "left")["left"])
	w.errands(t)
	w.transformed(t, w.begun(t, id, "join")["join"])
	w.errands(t)
	w.nodesAre(t, id, hasCompleted, hasCompleted, hasCompleted, hasCompleted, hasCompleted)
	run = w.run(t, id)
	if one := run.Nodes[1].Instances[0]; one.Attempt != 2 || one.RetryOf != before.TransformID ||
		one.TransformID == before.TransformID {
		t.Errorf("the retried node is %+v", one)
	}
	if diff := cmp.Diff(kept, run.Nodes[2].Instances[0]); diff != "" {
		t.Errorf("what had completed changed (-before +after):\n%s", diff)
	}
	_, err = w.store.RetryPipelineRun(w.ctx, w.scope, id)
	refused(t, "retrying what has completed", err, parley.CodeConflict)
}

func pipelineCancelled(t *testing.T, w *world) {
	id := w.startRun(t, diamond()...)
	w.transformed(t, w.begun(t, id, "top")["top"])
	w.errands(t)
	both := w.begun(t, id, "left", "right")
	_, err := w.store.CancelPipelineRun(w.ctx, w.scope, id)
	must(t, "CancelPipelineRun", err)
	w.nodesAre(t, id, runs, hasCompleted, runs, runs, isCancelled)
	w.transformed(t, both["left"]) // it had ended when it was asked to stop
	w.errands(t)
	if due, err := w.store.DuePipelineRuns(w.ctx, 10); err != nil || len(due) > 0 {
		t.Fatalf("after the cancel %+v is due, %v", due, err)
	}
	must(t, "release", w.store.ReleaseTurn(w.ctx, both["right"].Fence)) // nobody holds it
	_, err = w.store.CancelPipelineRun(w.ctx, w.scope, id)
	must(t, "CancelPipelineRun again", err)
	w.errands(t)
	w.nodesAre(t, id, isCancelled, hasCompleted, hasCompleted, isCancelled, isCancelled)
	_, err = w.store.RetryPipelineRun(w.ctx, w.scope, id)
	must(t, "RetryPipelineRun", err)
	w.transformed(t, w.begun(t, id, "right")["right"])
	w.errands(t)
	w.transformed(t, w.begun(t, id, "join")["join"])
	w.errands(t)
	w.nodesAre(t, id, hasCompleted, hasCompleted, hasCompleted, hasCompleted, hasCompleted)
}

func pipelineTransformDeleted(t *testing.T, w *world) {
	id := w.startRun(t, node("top"), node("next", "top"))
	top := w.begun(t, id, "top")["top"]
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, top.Fence.SessionID))
	w.errands(t)
	run := w.run(t, id)
	if run.Status != hasFailed && run.Status != isCancelled || run.EndedAt == 0 {
		t.Fatalf("the run waits for a transform that was deleted: %+v", run)
	}
}

func pipelineRefused(t *testing.T, w *world) {
	each := node("each", "top")
	each.Inputs[0].Each = true
	id := w.startRun(t, node("top"), each)
	run := w.run(t, id)
	wrong := w.beginning(&run, run.Due()[0])
	wrong.Session.Session.AgentID = parley.NewID()
	_, err := w.store.BeginPipelineNode(w.ctx, wrong)
	refused(t, "a transform of an unknown agent", err, parley.CodeNotFound)
	if diff := cmp.Diff(run, w.run(t, id)); diff != "" {
		t.Fatalf("a refusal changed the run (-before +after):\n%s", diff)
	}
	w.transformed(t, w.begun(t, id, "top")["top"])
	w.errands(t)
	refusedToo, err := w.store.RefusePipelineNode(w.ctx, w.scope.WorkspaceID, id,
		parley.PipelineStart{Node: 1, Instance: -1}, "It is not an array.")
	if err != nil || !refusedToo {
		t.Fatal(refusedToo, err)
	}
	w.nodesAre(t, id, hasFailed, hasCompleted, hasFailed)
	if why := w.run(t, id).Nodes[1].Failure; why != "It is not an array." {
		t.Errorf("the node failed because %q", why)
	}
	_, err = w.store.RetryPipelineRun(w.ctx, w.scope, id)
	must(t, "RetryPipelineRun", err)
	for range 2 {
		opened, err := w.store.OpenPipelineNode(w.ctx, w.scope.WorkspaceID, id, 1, 3)
		must(t, "OpenPipelineNode", err)
		if run := w.run(t, id); len(run.Nodes[1].Instances) != 3 {
			t.Fatalf("opened %v: %+v", opened, run.Nodes[1])
		}
	}
	for _, claim := range w.claimsOfBegun(t, id, 3) {
		w.transformed(t, claim)
	}
	w.errands(t)
	w.nodesAre(t, id, hasCompleted, hasCompleted, hasCompleted)
}

func (w *world) claimsOfBegun(t reporter, id parley.ID, want int) map[parley.ID]store.Claim {
	t.Helper()
	if names := w.begins(t, id); len(names) != want {
		t.Fatalf("%q begin, want %d", names, want)
	}
	return w.claimAll(t)
}

func pipelineLists(t *testing.T, w *world) {
	first, second := w.startRun(t, node("a")), w.startRun(t, node("a"))
	w.begins(t, second)
	stranger := w.scope
	stranger.ViewerID = parley.NewID()
	list := func(scope store.Scope, query store.PipelineQuery) (ids []parley.ID) {
		t.Helper()
		query.Limit = 10
		found, err := w.store.PipelineRuns(w.ctx, scope, query)
		must(t, "PipelineRuns", err)
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		return ids
	}
	foreign := w.neighbour(t, "other").scope
	owner := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	for name, c := range map[string]struct {
		scope store.Scope
		query store.PipelineQuery
		want  []parley.ID
	}{
		"all":               {w.scope, store.PipelineQuery{}, []parley.ID{second, first}},
		"ascending":         {w.scope, store.PipelineQuery{Ascending: true}, []parley.ID{first, second}},
		"after":             {w.scope, store.PipelineQuery{AfterID: second}, []parley.ID{first}},
		"by status":         {w.scope, store.PipelineQuery{Status: runs}, []parley.ID{second}},
		"of no project":     {w.scope, store.PipelineQuery{ProjectID: parley.NewID()}, nil},
		"of a stranger":     {stranger, store.PipelineQuery{}, nil},
		"of another tenant": {foreign, store.PipelineQuery{}, nil},
		"of the owner":      {owner, store.PipelineQuery{}, []parley.ID{second, first}},
	} {
		if got := list(c.scope, c.query); !slices.Equal(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for _, scope := range []store.Scope{stranger, foreign} {
		_, err := w.store.PipelineRun(w.ctx, scope, first)
		refused(t, "PipelineRun", err, parley.CodeNotFound)
		_, err = w.store.CancelPipelineRun(w.ctx, scope, first)
		refused(t, "CancelPipelineRun", err, parley.CodeNotFound)
		_, err = w.store.RetryPipelineRun(w.ctx, scope, first)
		refused(t, "RetryPipelineRun", err, parley.CodeNotFound)
	}
	began, err := w.store.OpenPipelineNode(w.ctx, foreign.WorkspaceID, first, 0, 1)
	if err != nil || began {
		t.Errorf("another tenant opens a node: %v, %v", began, err)
	}
}

func pipelinePurged(t *testing.T, w *world) {
	id := w.startRun(t, diamond()...)
	top := w.begun(t, id, "top")["top"]
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	_, err := w.store.PipelineRun(w.ctx, w.scope, id)
	refused(t, "PipelineRun", err, parley.CodeNotFound)
	_, err = w.store.Session(w.ctx, w.scope, top.Fence.SessionID)
	refused(t, "the session of a transform", err, parley.CodeNotFound)
	w.drainOutbox(t)
	if due, err := w.store.DuePipelineRuns(w.ctx, 10); err != nil || len(due) > 0 {
		t.Fatalf("a purged run is due: %+v, %v", due, err)
	}
}

func pipelinePostponed(t *testing.T, w *world) {
	first, second := w.startRun(t, node("a")), w.startRun(t, node("b"))
	due := func() (ids []parley.ID, found []parley.PipelineRun) {
		t.Helper()
		found, err := w.store.DuePipelineRuns(w.ctx, 1)
		must(t, "DuePipelineRuns", err)
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		return ids, found
	}
	ids, found := due()
	if !slices.Equal(ids, []parley.ID{first}) {
		t.Fatalf("due are %s, want the run %s", ids, first)
	}
	must(t, "PostponePipelineRun", w.store.PostponePipelineRun(w.ctx, &found[0]))
	if ids, _ := due(); !slices.Equal(ids, []parley.ID{second}) {
		t.Fatalf("behind it, due are %s, want the run %s", ids, second)
	}
	put := w.run(t, first)
	if rest := put.DueAt - put.UpdatedAt; rest < parley.Time(store.PipelineRest.Milliseconds()) ||
		rest > parley.Time((store.PipelineRest+store.MaxPipelineRest).Milliseconds()) {
		t.Errorf("it is put off by %d ms", rest)
	}
	stale := w.run(t, second)
	w.begun(t, second, "b")
	must(t, "PostponePipelineRun of one that moved", w.store.PostponePipelineRun(w.ctx, &stale))
	if now := w.run(t, second); now.DueAt != 0 {
		t.Errorf("a run in which nothing is due is put off until %d", now.DueAt)
	}
	if ids, _ := due(); len(ids) > 0 {
		t.Errorf("due are %s", ids)
	}
	_, err := w.store.RefusePipelineNode(w.ctx, w.scope.WorkspaceID, first, put.Due()[0], "It cannot begin.")
	must(t, "RefusePipelineNode", err)
	_, err = w.store.RetryPipelineRun(w.ctx, w.scope, first)
	must(t, "RetryPipelineRun", err)
	if ids, _ := due(); !slices.Equal(ids, []parley.ID{first}) {
		t.Errorf("after it has moved, due are %s, want the run %s", ids, first)
	}
}
