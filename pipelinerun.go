package parley

import (
	"fmt"
	"slices"
	"strconv"
)

// PipelineRun is one run of a pipeline, and a session: they share their id, and what a run changes is changed under
// that session's lock. Its transforms are tool sessions below it. Only this file decides what a run does next:
//
//	pending ──▶ running ──▶ completed | failed | cancelled
//	               ▲                        │
//	               └─────────retry──────────┘
//
// A node is pending until its inputs exist. What does not depend on a failed node goes on; the run ends when nothing
// can begin and nothing is unfinished.
type PipelineRun struct {
	ID          ID             `json:"id"` // of its session, too
	WorkspaceID ID             `json:"workspace_id"`
	ProjectID   ID             `json:"project_id"` // of what its transforms create
	AgentID     ID             `json:"agent_id"`
	OwnerID     ID             `json:"owner_id"`
	Author      Author         `json:"author" doc:"Who started it."`
	Name        string         `json:"name"`
	Status      PipelineStatus `json:"status"`
	Parallel    int            `json:"parallel"`
	// Documents are what it was given, by name.
	Documents []PipelineDocument `json:"documents"`
	Nodes     []PipelineNodeRun  `json:"nodes"`
	Cost      Money              `json:"cost" doc:"Sum of its transforms that have ended, in US dollars."`
	// CancelledAt is when somebody asked to cancel it; it ends when its unfinished transforms have.
	CancelledAt Time `json:"cancelled_at"`
	CreatedAt   Time `json:"created_at"`
	UpdatedAt   Time `json:"updated_at"`
	StartedAt   Time `json:"started_at"`
	EndedAt     Time `json:"ended_at"`

	// DueAt is when a process looks at what may begin; 0: nothing may. After UpdatedAt: what was due could not begin,
	// and is tried again then.
	DueAt    Time  `json:"-"`
	Revision int64 `json:"-"` // counts all changes of the row
}

// PipelineStatus is the state of a run, of a node in it, and of an instance of a node.
type PipelineStatus string

// The states.
const (
	PipelinePending   PipelineStatus = "pending"
	PipelineRunning   PipelineStatus = "running"
	PipelineCompleted PipelineStatus = "completed"
	PipelineFailed    PipelineStatus = "failed"
	PipelineCancelled PipelineStatus = "cancelled"
)

// PipelineStatuses lists every state.
func PipelineStatuses() []PipelineStatus {
	return []PipelineStatus{PipelinePending, PipelineRunning, PipelineCompleted, PipelineFailed, PipelineCancelled}
}

// Finished reports whether nothing happens any more unless somebody retries.
func (s PipelineStatus) Finished() bool { return s != PipelinePending && s != PipelineRunning }

// PipelineNodeRun is a node in a run: its definition, as the run began with it, and how far it is.
type PipelineNodeRun struct {
	Node   PipelineNode   `json:"node"`
	Status PipelineStatus `json:"status"`
	// Opened says that Instances are known: one, or one for each element.
	Opened    bool               `json:"opened"`
	Instances []PipelineInstance `json:"instances"`
	Failure   string             `json:"failure,omitempty"` // for people: why it could not begin
}

// MarshalJSON writes null for absent fields.
func (n PipelineNodeRun) MarshalJSON() ([]byte, error) {
	type plain PipelineNodeRun
	n.Instances = append([]PipelineInstance{}, n.Instances...)
	return EncodeJSON(struct {
		*plain
		Failure *string `json:"failure"`
	}{(*plain)(&n), OrNull(n.Failure)})
}

// PipelineInstance is one transform of a node, in its latest attempt.
type PipelineInstance struct {
	Status      PipelineStatus `json:"status"`
	Attempt     int            `json:"attempt"`      // from 1
	TransformID ID             `json:"transform_id"` // null before it begins
	RetryOf     ID             `json:"retry_of"`     // the transform of the attempt before
	Outputs     []ArtifactRef  `json:"outputs"`      // the versions that it wrote
	Failure     string         `json:"failure,omitempty"`
	Cost        Money          `json:"cost"`
}

// MarshalJSON writes null for absent fields.
func (i PipelineInstance) MarshalJSON() ([]byte, error) {
	type plain PipelineInstance
	i.Outputs = append([]ArtifactRef{}, i.Outputs...)
	return EncodeJSON(struct {
		*plain
		Failure *string `json:"failure"`
	}{(*plain)(&i), OrNull(i.Failure)})
}

// ArtifactRef names a version of a document, or the part of it that a JSON Pointer names.
type ArtifactRef struct {
	ArtifactID ID     `json:"artifact_id"`
	Version    int    `json:"version"`
	Pointer    string `json:"pointer"`
}

