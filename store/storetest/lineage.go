package storetest

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testLineage(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"CausesOfATransformsVersion":  lineageCauses,
		"EffectsOfAVersion":           lineageEffects,
		"ParentsAndRestoredVersions":  lineageVersions,
		"StaleWhileAnInputHasMovedOn": lineageStale,
		"OthersNodesAreNotSeen":       lineageUnseen,
		"DeletedNodesRemain":          lineagePurged,
		"OtherWorkspacesHaveNone":     lineageForeign,
	})
}

func lineageVersion(id parley.ID, version int) parley.LineageRef {
	return parley.LineageRef{Kind: parley.LineageArtifact, ID: id, Version: version}
}

func lineageOf(kind parley.LineageKind, id parley.ID) parley.LineageRef {
	return parley.LineageRef{Kind: kind, ID: id}
}

// level reads one step of a lineage: the nodes in the order in which they are asked for, the edges sorted.
func (w *world) level(t reporter, scope store.Scope, down bool, of ...parley.LineageRef) store.LineageLevel {
	t.Helper()
	found, err := w.store.LineageLevel(w.ctx, scope, store.LineageStep{Nodes: of, Edges: true, Down: down})
	must(t, "LineageLevel", err)
	slices.SortFunc(found.Nodes, func(a, b store.LineageNode) int {
		return slices.Index(of, a.LineageRef) - slices.Index(of, b.LineageRef)
	})
	sortEdges(found.Edges)
	if len(found.Nodes) != len(of) {
		t.Fatalf("%d nodes for %d", len(found.Nodes), len(of))
	}
	bare, err := w.store.LineageLevel(w.ctx, scope, store.LineageStep{Nodes: of, Down: down})
	must(t, "LineageLevel", err)
	if len(bare.Nodes) != len(of) || len(bare.Edges) != 0 {
		t.Errorf("without edges: %d nodes, %d edges", len(bare.Nodes), len(bare.Edges))
	}
	return found
}

func sortEdges(edges []store.LineageEdge) {
	slices.SortFunc(edges, func(a, b store.LineageEdge) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.From.String(), b.From.String()),
			cmp.Compare(a.To.String(), b.To.String()))
	})
}

