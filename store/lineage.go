package store

import (
	"context"

	"example.org/parley"
)

// LineageStep asks for the nodes at one distance from the first one.
type LineageStep struct {
	Nodes []parley.LineageRef // at most parley.MaxLineageNodes
	// Edges asks for the edges to causes too; with Down, for those to effects.
	Edges, Down bool
}

// LineageLevel is what a step has found. Nodes are in no order; of edges there are about parley.MaxLineageEdges at most
// for each kind of node and edge.
type LineageLevel struct {
	Nodes []LineageNode
	Edges []LineageEdge
}

// LineageNode describes a node.
type LineageNode struct {
	parley.LineageRef
	Seen   bool // by the scope
	Purged bool // the artifact, or the session that it belongs to, was deleted
	Stale  bool // an input of the generation that wrote the version has a newer current version
	Edit   bool // the transform is an edit

	SessionID parley.ID     // of a message or a call, and the tool session of a transform
	Name      string        // of the artifact, the transform, the message's session, or the model
	Status    string        // of a transform, a message or a call
	Author    parley.Author // of a version, a message or an edit
	CreatedAt parley.Time
}

// LineageEdge leads from a cause to its effect.
type LineageEdge struct {
	From, To parley.LineageRef
	Kind     parley.LineageEdgeKind
	// Pointer and Range are the part of the version that a transform read or cites. Cited tells that the model names
	// it as a source, of what stands at Target in the version Of.
	Pointer string
	Range   parley.LineRange
	Cited   bool
	Of      parley.LineageRef
	Target  string
}

// Lineages reads how versions of artifacts came about, and what came of them.
type Lineages interface {
	// LineageLevel describes nodes and finds their edges, in a fixed number of statements. Nodes that the scope does
	// not see are found too, so that what lies behind them is not lost.
	LineageLevel(ctx context.Context, scope Scope, step LineageStep) (LineageLevel, error)
}
