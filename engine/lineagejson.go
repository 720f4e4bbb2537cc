package engine

import (
	"strconv"

	"example.org/parley"
)

// MarshalJSON writes null for absent fields. It is written by hand because reflection on a thousand nodes would take a
// third of the time of their walk.
func (l Lineage) MarshalJSON() ([]byte, error) {
	changed, err := parley.EncodeJSON(l.Changed)
	if err != nil {
		return nil, err
	}
	const node, edge = 384, 224 // bytes of a usual one
	w := lineageWriter{make([]byte, 0, node*len(l.Nodes)+edge*len(l.Edges)+len(changed)+64)}
	w.to = append(append(w.to, `{"changed":`...), changed...)
	w.to = append(w.to, `,"nodes":[`...)
	for i := range l.Nodes {
		w.node(&l.Nodes[i], i == 0)
	}
	w.to = append(w.to, `],"edges":[`...)
	for i := range l.Edges {
		w.edge(&l.Edges[i], i == 0)
	}
	w.to = append(w.to, `],"truncated":`...)
	return append(strconv.AppendBool(w.to, l.Truncated), '}'), nil
}

type lineageWriter struct{ to []byte }

func (w *lineageWriter) node(n *LineageNode, first bool) {
	w.begin(first)
	w.to = parley.AppendJSONString(append(w.to, `"id":`...), n.ID)
	w.to = parley.AppendJSONString(append(w.to, `,"kind":`...), string(n.Kind))
	w.id("artifact_id", n.ArtifactID)
	w.member("version")
	if n.Version == 0 {
		w.to = append(w.to, "null"...)
	} else {
		w.to = strconv.AppendInt(w.to, int64(n.Version), 10)
	}
	w.id("transform_id", n.TransformID)
	w.id("session_id", n.SessionID)
	w.id("message_id", n.MessageID)
	w.id("call_id", n.CallID)
	w.member("name")
	if n.Name == nil {
		w.to = append(w.to, "null"...)
	} else {
		w.to = parley.AppendJSONString(w.to, *n.Name)
	}
	w.text("status", n.Status)
	w.member("author")
	if n.Author == nil {
		w.to = append(w.to, "null"...)
	} else {
		w.to = parley.AppendJSONString(append(w.to, `{"kind":`...), string(n.Author.Kind))
		w.id("id", n.Author.ID)
		w.member("name")
		w.to = append(parley.AppendJSONString(w.to, n.Author.Name), '}')
	}
	w.member("stale")
	w.to = strconv.AppendBool(w.to, n.Stale)
	w.member("purged")
	w.to = strconv.AppendBool(w.to, n.Purged)
	w.member("created_at")
	w.to = append(n.CreatedAt.AppendJSON(w.to), '}')
}

func (w *lineageWriter) edge(e *LineageEdge, first bool) {
	w.begin(first)
	w.to = parley.AppendJSONString(append(w.to, `"from":`...), e.From)
	w.to = parley.AppendJSONString(append(w.to, `,"to":`...), e.To)
	w.to = parley.AppendJSONString(append(w.to, `,"kind":`...), string(e.Kind))
	w.text("pointer", e.Pointer)
	w.text("range", e.Range)
	w.to = append(w.to, '}')
}

func (w *lineageWriter) begin(first bool) {
	if !first {
		w.to = append(w.to, ',')
	}
	w.to = append(w.to, '{')
}

func (w *lineageWriter) member(name string) {
	w.to = append(append(append(w.to, ',', '"'), name...), '"', ':')
}

func (w *lineageWriter) id(name string, id parley.ID) {
	w.member(name)
	w.to = id.AppendJSON(w.to)
}

// text writes a member that is null if it is empty.
func (w *lineageWriter) text(name, text string) {
	w.member(name)
	if text == "" {
		w.to = append(w.to, "null"...)
		return
	}
	w.to = parley.AppendJSONString(w.to, text)
}