func wantEdges(t *testing.T, what string, got []store.LineageEdge, want ...store.LineageEdge) {
	t.Helper()
	sortEdges(want)
	if diff := gocmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// made is a transform that has read an artifact and created another one.
type made struct {
	read, written parley.Artifact
	by            parley.Transform
	version       parley.ArtifactVersion
	source        parley.ID // the artifact that the output cites
}

func (w *world) made(t reporter) made {
	t.Helper()
	read := w.artifact(t, "read", "text")
	opened := w.transform(t, w.newTransform("summary", []parley.Artifact{read}, creating("written")))
	ended := w.ends(t, w.claim(t), &opened, "written")
	out := ended.Outputs[0]
	written, err := w.store.Artifact(w.ctx, w.scope, out.ArtifactID)
	must(t, "Artifact", err)
	version, err := w.store.ArtifactVersion(w.ctx, w.scope, out.ArtifactID, out.Version)
	must(t, "ArtifactVersion", err)
	return made{read, written, ended, version, out.Sources[0].ArtifactID}
}

func lineageCauses(t *testing.T, w *world) {
	m := w.made(t)
	output, by := lineageVersion(m.written.ID, 1), lineageOf(parley.LineageTransform, m.by.ID)
	answer := lineageOf(parley.LineageMessage, m.version.MessageID)
	input, trigger := lineageVersion(m.read.ID, 1), lineageOf(parley.LineageMessage, m.by.TriggerMessageID)

	first := w.level(t, w.scope, false, output)
	if diff := gocmp.Diff(store.LineageNode{
		LineageRef: output, Seen: true, Name: "written", Author: m.version.Author, CreatedAt: m.version.CreatedAt,
	}, first.Nodes[0]); diff != "" {
		t.Errorf("the version (-want +got):\n%s", diff)
	}
	wantEdges(t, "the causes of the version", first.Edges,
		store.LineageEdge{From: by, To: output, Kind: parley.LineageOutput},
		store.LineageEdge{From: answer, To: output, Kind: parley.LineageWrote},
		store.LineageEdge{
			From: lineageVersion(m.source, 1), To: by, Kind: parley.LineageInput, Pointer: "/a", Cited: true,
			Of: output, Target: "/b",
		})

	second := w.level(t, w.scope, false, by, answer)
	if diff := gocmp.Diff([]store.LineageNode{{
		LineageRef: by, Seen: true, Name: "summary", Status: "completed", SessionID: m.by.SessionID,
		CreatedAt: m.by.CreatedAt,
	}, {
		LineageRef: answer, Seen: true, Name: w.sessionState(t, m.by.SessionID).Title, Status: "completed",
		SessionID: m.by.SessionID, Author: w.message(t, answer.ID).Author, CreatedAt: w.message(t, answer.ID).CreatedAt,
	}}, second.Nodes); diff != "" {
		t.Errorf("the transform and its answer (-want +got):\n%s", diff)
	}
	if len(second.Edges) != 3 || second.Edges[2].Kind != parley.LineageWrote || second.Edges[2].To != answer {
		t.Fatalf("the causes of both: %+v", second.Edges)
	}
	call := second.Edges[2].From
	wantEdges(t, "the causes of the transform", second.Edges[:2],
		store.LineageEdge{From: input, To: by, Kind: parley.LineageInput, Pointer: "/a"},
		store.LineageEdge{From: trigger, To: by, Kind: parley.LineageTrigger})

	third := w.level(t, w.scope, false, call, input, trigger)
	written, err := w.store.Call(w.ctx, w.scope, call.ID)
	must(t, "Call", err)
	if diff := gocmp.Diff(store.LineageNode{
		LineageRef: call, Seen: true, Name: string(written.Model), Status: "completed", SessionID: m.by.SessionID,
		CreatedAt: written.CreatedAt,
	}, third.Nodes[0]); diff != "" {
		t.Errorf("the call (-want +got):\n%s", diff)
	}
	if trigger := third.Nodes[2]; !trigger.Purged || trigger.Seen {
		t.Errorf("a message that is gone: %+v", trigger)
	}
	wantEdges(t, "the causes of those", third.Edges)
}

func lineageEffects(t *testing.T, w *world) {
	m := w.made(t)
	output, by := lineageVersion(m.written.ID, 1), lineageOf(parley.LineageTransform, m.by.ID)
	input := lineageVersion(m.read.ID, 1)
	failing := w.transform(t, w.newTransform("late", []parley.Artifact{m.read}, creating("never")))
	late := lineageOf(parley.LineageTransform, failing.ID)
	wantEdges(t, "the effects of the input", w.level(t, w.scope, true, input).Edges,
		store.LineageEdge{From: input, To: by, Kind: parley.LineageInput, Pointer: "/a"},
		store.LineageEdge{From: input, To: late, Kind: parley.LineageInput, Pointer: "/a"})
	wantEdges(t, "the effects of the transforms", w.level(t, w.scope, true, by, late).Edges,
		store.LineageEdge{From: by, To: output, Kind: parley.LineageOutput},
		store.LineageEdge{
			From: lineageVersion(m.source, 1), To: by, Kind: parley.LineageInput, Pointer: "/a", Cited: true,
			Of: output, Target: "/b",
		})
	wantEdges(t, "the effects of the output", w.level(t, w.scope, true, output).Edges)
}

func lineageVersions(t *testing.T, w *world) {
	a := w.artifact(t, "one", "1")
	for parent := 1; parent <= 3; parent++ {
		writing := w.version(&a, parent, "text", nil)
		if parent == 3 {
			writing.Version.RestoredFrom = 1
		}
		_, _, err := w.store.WriteArtifact(w.ctx, writing)
		must(t, "WriteArtifact", err)
	}
	edge := func(from, to int, kind parley.LineageEdgeKind) store.LineageEdge {
		return store.LineageEdge{From: lineageVersion(a.ID, from), To: lineageVersion(a.ID, to), Kind: kind}
	}
	wantEdges(t, "the causes", w.level(t, w.scope, false, lineageVersion(a.ID, 4), lineageVersion(a.ID, 1)).Edges,
		edge(3, 4, parley.LineageParent), edge(1, 4, parley.LineageRestored))
	wantEdges(t, "the effects", w.level(t, w.scope, true, lineageVersion(a.ID, 1), lineageVersion(a.ID, 2)).Edges,
		edge(1, 2, parley.LineageParent), edge(2, 3, parley.LineageParent), edge(1, 4, parley.LineageRestored))
}

func lineageStale(t *testing.T, w *world) {
	m := w.made(t)
	polished := w.artifact(t, "polished", "rough") // what a transform writes over what it read is not stale by that
	opened := w.transform(t, w.newTransform("polish", []parley.Artifact{polished}, replaces(&polished)))
	w.ends(t, w.claim(t), &opened, "smooth")
	stale := func() (node bool, listed []string) {
		node = w.level(t, w.scope, false, lineageVersion(m.written.ID, 1)).Nodes[0].Stale
		page, err := w.store.Artifacts(w.ctx, w.scope, store.ArtifactQuery{Stale: true})
		must(t, "Artifacts", err)
		for i := range page {
			listed = append(listed, page[i].Name)
		}
		return node, listed
	}
	if node, listed := stale(); node || len(listed) != 0 {
		t.Errorf("before its input has moved on, it is stale: %v, %v", node, listed)
	}
	_, _, err := w.store.WriteArtifact(w.ctx, w.version(&m.read, 1, "newer", nil))
	must(t, "WriteArtifact", err)
	if node, listed := stale(); !node || len(listed) != 1 || listed[0] != "written" {
		t.Errorf("after its input has moved on, it is stale: %v, %v", node, listed)
	}
	_, _, err = w.store.WriteArtifact(w.ctx, w.version(&m.written, 1, "by hand", nil))
	must(t, "WriteArtifact", err)
	if node, listed := stale(); !node || len(listed) != 0 {
		t.Errorf("once somebody wrote it by hand, version 1 is stale: %v; listed are %v", node, listed)
	}
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, m.read.ID))
	if node, _ := stale(); node {
		t.Error("it is stale although its input is gone")
	}
}

