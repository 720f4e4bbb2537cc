package transition

import (
	"fmt"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// A run of a pipeline moves under the lock of its session. What it decides is in parley.PipelineRun; here it meets
// sessions, events and errands.

// PipelineCreated is the result of CreatePipelineRun.
type PipelineCreated struct {
	Run      parley.PipelineRun
	Replayed bool
}

// CreatePipelineRun implements the transition of store.Pipelines.
func (t *Tx) CreatePipelineRun(scope store.Scope, creating store.NewPipelineRun) (created PipelineCreated, err error) {
	earlier, err := t.openedBefore(scope, creating.Session)
	if err != nil {
		return created, err
	}
	if earlier != nil {
		run, err := t.pipelineRun(scope.WorkspaceID, earlier.Session.ID)
		if err == nil && run == nil {
			err = KeyReused() // the key made another session
		}
		return PipelineCreated{parley.ValueOf(run), true}, err
	}
	if len(creating.Pipeline.Nodes) == 0 {
		return created, parley.Errorf(parley.CodeConflict,
			"nothing is stale: this document is made from the newest versions, or from what can't run again")
	}
	if err := t.checkNew(scope, &creating.Session); err != nil {
		return created, err
	}
	h := t.createSession(creating.Session)
	run := &parley.PipelineRun{
		ID: h.ID, WorkspaceID: h.WorkspaceID, ProjectID: h.ProjectID, AgentID: h.AgentID, OwnerID: h.OwnerID,
		Author: creating.Author, Revision: 1,
	}
	run.Start(&creating.Pipeline, t.now)
	h.Changes.NewPipelineRun = run
	t.tellRun(h, run)
	return PipelineCreated{Run: *run}, nil
}

func (t *Tx) pipelineRun(workspaceID, id parley.ID) (*parley.PipelineRun, error) {
	return t.rows.PipelineRun(workspaceID, id)
}

// lockRun locks the session of a run and reads the run; nil if it is gone.
func (t *Tx) lockRun(workspaceID, id parley.ID) (*Head, *parley.PipelineRun, error) {
	h, err := t.load(id)
	if err != nil || h == nil || h.DeletedAt != 0 || h.WorkspaceID != workspaceID {
		return nil, nil, err
	}
	run, err := t.pipelineRun(workspaceID, id)
	return h, run, err
}

// moveRun writes a run that has moved on, and tells of its status if that has changed.
func (t *Tx) moveRun(h *Head, run *parley.PipelineRun, before parley.PipelineStatus) {
	run.Revision++
	h.Changes.PipelineRun, h.Changes.Head = run, true
	if run.Status != before {
		t.tellRun(h, run)
	}
}

func (t *Tx) tellRun(h *Head, run *parley.PipelineRun) {
	t.event(h, parley.ID{}, event.PipelineUpdated{RunID: run.ID, Status: run.Status}.Encode())
	t.touch(h)
	t.updatedFeed(h)
}

// tellNode tells the watchers of a run how far one of its nodes is.
func (t *Tx) tellNode(h *Head, run *parley.PipelineRun, node int, transformID, turnID parley.ID, how string) {
	n := &run.Nodes[node]
	total, done := float64(len(n.Instances)), 0.0
	for i := range n.Instances {
		if n.Instances[i].Status.Finished() {
			done++
		}
	}
	t.event(h, turnID, event.ToolProgress{
		TurnID: turnID, ToolCallID: transformID.String(), Name: n.Node.Name, Progress: done, Total: &total,
		Message: fmt.Sprintf("%s: %s", n.Node.Name, how),
	}.Encode())
}

// CancelPipelineRun implements the transition of store.Pipelines.
func (t *Tx) CancelPipelineRun(scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	h, run, err := t.lockRunFor(scope, id)
	if err != nil {
		return parley.PipelineRun{}, err
	}
	before := run.Status
	unfinished, err := run.Cancel(t.now)
	if err != nil {
		return parley.PipelineRun{}, err
	}
	for _, transformID := range unfinished {
		h.leave(StopTransform{SessionID: transformID}, 0)
	}
	t.moveRun(h, run, before)
	return *run, nil
}

// RetryPipelineRun implements the transition of store.Pipelines.
func (t *Tx) RetryPipelineRun(scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	h, run, err := t.lockRunFor(scope, id)
	if err != nil {
		return parley.PipelineRun{}, err
	}
	if h.ArchivedAt != 0 {
		return parley.PipelineRun{}, parley.Errorf(parley.CodeArchived,
			`the session of this run is archived; reopen it with PATCH {"archived": false}, then retry the run`)
	}
	before := run.Status
	if err := run.Retry(t.now); err != nil {
		return parley.PipelineRun{}, err
	}
	t.moveRun(h, run, before)
	return *run, nil
}

func (t *Tx) lockRunFor(scope store.Scope, id parley.ID) (*Head, *parley.PipelineRun, error) {
	h, err := t.lock(scope, id)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return nil, nil, NotFound("run")
	} else if err != nil {
		return nil, nil, err
	}
	run, err := t.pipelineRun(scope.WorkspaceID, id)
	if err == nil && run == nil {
		err = NotFound("run")
	}
	return h, run, err
}