// PipelineEnd is how a transform of a run ended.
type PipelineEnd struct {
	TransformID ID
	Status      PipelineStatus // completed, failed or cancelled
	Outputs     []ArtifactRef
	Failure     string // for people
	Cost        Money
}

// PipelineStart is what may begin now: an instance of a node, or, if Instance is -1, to count the elements that it runs
// for.
type PipelineStart struct {
	Node     int
	Instance int
	Attempt  int
}

// Start prepares the run of a pipeline that is valid.
func (r *PipelineRun) Start(given *Pipeline, now Time) {
	r.Name, r.Parallel, r.Documents = given.Name, given.Parallel, append([]PipelineDocument{}, given.Documents...)
	nodes := given.Nodes
	r.Nodes = make([]PipelineNodeRun, len(nodes))
	for i := range nodes {
		r.Nodes[i] = PipelineNodeRun{Node: nodes[i], Status: PipelinePending, Instances: []PipelineInstance{}}
	}
	r.Status, r.CreatedAt, r.UpdatedAt = PipelinePending, now, now
	r.settle(now)
}

// Due returns what may begin now, in the order of the nodes: at most as many transforms as there are places, and every
// count.
func (r *PipelineRun) Due() (due []PipelineStart) {
	if r.CancelledAt != 0 {
		return nil
	}
	places := r.Parallel - r.count(PipelineRunning)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Status.Finished() || !r.inputsExist(n) {
			continue
		}
		if !n.Opened {
			due = append(due, PipelineStart{Node: i, Instance: -1})
			continue
		}
		for at := range n.Instances {
			if n.Instances[at].Status == PipelinePending && places > 0 {
				places--
				due = append(due, PipelineStart{Node: i, Instance: at, Attempt: n.Instances[at].Attempt})
			}
		}
	}
	return due
}

// inputsExist reports whether every node that a node reads from has completed.
func (r *PipelineRun) inputsExist(n *PipelineNodeRun) bool {
	for _, in := range n.Node.Inputs {
		if in.Node == "" {
			continue
		}
		if from := r.node(in.Node); from == nil || from.Status != PipelineCompleted {
			return false
		}
	}
	return true
}

func (r *PipelineRun) node(name string) *PipelineNodeRun {
	for i := range r.Nodes {
		if r.Nodes[i].Node.Name == name {
			return &r.Nodes[i]
		}
	}
	return nil
}

// count returns how many instances are in a state.
func (r *PipelineRun) count(status PipelineStatus) (n int) {
	for i := range r.Nodes {
		for at := range r.Nodes[i].Instances {
			if r.Nodes[i].Instances[at].Status == status {
				n++
			}
		}
	}
	return n
}

// Array returns the array that a node runs for each element of, to be counted once the node's inputs exist.
func (r *PipelineRun) Array(node int) ArtifactRef {
	if each := r.Nodes[node].Node.each(); each != nil {
		if refs := r.refs(each); len(refs) > 0 {
			return refs[0]
		}
	}
	return ArtifactRef{}
}

// openKnown opens the nodes that can begin and whose number of instances is known without reading a document.
func (r *PipelineRun) openKnown() {
	if r.CancelledAt != 0 {
		return
	}
	for again := true; again; { // a node without instances has completed, and others may read from it
		again = false
		for i := range r.Nodes {
			n := &r.Nodes[i]
			if n.Opened || n.Status.Finished() || !r.inputsExist(n) {
				continue
			}
			count := 1
			if each := n.Node.each(); each != nil {
				from := r.node(each.Node)
				if from == nil || !from.Node.ForEach() {
					continue
				}
				count = len(r.refs(each))
			}
			r.open(n, count)
			again = true
		}
	}
}

// refs returns the documents of an input: several only if it is of a node that ran for each.
func (r *PipelineRun) refs(in *PipelineEdge) (refs []ArtifactRef) {
	if in.Document != "" {
		for _, given := range r.Documents {
			if given.Name == in.Document {
				refs = append(refs, ArtifactRef{given.ArtifactID, given.Version, in.Pointer})
			}
		}
		return refs
	}
	if from := r.node(in.Node); from != nil {
		for i := range from.Instances {
			if written := from.Instances[i].Outputs; in.Output < len(written) {
				refs = append(refs, ArtifactRef{written[in.Output].ArtifactID, written[in.Output].Version, in.Pointer})
			}
		}
	}
	return refs
}

