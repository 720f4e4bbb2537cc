package engine

import (
	"context"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/store"
)

// LineageQuery asks how a version of an artifact came about, or what came of it.
type LineageQuery struct {
	Version int  // 0: the current one
	Down    bool // to effects; otherwise to causes
	Depth   int  // edges from the first node; 0: parley.DefaultLineageDepth
	// Pointer or Range select a part of the version, whose causes are wanted. Nil and zero: all of it.
	Pointer *string
	Range   parley.LineRange
}

// Lineage is a part of the graph of versions of artifacts, transforms, messages and calls.
type Lineage struct {
	Changed   *LineageChange `json:"changed" doc:"Of a part of the version: the version that last changed it, with which the graph then begins; null for a whole version."`
	Nodes     []LineageNode  `json:"nodes" doc:"The first one is the version that was asked for, or that last changed the part; the nearer ones come first."`
	Edges     []LineageEdge  `json:"edges"`
	Truncated bool           `json:"truncated" doc:"Whether nodes or edges were left out because there are too many: at most 1,000 nodes and 4,000 edges."`
}

// LineageChange is the version that last changed a part of another one.
type LineageChange struct {
	Version  int    `json:"version"`
	Pointer  string `json:"pointer,omitempty" doc:"Where the part stands in that version, as a JSON Pointer; null for lines."`
	Range    string `json:"range,omitempty" doc:"Where the part stands in that version, as lines such as 3-7; null for a JSON Pointer."`
	Complete bool   `json:"complete" doc:"False if the history is too long to be followed to its end: no version after this one changed the part, and an older one may have written it."`

	lines bool
}

// MarshalJSON writes null for absent fields.
func (c LineageChange) MarshalJSON() ([]byte, error) {
	type plain LineageChange
	shown := struct {
		*plain
		Pointer *string `json:"pointer"`
		Range   *string `json:"range"`
	}{plain: (*plain)(&c)}
	if c.lines {
		shown.Range = &c.Range
	} else {
		shown.Pointer = &c.Pointer
	}
	return parley.EncodeJSON(shown)
}

// LineageNode is a node of a lineage. One that the principal may not see has a kind and nothing that tells what it is.
type LineageNode struct {
	ID          string             `json:"id" doc:"Its kind and ids; for a node that may not be seen, its kind and a number in this answer."`
	Kind        parley.LineageKind `json:"kind" enum:"artifact,transform,message,call"`
	ArtifactID  parley.ID          `json:"artifact_id"`
	Version     int                `json:"version,omitempty" doc:"Of an artifact."`
	TransformID parley.ID          `json:"transform_id"`
	SessionID   parley.ID          `json:"session_id" doc:"Of a message or a call; of a transform, its tool session."`
	MessageID   parley.ID          `json:"message_id"`
	CallID      parley.ID          `json:"call_id"`
	Name        *string            `json:"name" doc:"Of the artifact or the transform; the title of a message's session; the model of a call. Null for a node that may not be seen."`
	Status      string             `json:"status,omitempty" doc:"Of a transform, a message or a call."`
	Author      *parley.Author     `json:"author" doc:"Of a version or a message; of a transform that is an edit, who wrote by hand. Null for a generation."`
	Stale       bool               `json:"stale" doc:"Whether a generation wrote the version and one of its inputs has a newer current version."`
	Purged      bool               `json:"purged" doc:"Whether it was deleted."`
	CreatedAt   parley.Time        `json:"created_at"`
}

// LineageEdge leads from a cause to its effect.
type LineageEdge struct {
	From string                 `json:"from" doc:"Id of the cause."`
	To   string                 `json:"to" doc:"Id of the effect."`
	Kind parley.LineageEdgeKind `json:"kind" enum:"input,output,trigger,wrote,parent,restored"`
	// Pointer and Range are the part of an input.
	Pointer string `json:"pointer,omitempty" doc:"Of an input: the part that was read or cited, as a JSON Pointer; null for all of it."`
	Range   string `json:"range,omitempty" doc:"Of an input: the cited lines, such as 3-7; null for all of it."`
}