// OpenPipelineNode implements the transition of store.Pipelines.
func (t *Tx) OpenPipelineNode(workspaceID, runID parley.ID, node, count int) (bool, error) {
	h, run, err := t.lockRun(workspaceID, runID)
	if err != nil || run == nil {
		return false, err
	}
	before := run.Status
	if !run.Open(node, count, t.now) {
		return false, nil
	}
	t.moveRun(h, run, before)
	return true, nil
}

// RefusePipelineNode implements the transition of store.Pipelines.
func (t *Tx) RefusePipelineNode(
	workspaceID, runID parley.ID, start parley.PipelineStart, reason string,
) (bool, error) {
	h, run, err := t.lockRun(workspaceID, runID)
	if err != nil || run == nil {
		return false, err
	}
	before := run.Status
	if !run.Refuse(start, reason, t.now) {
		return false, nil
	}
	t.moveRun(h, run, before)
	return true, nil
}

// BeginPipelineNode implements the transition of store.Pipelines.
func (t *Tx) BeginPipelineNode(begin store.PipelineBegin) (bool, error) {
	h, run, err := t.lockRun(begin.WorkspaceID, begin.RunID)
	if err != nil || run == nil {
		return false, err
	}
	before := run.Status
	transformID, began := run.Begin(begin.Start, t.now)
	if !began {
		return false, nil
	}
	wanted := begin.Session // the closure may run again
	session := &wanted.Session
	if wanted.First == nil || wanted.Transform == nil || wanted.Transform.ID != transformID ||
		session.ID != transformID {
		return false, parley.Errorf(parley.CodeConflict, "a node of a run needs the ids that the run gives it")
	}
	session.OwnerID, session.Visibility, session.ParentSessionID = h.OwnerID, h.Visibility, h.ID
	if err := t.checkAgent(h.WorkspaceID, session.AgentID); err != nil {
		return false, err
	}
	if err := t.checkProject(h.WorkspaceID, session.ProjectID); err != nil {
		return false, err
	}
	if err := descend(session, h); err != nil {
		return false, err
	}
	if wanted.Quota.Principal, err = t.rows.SessionsAllowed(h.WorkspaceID, h.OwnerID); err != nil {
		return false, err
	}
	if err := t.checkQuota(session, wanted.Quota); err != nil {
		return false, err
	}
	child := t.createSession(wanted)
	t.openTransform(child, &wanted)
	if _, err := t.post(child, *wanted.First, parley.ID{}); err != nil {
		return false, err
	}
	t.tellNode(h, run, begin.Start.Node, transformID, wanted.First.TurnID, "begins")
	t.moveRun(h, run, before)
	t.updatedFeed(child)
	return true, nil
}

// EndPipelineTransform tells a run that a transform of it has ended.
type EndPipelineTransform struct {
	TransformID parley.ID `json:"-"`
	RunID       parley.ID `json:"run_id"`
}

