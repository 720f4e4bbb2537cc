package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// graph is a lineage in memory. The walks over it are those over a store, which store/storetest tests.
type graph struct {
	edges  []store.LineageEdge
	unseen map[parley.LineageRef]bool
	steps  int
}

func (g *graph) LineageLevel(
	_ context.Context, _ store.Scope, step store.LineageStep,
) (found store.LineageLevel, _ error) {
	g.steps++
	for _, ref := range step.Nodes {
		found.Nodes = append(found.Nodes, store.LineageNode{
			LineageRef: ref, Seen: !g.unseen[ref], Name: string(ref.Kind), Author: parley.Author{Kind: "agent"},
			Status: "completed", CreatedAt: 1,
		})
		for _, edge := range g.edges {
			of := edge.To
			if edge.Cited {
				of = edge.Of
			} else if step.Down {
				of = edge.From
			}
			if step.Edges && of == ref {
				found.Edges = append(found.Edges, edge)
			}
		}
	}
	return found, nil
}

func walked(t *testing.T, g *graph, w lineageWalk, id parley.ID) Lineage {
	t.Helper()
	if w.depth == 0 {
		w.depth = parley.DefaultLineageDepth
	}
	w.version = 1
	if err := w.run(t.Context(), g, store.Scope{}, id); err != nil {
		t.Fatal(err)
	}
	return w.answer()
}

func anArtifact() parley.LineageRef {
	return parley.LineageRef{Kind: parley.LineageArtifact, ID: parley.NewID(), Version: 1}
}

func aTransform() parley.LineageRef {
	return parley.LineageRef{Kind: parley.LineageTransform, ID: parley.NewID()}
}

// TestALineageIsBounded: by the depth that was asked for, by a thousand nodes and by four thousand edges, which it
// says; each distance is one step of the store.
func TestALineageIsBounded(t *testing.T) {
	t.Parallel()
	chain, g := []parley.LineageRef{anArtifact()}, &graph{}
	for range 20 {
		chain = append(chain, aTransform())
		g.edges = append(g.edges, store.LineageEdge{
			From: chain[len(chain)-1], To: chain[len(chain)-2], Kind: parley.LineageOutput,
		})
	}
	found := walked(t, g, lineageWalk{depth: 3}, chain[0].ID)
	if len(found.Nodes) != 4 || len(found.Edges) != 3 || found.Truncated || g.steps != 4 {
		t.Errorf("depth 3: %d nodes, %d edges, truncated %v, %d steps", len(found.Nodes), len(found.Edges),
			found.Truncated, g.steps)
	}
	if down := walked(t, g, lineageWalk{down: true}, chain[0].ID); len(down.Nodes) != 1 {
		t.Errorf("down from the last effect: %d nodes", len(down.Nodes))
	}

	wide, top := &graph{}, anArtifact()
	for range parley.MaxLineageNodes + 5 {
		wide.edges = append(wide.edges, store.LineageEdge{From: aTransform(), To: top, Kind: parley.LineageOutput})
	}
	found = walked(t, wide, lineageWalk{}, top.ID)
	if len(found.Nodes) != parley.MaxLineageNodes || len(found.Edges) != parley.MaxLineageNodes-1 || !found.Truncated {
		t.Errorf("a wide one: %d nodes, %d edges, truncated %v", len(found.Nodes), len(found.Edges), found.Truncated)
	}

	dense, by := &graph{}, aTransform()
	dense.edges = []store.LineageEdge{{From: by, To: top, Kind: parley.LineageOutput}}
	source := anArtifact()
	for i := range parley.MaxLineageEdges + 5 {
		dense.edges = append(dense.edges, store.LineageEdge{
			From: source, To: by, Kind: parley.LineageInput, Pointer: fmt.Sprint("/", i),
		})
	}
	found = walked(t, dense, lineageWalk{}, top.ID)
	if len(found.Nodes) != 3 || len(found.Edges) != parley.MaxLineageEdges || !found.Truncated {
		t.Errorf("a dense one: %d nodes, %d edges, truncated %v", len(found.Nodes), len(found.Edges), found.Truncated)
	}
}