// Inputs returns what an instance of a node reads.
func (r *PipelineRun) Inputs(node, instance int) (inputs []ArtifactRef) {
	for i := range r.Nodes[node].Node.Inputs {
		in := &r.Nodes[node].Node.Inputs[i]
		refs := r.refs(in)
		if !in.Each {
			inputs = append(inputs, refs...)
			continue
		}
		if from := r.node(in.Node); from != nil && from.Node.ForEach() {
			if instance < len(refs) {
				inputs = append(inputs, refs[instance])
			}
			continue
		}
		for _, ref := range refs {
			ref.Pointer += "/" + strconv.Itoa(instance)
			inputs = append(inputs, ref)
		}
	}
	return inputs
}

// OutputTitle returns the title of a document that an instance of a node creates.
func (n *PipelineNodeRun) OutputTitle(output, instance int) string {
	if n.Node.ForEach() {
		return fmt.Sprintf("%s %d", n.Node.Outputs[output].Title, instance+1)
	}
	return n.Node.Outputs[output].Title
}

// Open notes how many instances a node has. It returns false if that is not due: somebody else was faster, or the run
// was cancelled.
func (r *PipelineRun) Open(node, count int, now Time) bool {
	if !slices.Contains(r.Due(), PipelineStart{Node: node, Instance: -1}) {
		return false
	}
	r.open(&r.Nodes[node], count)
	r.settle(now)
	return true
}

// open gives a node its instances, or fails it if they are too many.
func (r *PipelineRun) open(n *PipelineNodeRun, count int) {
	switch held := r.instances(); {
	case n.Node.ForEach() && count > MaxPipelineEach:
		n.Failure = fmt.Sprintf("The array has %d elements; a node runs for at most %d.", count, MaxPipelineEach)
	case held+count > MaxPipelineInstances:
		n.Failure = fmt.Sprintf("The run would have %d transforms; at most %d are allowed.", held+count,
			MaxPipelineInstances)
	}
	if n.Failure != "" {
		n.Status = PipelineFailed
		return
	}
	n.Opened = true
	for range count {
		n.Instances = append(n.Instances, PipelineInstance{Status: PipelinePending, Attempt: 1})
	}
	n.Status = n.statusOfInstances()
}

func (r *PipelineRun) instances() (n int) {
	for i := range r.Nodes {
		n += len(r.Nodes[i].Instances)
	}
	return n
}

// Begin notes that the transform of an instance has begun, and returns its id. It returns false if that is not due.
func (r *PipelineRun) Begin(start PipelineStart, now Time) (transformID ID, began bool) {
	if start.Instance < 0 || !slices.Contains(r.Due(), start) {
		return ID{}, false
	}
	n := &r.Nodes[start.Node]
	one := &n.Instances[start.Instance]
	one.Status = PipelineRunning
	one.TransformID = PipelineTransformID(r.ID, n.Node.Name, start.Instance, one.Attempt)
	r.settle(now)
	return one.TransformID, true
}

// Refuse notes that something that is due cannot begin, with the reason for people. It returns false if it is not due.
func (r *PipelineRun) Refuse(start PipelineStart, reason string, now Time) bool {
	if !slices.Contains(r.Due(), start) {
		return false
	}
	n := &r.Nodes[start.Node]
	if start.Instance < 0 {
		n.Status, n.Failure = PipelineFailed, reason
	} else {
		n.Instances[start.Instance].Status, n.Instances[start.Instance].Failure = PipelineFailed, reason
	}
	r.settle(now)
	return true
}

// End notes how a transform ended. It returns false if the run does not wait for it: it has heard of that before, or
// the transform is of an earlier attempt.
func (r *PipelineRun) End(end PipelineEnd, now Time) (node int, ended bool) {
	for i := range r.Nodes {
		for at := range r.Nodes[i].Instances {
			one := &r.Nodes[i].Instances[at]
			if one.TransformID != end.TransformID || one.Status != PipelineRunning {
				continue
			}
			one.Status, one.Outputs, one.Failure, one.Cost = end.Status, end.Outputs, end.Failure, end.Cost
			if wanted := len(r.Nodes[i].Node.Outputs); end.Status == PipelineCompleted && len(end.Outputs) < wanted {
				one.Status = PipelineFailed
				one.Failure = fmt.Sprintf("The transform wrote %d documents of %d.", len(end.Outputs), wanted)
			}
			r.Cost += end.Cost
			r.settle(now)
			return i, true
		}
	}
	return 0, false
}

// Cancel stops the run: nothing begins any more. It returns the transforms that are unfinished, to be cancelled.
// CodeConflict if the run has ended.
func (r *PipelineRun) Cancel(now Time) (unfinished []ID, err error) {
	if r.Status.Finished() {
		return nil, Conflict(r.Status, "this run is %s; nothing is left to cancel", r.Status)
	}
	if r.CancelledAt == 0 {
		r.CancelledAt = now
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if !n.Opened && !n.Status.Finished() {
			n.Status = PipelineCancelled
		}
		for at := range n.Instances {
			switch n.Instances[at].Status {
			case PipelinePending:
				n.Instances[at].Status = PipelineCancelled
			case PipelineRunning:
				unfinished = append(unfinished, n.Instances[at].TransformID)
			}
		}
	}
	r.settle(now)
	return unfinished, nil
}