// leavePipelineEnd leaves an errand when a session of a transform that a run waits for ends its turn, or is deleted.
func (h *Head) leavePipelineEnd() {
	if h.Type == parley.PipelineNodeType && h.Kind == parley.KindTool && !h.ParentSessionID.IsZero() {
		h.leave(EndPipelineTransform{TransformID: h.ID, RunID: h.ParentSessionID}, 0)
	}
}

// Kind implements Work.
func (EndPipelineTransform) Kind() string { return "pipeline_transform_end" }

// Target implements Work.
func (w EndPipelineTransform) Target() parley.ID { return w.TransformID }

func (w EndPipelineTransform) do(workspaceID parley.ID, by Doer) (bool, error) {
	return once(by, workspaceID, func(t *Tx) error { return t.endPipelineTransform(workspaceID, w) })
}

// endPipelineTransform notes in a run how one of its transforms has ended, which opens what reads from it. It drops
// what the run knows, and a transform that is unfinished again.
func (t *Tx) endPipelineTransform(workspaceID parley.ID, what EndPipelineTransform) error {
	h, run, err := t.lockRun(workspaceID, what.RunID)
	if err != nil || run == nil {
		return err
	}
	end, turnID, err := t.transformEnd(workspaceID, what.TransformID)
	if err != nil || end == nil {
		return err
	}
	before := run.Status
	node, ended := run.End(*end, t.now)
	if !ended {
		return nil
	}
	t.tellNode(h, run, node, end.TransformID, turnID, string(end.Status))
	t.moveRun(h, run, before)
	return nil
}

// pipelineTransformGone is why a transform failed whose session was deleted.
const pipelineTransformGone = "The session of the transform was deleted."

// transformEnd returns how a transform of a run has ended; nil while it is unfinished.
func (t *Tx) transformEnd(workspaceID, transformID parley.ID) (*parley.PipelineEnd, parley.ID, error) {
	end := &parley.PipelineEnd{TransformID: transformID, Status: parley.PipelineFailed, Failure: pipelineTransformGone}
	child, err := t.load(transformID) // its session has its id
	if err != nil {
		return nil, parley.ID{}, err
	}
	if child != nil {
		end.Cost = child.Statistics.Cost
	}
	made, err := t.rows.TransformOfRun(workspaceID, transformID)
	if err != nil || made == nil {
		return end, parley.ID{}, err
	}
	if !made.Status.Finished() {
		if child != nil && child.DeletedAt == 0 {
			return nil, parley.ID{}, nil
		}
		return end, made.TurnID, nil
	}
	end.Status, end.Failure = parley.PipelineStatus(made.Status), ""
	switch {
	case made.Failure != nil:
		end.Failure = failureText(made.Failure)
	case end.Status == parley.PipelineFailed:
		end.Failure = failureText(nil)
	}
	for i := range made.Outputs {
		if out := &made.Outputs[i]; out.Version != 0 {
			end.Outputs = append(end.Outputs, parley.ArtifactRef{ArtifactID: out.ArtifactID, Version: out.Version})
		}
	}
	return end, made.TurnID, nil
}

// StopTransform cancels the transform of a run that is being cancelled.
type StopTransform struct {
	SessionID parley.ID `json:"-"`
}

// Kind implements Work.
func (StopTransform) Kind() string { return "pipeline_transform_stop" }

// Target implements Work.
func (w StopTransform) Target() parley.ID { return w.SessionID }

func (w StopTransform) do(workspaceID parley.ID, by Doer) (bool, error) {
	again, err := by.Step(workspaceID, func(t *Tx) (bool, error) { return t.stopTransform(w.SessionID) })
	return !again, err
}

// stopTransform cancels the turn of a transform, and reports whether another visit is needed.
func (t *Tx) stopTransform(sessionID parley.ID) (again bool, err error) {
	h, err := t.load(sessionID)
	if err != nil || h == nil || h.DeletedAt != 0 || h.TurnID.IsZero() {
		return false, err
	}
	return t.stopCurrent(h)
}