// TestANodeThatMayNotBeSeenIsNameless: it has a kind and a number, and its edges say no parts; what lies behind it is
// found.
func TestANodeThatMayNotBeSeenIsNameless(t *testing.T) {
	t.Parallel()
	top, hidden, source := anArtifact(), aTransform(), anArtifact()
	g := &graph{
		edges: []store.LineageEdge{
			{From: hidden, To: top, Kind: parley.LineageOutput},
			{From: source, To: hidden, Kind: parley.LineageInput, Pointer: "/secret"},
		},
		unseen: map[parley.LineageRef]bool{hidden: true},
	}
	found := walked(t, g, lineageWalk{}, top.ID)
	if want := (LineageNode{ID: "transform:#2", Kind: parley.LineageTransform}); found.Nodes[1] != want {
		t.Errorf("the node: %+v", found.Nodes[1])
	}
	if found.Nodes[2].ArtifactID != source.ID || found.Nodes[2].Name == nil {
		t.Errorf("what lies behind it: %+v", found.Nodes[2])
	}
	raw, err := parley.EncodeJSON(found)
	if err != nil || strings.Contains(string(raw), hidden.ID.String()) || strings.Contains(string(raw), "secret") {
		t.Errorf("the answer tells what may not be seen: %s, %v", raw, err)
	}
}

// TestCitationsSayMoreOfInputs: the parts that the model named take the place of the whole input. For a part of a
// version, the walk follows only the inputs that were named for it; without any, all.
func TestCitationsSayMoreOfInputs(t *testing.T) {
	t.Parallel()
	top, by, one, other := anArtifact(), aTransform(), anArtifact(), anArtifact()
	cite := func(from parley.LineageRef, target, pointer string) store.LineageEdge {
		return store.LineageEdge{
			From: from, To: by, Kind: parley.LineageInput, Cited: true, Of: top, Target: target, Pointer: pointer,
			Range: parley.LineRange{From: 3, To: 4},
		}
	}
	g := &graph{edges: []store.LineageEdge{
		{From: anArtifact(), To: top, Kind: parley.LineageParent},
		{From: by, To: top, Kind: parley.LineageOutput},
		{From: one, To: by, Kind: parley.LineageInput, Pointer: "/all"},
		{From: other, To: by, Kind: parley.LineageInput},
		cite(one, "/a", "/one"), cite(one, "/b", "/two"), cite(one, "/b", "/two"), cite(other, "/c/d", "/three"),
	}}
	inputs := func(found Lineage) (all []string) {
		for _, edge := range found.Edges {
			if edge.Kind == parley.LineageInput {
				all = append(all, edge.Pointer+":"+edge.Range)
			}
		}
		return all
	}
	part := func(pointer string) []string {
		found := walked(t, g, lineageWalk{part: true, pointer: pointer}, top.ID)
		if slices.ContainsFunc(found.Edges, func(e LineageEdge) bool { return e.Kind == parley.LineageParent }) {
			t.Errorf("%q is followed to the parent, which the part was not made from", pointer)
		}
		return inputs(found)
	}
	for what, of := range map[string]struct{ got, want []string }{
		"the whole": {
			inputs(walked(t, g, lineageWalk{}, top.ID)), []string{"/one:3-4", "/two:3-4", "/three:3-4"},
		},
		"a part":           {part("/a"), []string{"/one:3-4"}},
		"below a part":     {part("/b/0"), []string{"/two:3-4"}},
		"above a part":     {part("/c"), []string{"/three:3-4"}},
		"a part uncited":   {part("/aa"), []string{"/all:", ":"}},
		"all of a version": {part(""), []string{"/one:3-4", "/two:3-4", "/three:3-4"}},
	} {
		if !slices.Equal(of.got, of.want) {
			t.Errorf("%s: %v; want %v", what, of.got, of.want)
		}
	}
}

