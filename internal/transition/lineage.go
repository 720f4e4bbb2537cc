package transition

import (
	"encoding/json"
	"fmt"

	"example.org/parley"
	"example.org/parley/store"
)

// Lineage collects what the statements of one step find.
type Lineage struct {
	Level store.LineageLevel

	scope store.Scope
	step  store.LineageStep
	calls map[parley.LineageRef]int // by message: its edge
}

// NewLineage begins a step.
func NewLineage(scope store.Scope, step store.LineageStep) *Lineage {
	return &Lineage{scope: scope, step: step, calls: map[parley.LineageRef]int{}}
}

// Asked returns the ids of the nodes of a kind, and the versions of artifacts.
func (l *Lineage) Asked(kind parley.LineageKind) (ids []parley.ID, versions []int64) {
	for _, ref := range l.step.Nodes {
		if ref.Kind == kind {
			ids, versions = append(ids, ref.ID), append(versions, int64(ref.Version))
		}
	}
	return ids, versions
}

// Up reports whether edges to causes are wanted, Down whether those to effects are.
func (l *Lineage) Up() bool   { return l.step.Edges && !l.step.Down }
func (l *Lineage) Down() bool { return l.step.Edges && l.step.Down }

// LineageRow is the row of a node, with its causes that stand in it.
type LineageRow struct {
	store.LineageNode
	OwnerID    parley.ID
	Visibility parley.Visibility

	Parent, RestoredFrom int       // of a version
	MessageID            parley.ID // that wrote a version, or asked for a transform
}

// Node notes a node.
func (l *Lineage) Node(row *LineageRow) {
	node := row.LineageNode
	node.Seen = l.scope.ViewerID.IsZero() || row.OwnerID == l.scope.ViewerID ||
		row.Visibility == parley.VisibilityWorkspace
	if node.Purged { // of what is left of a generation, its owner alone knows
		node.Seen = node.Kind == parley.LineageTransform && !node.Edit && !row.OwnerID.IsZero() &&
			(l.scope.ViewerID.IsZero() || row.OwnerID == l.scope.ViewerID)
	}
	l.Level.Nodes = append(l.Level.Nodes, node)
	if !l.Up() {
		return
	}
	if row.Parent != 0 {
		l.edge(versionRef(row.ID, row.Parent), row.LineageRef, parley.LineageParent)
	}
	if row.RestoredFrom != 0 {
		l.edge(versionRef(row.ID, row.RestoredFrom), row.LineageRef, parley.LineageRestored)
	}
	if !row.MessageID.IsZero() {
		kind := parley.LineageWrote
		if row.Kind == parley.LineageTransform {
			kind = parley.LineageTrigger
		}
		l.edge(parley.LineageRef{Kind: parley.LineageMessage, ID: row.MessageID}, row.LineageRef, kind)
	}
}

// Child notes a version that was made from another one.
func (l *Lineage) Child(artifactID parley.ID, from, to int, kind parley.LineageEdgeKind) {
	l.edge(versionRef(artifactID, from), versionRef(artifactID, to), kind)
}

// Call notes a call that wrote a message; of several attempts the last one noted counts.
func (l *Lineage) Call(messageID, callID parley.ID) {
	message := parley.LineageRef{Kind: parley.LineageMessage, ID: messageID}
	call := parley.LineageRef{Kind: parley.LineageCall, ID: callID}
	if i, has := l.calls[message]; has {
		l.Level.Edges[i].From = call
		return
	}
	l.calls[message] = len(l.Level.Edges)
	l.edge(call, message, parley.LineageWrote)
}

// Input notes what a transform reads.
func (l *Lineage) Input(transformID, artifactID parley.ID, version int, pointer string) {
	l.edge(versionRef(artifactID, version), transformRef(transformID), parley.LineageInput)
	l.Level.Edges[len(l.Level.Edges)-1].Pointer = pointer
}

// Output notes what a transform has written, with the sources that the model has named.
func (l *Lineage) Output(transformID, artifactID parley.ID, version int, sources json.RawMessage) error {
	by, made := transformRef(transformID), versionRef(artifactID, version)
	l.edge(by, made, parley.LineageOutput)
	if sources == nil {
		return nil
	}
	var named []parley.TransformSource
	if err := json.Unmarshal(sources, &named); err != nil {
		return fmt.Errorf("transition: the sources of an output of transform %s: %w", transformID, err)
	}
	for i := range named {
		s := &named[i]
		l.Level.Edges = append(l.Level.Edges, store.LineageEdge{
			From: versionRef(s.ArtifactID, s.Version), To: by, Kind: parley.LineageInput, Pointer: s.Pointer,
			Range: parley.LineRange{From: s.FromLine, To: s.ToLine}, Cited: true, Of: made, Target: s.Target,
		})
	}
	return nil
}

func (l *Lineage) edge(from, to parley.LineageRef, kind parley.LineageEdgeKind) {
	l.Level.Edges = append(l.Level.Edges, store.LineageEdge{From: from, To: to, Kind: kind})
}

func versionRef(artifactID parley.ID, version int) parley.LineageRef {
	return parley.LineageRef{Kind: parley.LineageArtifact, ID: artifactID, Version: version}
}

func transformRef(id parley.ID) parley.LineageRef {
	return parley.LineageRef{Kind: parley.LineageTransform, ID: id}
}