func lineageUnseen(t *testing.T, w *world) {
	m := w.made(t)
	all := []parley.LineageRef{
		lineageVersion(m.written.ID, 1), lineageVersion(m.read.ID, 1), lineageOf(parley.LineageTransform, m.by.ID),
		lineageOf(parley.LineageMessage, m.version.MessageID),
	}
	call := w.level(t, w.scope, false, all[3]).Edges[0].From
	all = append(all, call)
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	everybody := store.Scope{WorkspaceID: w.scope.WorkspaceID}
	own := w.level(t, w.scope, false, all...)
	for name, scope := range map[string]store.Scope{"a stranger": stranger, "one who sees all": everybody} {
		seen := scope.ViewerID.IsZero()
		found := w.level(t, scope, false, all...)
		for i, node := range found.Nodes {
			if node.Seen != seen || !own.Nodes[i].Seen || node.Purged {
				t.Errorf("%s sees %s: %v", name, all[i], node.Seen)
			}
		}
		wantEdges(t, "the edges for "+name, found.Edges, own.Edges...)
	}
	shared := m.read
	shared.Visibility = parley.VisibilityWorkspace
	_, err := w.store.UpdateArtifact(w.ctx, shared)
	must(t, "UpdateArtifact", err)
	if !w.level(t, stranger, false, all...).Nodes[1].Seen {
		t.Error("a stranger does not see what is shared with the workspace")
	}
}

func lineagePurged(t *testing.T, w *world) {
	m := w.made(t)
	input, by := lineageVersion(m.read.ID, 1), lineageOf(parley.LineageTransform, m.by.ID)
	answer := lineageOf(parley.LineageMessage, m.version.MessageID)
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, m.read.ID))
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, m.by.SessionID))
	for when, name := range []string{"summary", ""} { // after the deletion, and after the purge
		found := w.level(t, w.scope, false, input, by, answer)
		if node := found.Nodes[0]; !node.Purged || node.Seen {
			t.Errorf("purged %d, the input: %+v", when, node)
		}
		if node := found.Nodes[1]; !node.Purged || !node.Seen || node.Name != name {
			t.Errorf("purged %d, the transform: %+v", when, node)
		}
		if node := found.Nodes[2]; !node.Purged || node.Seen {
			t.Errorf("purged %d, its answer: %+v", when, node)
		}
		if !slices.ContainsFunc(found.Edges, func(e store.LineageEdge) bool { return e.From == input && e.To == by }) {
			t.Errorf("purged %d, the edges: %+v", when, found.Edges)
		}
		stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
		if node := w.level(t, stranger, false, by).Nodes[0]; node.Seen {
			t.Errorf("purged %d, a stranger sees the transform: %+v", when, node)
		}
		w.drainOutbox(t)
	}
}

func lineageForeign(t *testing.T, w *world) {
	m := w.made(t)
	all := []parley.LineageRef{
		lineageVersion(m.written.ID, 1), lineageVersion(m.read.ID, 1), lineageOf(parley.LineageTransform, m.by.ID),
		lineageOf(parley.LineageMessage, m.version.MessageID),
	}
	for _, down := range []bool{false, true} {
		found := w.level(t, w.neighbour(t, "other").scope, down, all...)
		for _, node := range found.Nodes {
			if node.Seen || !node.Purged || node.Name != "" {
				t.Errorf("in another workspace: %+v", node)
			}
		}
		wantEdges(t, "in another workspace", found.Edges)
	}
}