// TestLineagesAreWrittenAsTheirFieldsSay: the encoder that is written by hand leaves out no field and writes each as
// encoding/json does, absent ones as null.
func TestLineagesAreWrittenAsTheirFieldsSay(t *testing.T) {
	t.Parallel()
	odd := "\x00\u2028 <&> \"\\ \xff é"
	l := Lineage{
		Changed: &LineageChange{Version: 2, Range: "3-7", lines: true}, Truncated: true,
		Nodes: []LineageNode{{ID: "call:#1", Kind: parley.LineageCall}, {
			ID: odd, Kind: parley.LineageArtifact, ArtifactID: parley.NewID(), Version: 7, TransformID: parley.NewID(),
			SessionID: parley.NewID(), MessageID: parley.NewID(), CallID: parley.NewID(), Name: &odd, Status: odd,
			Author: &parley.Author{Kind: parley.AuthorPerson, ID: parley.NewID(), Name: odd}, Stale: true, Purged: true,
			CreatedAt: parley.Now(),
		}},
		Edges: []LineageEdge{{From: "a", To: "b", Kind: parley.LineageInput}, {
			From: odd, To: odd, Kind: parley.LineageWrote, Pointer: odd, Range: "1-2",
		}},
	}
	got, err := l.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	type plain Lineage
	want, err := parley.EncodeJSON(plain(l))
	if err != nil {
		t.Fatal(err)
	}
	var written, fields map[string]any
	if err := errors.Join(json.Unmarshal(got, &written), json.Unmarshal(want, &fields)); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	for _, list := range []string{"nodes", "edges"} { // null where encoding/json leaves a field out
		whole, _ := fields[list].([]any)[1].(map[string]any)
		for name := range whole {
			first, _ := fields[list].([]any)[0].(map[string]any)
			if _, there := first[name]; !there {
				first[name] = nil
			}
		}
	}
	if diff := cmp.Diff(fields, written); diff != "" {
		t.Errorf("(-fields +written)\n%s", diff)
	}
}

// TestAnyLineageIsWrittenAsEncodingJSONWould compares random lineages with what reflection makes of the same fields.
func TestAnyLineageIsWrittenAsEncodingJSONWould(t *testing.T) {
	t.Parallel()
	type node struct {
		*LineageNode
		Version *int    `json:"version"`
		Status  *string `json:"status"`
	}
	type edge struct {
		*LineageEdge
		Pointer *string `json:"pointer"`
		Range   *string `json:"range"`
	}
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string {
		return string(b)
	}))
	id := rapid.Custom(func(t *rapid.T) (id parley.ID) {
		if rapid.Bool().Draw(t, "known") {
			copy(id[:], rapid.SliceOfN(rapid.Byte(), len(id), len(id)).Draw(t, "id"))
		}
		return id
	})
	rapid.Check(t, func(t *rapid.T) {
		l := Lineage{Truncated: rapid.Bool().Draw(t, "truncated")}
		nodes, edges := []node{}, []edge{}
		for range rapid.IntRange(0, 3).Draw(t, "nodes") {
			n := LineageNode{
				ID: text.Draw(t, "id"), Kind: parley.LineageKind(text.Draw(t, "kind")),
				ArtifactID: id.Draw(t, "artifact"), Version: rapid.IntRange(0, 3).Draw(t, "version"),
				TransformID: id.Draw(t, "transform"), SessionID: id.Draw(t, "session"),
				MessageID: id.Draw(t, "message"), CallID: id.Draw(t, "call"),
				Name: rapid.Ptr(text, true).Draw(t, "name"), Status: text.Draw(t, "status"),
				Stale: rapid.Bool().Draw(t, "stale"), Purged: rapid.Bool().Draw(t, "purged"),
				CreatedAt: parley.Time(rapid.Int64Range(0, 4e12).Draw(t, "created")),
			}
			if rapid.Bool().Draw(t, "written by somebody") {
				n.Author = &parley.Author{
					Kind: parley.AuthorKind(text.Draw(t, "author's kind")), ID: id.Draw(t, "author"),
					Name: text.Draw(t, "author's name"),
				}
			}
			l.Nodes = append(l.Nodes, n)
			nodes = append(nodes, node{&n, parley.OrNull(n.Version), parley.OrNull(n.Status)})
		}
		for range rapid.IntRange(0, 3).Draw(t, "edges") {
			e := LineageEdge{
				From: text.Draw(t, "from"), To: text.Draw(t, "to"), Kind: parley.LineageEdgeKind(text.Draw(t, "kind")),
				Pointer: text.Draw(t, "pointer"), Range: text.Draw(t, "range"),
			}
			l.Edges = append(l.Edges, e)
			edges = append(edges, edge{&e, parley.OrNull(e.Pointer), parley.OrNull(e.Range)})
		}
		got, err := l.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want, err := parley.EncodeJSON(map[string]any{
			"changed": nil, "nodes": nodes, "edges": edges, "truncated": l.Truncated,
		})
		if err != nil {
			t.Fatal(err)
		}
		var written, fields any
		if err := errors.Join(json.Unmarshal(got, &written), json.Unmarshal(want, &fields)); err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		if diff := cmp.Diff(fields, written); diff != "" {
			t.Fatalf("(-fields +written)\n%s", diff)
		}
	})
}
