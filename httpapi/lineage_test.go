package httpapi

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// TestLineageThroughTheAPI: a version is followed to its causes and its effects, and a line and a value to the version
// that last changed them.
func TestLineageThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"markdown","name":"Outline","content":"one\ntwo\nthree\n"}`)
	path := "/v1/artifacts/" + made.ID.String()
	want[parley.ArtifactVersion](s, 201, "POST", path+"/versions", `{"edits":[{"old":"two","new":"zero\nTWO"}]}`)
	want[parley.ArtifactVersion](s, 201, "POST", path+"/versions", `{"edits":[{"old":"three","new":"end"}]}`)
	want[parley.ArtifactVersion](s, 201, "POST", path+"/versions/2/restore", "")
	id := func(version string) string { return "artifact:" + made.ID.String() + ":" + version }

	up := want[engine.Lineage](s, 200, "GET", path+"/lineage?depth=1", "")
	if len(up.Nodes) != 4 || up.Nodes[0].ID != id("4") || up.Nodes[1].ID != id("3") || up.Nodes[2].ID != id("2") ||
		up.Truncated || up.Changed != nil {
		t.Fatalf("the causes of version 4: %+v", up)
	}
	if n := up.Nodes[3]; n.Kind != parley.LineageTransform || *n.Name != parley.EditRestored || n.Author == nil ||
		*n.Author != *up.Nodes[0].Author || n.Status != "completed" || !n.SessionID.IsZero() {
		t.Errorf("the edit that restored version 2: %+v", n)
	}
	if n := up.Nodes[0]; *n.Name != "Outline" || n.Version != 4 || n.Author == nil ||
		n.Author.Kind == parley.AuthorAgent || n.Stale || n.Purged {
		t.Errorf("a person's version: %+v", n)
	}
	if len(up.Edges) != 3 ||
		up.Edges[2] != (engine.LineageEdge{From: up.Nodes[3].ID, To: id("4"), Kind: parley.LineageOutput}) ||
		up.Edges[0] != (engine.LineageEdge{From: id("3"), To: id("4"), Kind: parley.LineageParent}) ||
		up.Edges[1] != (engine.LineageEdge{From: id("2"), To: id("4"), Kind: parley.LineageRestored}) {
		t.Errorf("the edges: %+v", up.Edges)
	}
	if all := want[engine.Lineage](s, 200, "GET", path+"/lineage", ""); len(all.Nodes) != 8 || len(all.Edges) != 12 {
		t.Errorf("all causes: %+v", all)
	}
	down := want[engine.Lineage](s, 200, "GET", path+"/lineage?version=2&direction=down", "")
	if len(down.Nodes) != 5 || len(down.Edges) != 8 || down.Nodes[0].ID != id("2") {
		t.Errorf("the effects of version 2: %+v", down)
	}
	for lines, first := range map[string]string{"1": "1 1", "2-3": "2 2-3", "4": "1 3"} {
		changed := want[engine.Lineage](s, 200, "GET", path+"/lineage?range="+lines, "")
		version, at, _ := strings.Cut(first, " ")
		if changed.Nodes[0].ID != id(version) || changed.Changed == nil || changed.Changed.Range != at ||
			!changed.Changed.Complete {
			t.Errorf("lines %s: %+v, %+v", lines, changed.Nodes, changed.Changed)
		}
		if len(changed.Nodes) != 2 || changed.Nodes[1].Author == nil {
			t.Errorf("lines %s were written by %+v; want one edit, and nothing before it", lines, changed.Nodes[1:])
		}
	}
	for _, wrong := range []string{
		"range=5", "range=0", "range=2-1", "range=x", "pointer=", "depth=0", "depth=65", "direction=left",
		"range=1&direction=down", "version=0", "nothing=1",
	} {
		want[Problem](s, 422, "GET", path+"/lineage?"+wrong, "")
	}
	want[Problem](s, 404, "GET", path+"/lineage?version=9", "")
	want[Problem](s, 404, "GET", path+"/lineage?version=9&range=1", "")
	want[Problem](s, 404, "GET", "/v1/artifacts/"+parley.NewID().String()+"/lineage", "")
	if list := want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts?stale=true", ""); len(list.Data) != 0 {
		t.Errorf("stale although nothing was made by a transform: %+v", list.Data)
	}

	object := want[parley.Artifact](s, 201, "POST", "/v1/artifacts",
		`{"kind":"json","name":"Plan","content":{"chapters":["a","b"]}}`)
	at := "/v1/artifacts/" + object.ID.String()
	want[parley.ArtifactVersion](s, 201, "POST", at+"/versions",
		`{"patch":[{"op":"add","path":"/chapters/0","value":"new"}]}`)
	changed := want[engine.Lineage](s, 200, "GET", at+"/lineage?pointer=/chapters/2", "")
	if changed.Nodes[0].Version != 1 || changed.Changed.Pointer != "/chapters/1" {
		t.Errorf("the second chapter: %+v, %+v", changed.Nodes, changed.Changed)
	}
	want[Problem](s, 422, "GET", at+"/lineage?pointer=/chapters/9", "")
	want[Problem](s, 422, "GET", at+"/lineage?range=1", "")
}