// Retry lets what failed or was cancelled begin again, in a new attempt; what has completed stays. CodeConflict while
// the run is unfinished, if it has completed, and after too many attempts.
func (r *PipelineRun) Retry(now Time) error {
	switch r.Status {
	case PipelineCompleted:
		return Conflict(r.Status, "this run is completed; start a new one")
	case PipelinePending, PipelineRunning:
		return Conflict(r.Status, "this run is %s; cancel it first, or wait until it has ended", r.Status)
	}
	for i := range r.Nodes {
		for at := range r.Nodes[i].Instances {
			if one := &r.Nodes[i].Instances[at]; one.Status != PipelineCompleted &&
				one.Attempt >= MaxPipelineAttempts {
				return Conflict(r.Status, "the node %q was tried %d times, and no more are allowed; start a new run",
					r.Nodes[i].Node.Name, one.Attempt)
			}
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Status == PipelineCompleted {
			continue
		}
		n.Status, n.Failure = PipelinePending, ""
		for at := range n.Instances {
			if one := &n.Instances[at]; one.Status != PipelineCompleted {
				*one = PipelineInstance{
					Status: PipelinePending, Attempt: one.Attempt + 1, RetryOf: orElse(one.TransformID, one.RetryOf),
				}
			}
		}
	}
	r.CancelledAt, r.EndedAt = 0, 0
	r.Status = PipelinePending
	r.settle(now)
	return nil
}

func orElse(id, otherwise ID) ID {
	if id.IsZero() {
		return otherwise
	}
	return id
}

// settle derives the states of nodes and run from those of the instances, and whether anything is due.
func (r *PipelineRun) settle(now Time) {
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Opened {
			n.Status = n.statusOfInstances()
		}
	}
	r.openKnown()
	running, due := r.count(PipelineRunning), len(r.Due())
	switch {
	case running > 0:
		r.Status = PipelineRunning
	case due > 0:
		if r.Status != PipelinePending { // it waits for its first transform only before that begins
			r.Status = PipelineRunning
		}
	default:
		r.Status = r.endedAs()
	}
	if r.Status == PipelineRunning && r.StartedAt == 0 {
		r.StartedAt = now
	}
	if r.Status.Finished() && r.EndedAt == 0 {
		r.EndedAt = now
	}
	r.UpdatedAt, r.DueAt = max(now, r.UpdatedAt), 0
	if due > 0 {
		r.DueAt = now
	}
}

func (n *PipelineNodeRun) statusOfInstances() PipelineStatus {
	var counts [4]int
	for i := range n.Instances {
		switch n.Instances[i].Status {
		case PipelinePending:
			counts[0]++
		case PipelineFailed:
			counts[1]++
		case PipelineCancelled:
			counts[2]++
		case PipelineRunning:
			return PipelineRunning
		default:
			counts[3]++
		}
	}
	switch {
	case counts[0] == len(n.Instances) && counts[0] > 0:
		return PipelinePending
	case counts[0] > 0:
		return PipelineRunning
	case counts[1] > 0:
		return PipelineFailed
	case counts[2] > 0:
		return PipelineCancelled
	}
	return PipelineCompleted
}

// endedAs returns the state of a run that has nothing unfinished.
func (r *PipelineRun) endedAs() PipelineStatus {
	ended := PipelineCompleted
	for i := range r.Nodes {
		switch r.Nodes[i].Status {
		case PipelineCancelled:
			return PipelineCancelled
		case PipelineFailed:
			ended = PipelineFailed
		}
	}
	if ended == PipelineCompleted && r.CancelledAt != 0 && slices.ContainsFunc(r.Nodes,
		func(n PipelineNodeRun) bool { return n.Status != PipelineCompleted }) {
		return PipelineCancelled
	}
	return ended
}

// Size is about how many bytes the run's row holds.
func (r PipelineRun) Size() int {
	size := len(r.Name) + 512 + 64*len(r.Documents)
	for i := range r.Nodes {
		n := &r.Nodes[i]
		size += len(n.Node.Instructions) + len(n.Failure) + 128*len(n.Node.Inputs) + 256
		for j := range n.Node.Outputs {
			size += len(n.Node.Outputs[j].Schema) + len(n.Node.Outputs[j].Title)
		}
		for j := range n.Instances {
			size += len(n.Instances[j].Failure) + 128*len(n.Instances[j].Outputs) + 256
		}
	}
	return size
}
