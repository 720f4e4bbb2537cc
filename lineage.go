package parley

import (
	"strconv"
	"strings"
)

// The bounds of a walk through a lineage.
const (
	MaxLineageNodes     = 1000 // of an answer
	MaxLineageEdges     = 4000 // of an answer
	MaxLineageDepth     = 64   // edges from the first node
	DefaultLineageDepth = 10
)

// LineageKind is what a node of a lineage is.
type LineageKind string

// The kinds of nodes.
const (
	LineageArtifact  LineageKind = "artifact" // a version of one
	LineageTransform LineageKind = "transform"
	LineageMessage   LineageKind = "message"
	LineageCall      LineageKind = "call" // a request to a model
)

// LineageEdgeKind says how one node of a lineage led to another.
type LineageEdgeKind string

// The kinds of edges.
const (
	LineageInput    LineageEdgeKind = "input"    // a transform read the version
	LineageOutput   LineageEdgeKind = "output"   // a transform wrote the version
	LineageTrigger  LineageEdgeKind = "trigger"  // the message asked for the transform
	LineageWrote    LineageEdgeKind = "wrote"    // the call wrote the message, or the message the version
	LineageParent   LineageEdgeKind = "parent"   // the version was made from its parent
	LineageRestored LineageEdgeKind = "restored" // the version restores an earlier one
)

// LineageRef names a node of a lineage: what has the ID and, of an artifact, the version.
type LineageRef struct {
	Kind    LineageKind
	ID      ID
	Version int // of an artifact
}

// String is the node's id in an answer.
func (r LineageRef) String() string {
	id := string(r.Kind) + ":" + r.ID.String()
	if r.Kind == LineageArtifact {
		id += ":" + strconv.Itoa(r.Version)
	}
	return id
}

// LineRange is lines of a text, both included and counted from 1. The zero value is none.
type LineRange struct{ From, To int }

// String writes the lines as 3-7, and one as 3; "" for none.
func (r LineRange) String() string {
	switch {
	case r == LineRange{}:
		return ""
	case r.From == r.To:
		return strconv.Itoa(r.From)
	}
	return strconv.Itoa(r.From) + "-" + strconv.Itoa(r.To)
}

// ParseLineRange reads what String writes. CodeInvalid, with Field "range".
func ParseLineRange(written string) (LineRange, error) {
	if written == "" {
		return LineRange{}, nil
	}
	first, last, several := strings.Cut(written, "-")
	if !several {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	if err != nil || err2 != nil || from < 1 || to < from || to > MaxDocumentBytes {
		return LineRange{}, InvalidField("range", "must be lines such as 3-7, counted from 1")
	}
	return LineRange{from, to}, nil
}