// Lineage walks from a version of an artifact to its causes or its effects, breadth first. For a part of the version it
// first finds the version that last changed it.
func (e *Engine) Lineage(
	ctx context.Context, principal parley.Principal, id parley.ID, query LineageQuery,
) (_ Lineage, err error) {
	ctx, call, err := e.enter(ctx, principal, "getArtifactLineage", ReadArtifacts, on(id))
	if err != nil {
		return Lineage{}, err
	}
	defer call.end(ctx, &err)
	leave, err := e.looks.enter(principal)
	if err != nil {
		return Lineage{}, err
	}
	defer leave()
	a, err := e.store.Artifact(ctx, call.Scope, id)
	if err != nil {
		return Lineage{}, err
	}
	if err := query.check(&a); err != nil {
		return Lineage{}, err
	}
	call.about(in(a.SessionID, a.ID))
	walk := lineageWalk{depth: query.Depth, down: query.Down, version: query.Version}
	var changed *LineageChange
	if query.part() {
		if changed, err = e.lastChange(ctx, call.Scope, &a, &query); err != nil {
			return Lineage{}, err
		}
		walk.part, walk.version, walk.pointer = true, changed.Version, changed.Pointer
	} else if _, err := e.store.ArtifactVersion(ctx, call.Scope, a.ID, query.Version); err != nil {
		return Lineage{}, err
	}
	if err := walk.run(ctx, e.store, call.Scope, a.ID); err != nil {
		return Lineage{}, err
	}
	found := walk.answer()
	found.Changed = changed
	return found, nil
}

// check completes a query of an artifact.
func (q *LineageQuery) check(a *parley.Artifact) error {
	if q.Version == 0 {
		q.Version = a.Version
	}
	if q.Depth == 0 {
		q.Depth = parley.DefaultLineageDepth
	}
	switch {
	case q.Depth < 1 || q.Depth > parley.MaxLineageDepth:
		return parley.InvalidField("depth", "must be between 1 and %d", parley.MaxLineageDepth)
	case q.Pointer != nil && a.Kind != parley.ArtifactJSON:
		return parley.InvalidField("pointer", "only a json artifact has one; use range")
	case q.Range != parley.LineRange{} && a.Kind == parley.ArtifactJSON:
		return parley.InvalidField("range", "a json artifact takes a pointer instead")
	case q.part() && q.Down:
		return parley.InvalidField("direction", "only the causes of a part are known; leave out pointer and range")
	}
	return nil
}

// part reports whether a part of the version is asked for.
func (q *LineageQuery) part() bool { return q.Pointer != nil || q.Range != parley.LineRange{} }

// lastChange finds the version that last changed a part.
func (e *Engine) lastChange(
	ctx context.Context, scope store.Scope, a *parley.Artifact, q *LineageQuery,
) (*LineageChange, error) {
	leave, err := e.documents.Enter(ctx, a, parley.MaxDocumentBytes) // older versions may be of any size
	if err != nil {
		return nil, err
	}
	defer leave()
	origin, err := artifact.Trace(ctx, e.store, scope, a, q.Version, artifact.Passage{
		Pointer: parley.ValueOf(q.Pointer), From: q.Range.From, To: q.Range.To,
	})
	if err != nil {
		return nil, err
	}
	return &LineageChange{
		Version: origin.Version.Number, Pointer: origin.Passage.Pointer, Complete: origin.Complete,
		Range: parley.LineRange{From: origin.Passage.From, To: origin.Passage.To}.String(), lines: q.Pointer == nil,
	}, nil
}

// lineageWalk is one walk through a lineage.
type lineageWalk struct {
	version, depth int
	down           bool
	// part tells that only what a part of the first version was made from is wanted; pointer is where it stands.
	part    bool
	pointer string

	order     []parley.LineageRef
	nodes     map[parley.LineageRef]*store.LineageNode
	edges     []store.LineageEdge
	cited     map[lineageEnds][]store.LineageEdge // what models have named, by the edge that it says more of
	only      map[lineageEnds]bool                // the inputs of the part, if its transform named them
	by        parley.LineageRef                   // that transform
	writer    parley.LineageRef                   // the transform that wrote the part
	truncated bool
}

// lineageEnds are two nodes with an edge between them.
type lineageEnds struct{ from, to parley.LineageRef }

// run walks from a version of an artifact, one step of the store for each distance.
func (w *lineageWalk) run(ctx context.Context, from store.Lineages, scope store.Scope, id parley.ID) error {
	w.nodes, w.cited = map[parley.LineageRef]*store.LineageNode{}, map[lineageEnds][]store.LineageEdge{}
	w.only = map[lineageEnds]bool{}
	level := []parley.LineageRef{{Kind: parley.LineageArtifact, ID: id, Version: w.version}}
	w.order = append(w.order, level...)
	w.nodes[level[0]] = nil
	for distance := 0; len(level) > 0; distance++ {
		found, err := from.LineageLevel(ctx, scope, store.LineageStep{
			Nodes: level, Edges: distance < w.depth, Down: w.down,
		})
		if err != nil {
			return err
		}
		for i := range found.Nodes {
			w.nodes[found.Nodes[i].LineageRef] = &found.Nodes[i]
		}
		level = w.follow(found.Edges)
	}
	return nil
}

// follow adds edges, and returns the nodes to which they lead for the first time.
func (w *lineageWalk) follow(edges []store.LineageEdge) (next []parley.LineageRef) {
	first := len(w.order) == 1
	for i := range edges {
		if edges[i].Cited {
			w.cite(&edges[i], first)
		}
	}
	for i := range edges {
		edge := &edges[i]
		ends := lineageEnds{edge.From, edge.To}
		if first && w.part && edge.Kind == parley.LineageOutput {
			w.writer = edge.From
		}
		switch {
		case edge.Cited, w.leavesParent(edge),
			first && w.part && (edge.Kind == parley.LineageParent || edge.Kind == parley.LineageRestored),
			edge.Kind == parley.LineageInput && edge.To == w.by && !w.only[ends]:
			continue
		case len(w.edges) == parley.MaxLineageEdges:
			w.truncated = true
			return next
		}
		other := edge.From
		if w.down {
			other = edge.To
		}
		if _, known := w.nodes[other]; !known {
			if len(w.order) == parley.MaxLineageNodes {
				w.truncated = true
				continue
			}
			w.nodes[other] = nil
			w.order, next = append(w.order, other), append(next, other)
		}
		w.edges = append(w.edges, *edge)
	}
	return next
}

// leavesParent reports whether an edge leads from the edit that last changed a part to the version before: the part was
// not made from it.
func (w *lineageWalk) leavesParent(edge *store.LineageEdge) bool {
	return edge.Kind == parley.LineageInput && edge.To == w.writer && w.nodes[w.writer] != nil &&
		w.nodes[w.writer].Edit
}

// cite notes a source. If those of the part that the walk began with are known, the walk follows no other inputs.
func (w *lineageWalk) cite(edge *store.LineageEdge, first bool) {
	ends := lineageEnds{edge.From, edge.To}
	if w.part && first {
		if !overlap(edge.Target, w.pointer) {
			return
		}
		w.by, w.only[ends] = edge.To, true
	}
	w.cited[ends] = append(w.cited[ends], *edge)
}

// overlap reports whether of two JSON Pointers one leads to a part of the other's value.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// seen reports whether the principal may see a node.
func (w *lineageWalk) seen(ref parley.LineageRef) bool {
	return w.nodes[ref] != nil && w.nodes[ref].Seen
}

// answer returns what was found, as the principal may see it.
func (w *lineageWalk) answer() Lineage {
	found := Lineage{Nodes: []LineageNode{}, Edges: []LineageEdge{}, Truncated: w.truncated}
	ids := make(map[parley.LineageRef]string, len(w.order))
	for i, ref := range w.order {
		node := w.nodes[ref]
		if !w.seen(ref) {
			ids[ref] = string(ref.Kind) + ":#" + strconv.Itoa(i+1)
			found.Nodes = append(found.Nodes, LineageNode{
				ID: ids[ref], Kind: ref.Kind, Purged: node != nil && node.Purged,
			})
			continue
		}
		ids[ref] = ref.String()
		found.Nodes = append(found.Nodes, shownNode(node))
	}
	added := map[LineageEdge]bool{}
	for i := range w.edges {
		edge := &w.edges[i]
		named := w.cited[lineageEnds{edge.From, edge.To}]
		if edge.Kind != parley.LineageInput || len(named) == 0 {
			named = []store.LineageEdge{*edge}
		}
		for j := range named {
			made := LineageEdge{From: ids[edge.From], To: ids[edge.To], Kind: edge.Kind}
			if w.seen(edge.From) && w.seen(edge.To) {
				made.Pointer, made.Range = named[j].Pointer, named[j].Range.String()
			}
			switch {
			case added[made]:
			case len(found.Edges) == parley.MaxLineageEdges:
				found.Truncated = true
			default:
				added[made] = true
				found.Edges = append(found.Edges, made)
			}
		}
	}
	return found
}

func shownNode(node *store.LineageNode) LineageNode {
	shown := LineageNode{
		ID: node.String(), Kind: node.Kind, SessionID: node.SessionID, Name: &node.Name, Status: node.Status,
		Stale: node.Stale, Purged: node.Purged, CreatedAt: node.CreatedAt,
	}
	if node.Author.Kind != "" {
		shown.Author = &node.Author
	}
	switch node.Kind {
	case parley.LineageArtifact:
		shown.ArtifactID, shown.Version = node.LineageRef.ID, node.LineageRef.Version
	case parley.LineageTransform:
		shown.TransformID = node.LineageRef.ID
	case parley.LineageMessage:
		shown.MessageID = node.LineageRef.ID
	case parley.LineageCall:
		shown.CallID = node.LineageRef.ID
	}
	return shown
}
