package storetest

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testEdits(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"StoredWithTheirVersions":     editsStored,
		"ARefusedVersionHasNone":      editsRefused,
		"ARepeatMakesNoSecondOne":     editsRepeated,
		"SeenByWhoSeesTheArtifact":    editsSeen,
		"OfASessionFollowTheSession":  editsOfSession,
		"ListsSelectByKind":           editsListed,
		"GoneWithTheArtifact":         editsPurged,
		"TheyStayWhenItIsArchived":    editsArchived,
		"NothingMakesAnEditStale":     editsStale,
		"BetweenVersionsInALineage":   editsInLineage,
		"NamelessWhereTheyAreNotSeen": editsNameless,
	})
}

func edit(name string) store.Edit { return store.Edit{ID: parley.NewID(), Name: name} }

// edited makes an artifact by hand.
func (w *world) edited(t reporter, name, text string, changes ...func(*parley.Artifact)) parley.Artifact {
	t.Helper()
	creating := w.newArtifact(name, text, changes...)
	creating.Edit = edit(parley.EditCreated)
	made, _, err := w.store.CreateArtifact(w.ctx, creating)
	must(t, "CreateArtifact", err)
	return made
}

// edit writes a version by hand.
func (w *world) edit(t reporter, a *parley.Artifact, parent, restored int, text string) parley.ArtifactVersion {
	t.Helper()
	writing := w.version(a, parent, text, nil)
	writing.Version.RestoredFrom, writing.Edit = restored, edit(parley.EditWritten)
	made, _, err := w.store.WriteArtifact(w.ctx, writing)
	must(t, "WriteArtifact", err)
	return made
}

// editOf returns the edit that a version names.
func (w *world) editOf(t reporter, a *parley.Artifact, number int) parley.Transform {
	t.Helper()
	version, err := w.store.ArtifactVersion(w.ctx, w.scope, a.ID, number)
	must(t, "ArtifactVersion", err)
	return w.readTransform(t, version.TransformID)
}

// edits lists the ids of what a scope sees, oldest first.
func (w *world) edits(t reporter, scope store.Scope, kind parley.TransformKind) (ids []parley.ID) {
	t.Helper()
	page, err := w.store.Transforms(w.ctx, scope, store.TransformQuery{Kind: kind, Ascending: true})
	must(t, "Transforms", err)
	for i := range page {
		ids = append(ids, page[i].ID)
	}
	return ids
}

// editsStored: an edit has everything that its version says, and nothing that only a generation has.
func editsStored(t *testing.T, w *world) {
	project := w.choose(t, "/tmp/edits").ID
	a := w.edited(t, "plan", "1", func(a *parley.Artifact) {
		a.ProjectID, a.Kind, a.Schema = project, parley.ArtifactJSON, []byte(`{"type":"object"}`)
		a.OwnerID = parley.NewID() // somebody else's
	})
	w.edit(t, &a, 1, 0, "2")
	w.edit(t, &a, 2, 1, "1")
	w.edit(t, &a, 3, 3, "1")
	for number, read := range map[int][]int{1: nil, 2: {1}, 3: {2, 1}, 4: {3}} {
		version, err := w.store.ArtifactVersion(w.ctx, w.scope, a.ID, number)
		must(t, "ArtifactVersion", err)
		got := w.readTransform(t, version.TransformID)
		name := parley.EditWritten
		if number == 1 {
			name = parley.EditCreated
		}
		want := parley.Transform{
			ID: version.TransformID, WorkspaceID: a.WorkspaceID, ProjectID: project, Kind: parley.TransformEdit,
			TransformSpec: parley.TransformSpec{Name: name}, Status: parley.TransformCompleted,
			Inputs: []parley.TransformInput{}, OwnerID: a.OwnerID, CreatedByID: w.owner.ID,
			CreatedAt: version.CreatedAt, StartedAt: version.CreatedAt, EndedAt: version.CreatedAt,
			Outputs: []parley.TransformOutput{{
				TransformID: version.TransformID, WorkspaceID: a.WorkspaceID, Position: 1,
				TransformTarget: parley.TransformTarget{
					Name: parley.DefaultTransformOutput, Kind: parley.ArtifactJSON, Title: "plan",
				},
				ArtifactID: a.ID, Creates: number == 1, BaseVersion: number - 1, Version: number,
				Sources: []parley.TransformSource{},
			}},
		}
		for i, from := range read {
			want.Inputs = append(want.Inputs, parley.TransformInput{
				TransformID: version.TransformID, WorkspaceID: a.WorkspaceID, Position: i + 1, ArtifactID: a.ID,
				Version: from,
			})
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("the edit of version %d (-want +got):\n%s", number, diff)
		}
	}
	_, err := w.store.Transform(w.ctx, w.neighbour(t, "other").scope, w.editOf(t, &a, 1).ID)
	refused(t, "an edit of another workspace", err, parley.CodeNotFound)
	plain := w.artifact(t, "by an agent", "1")
	first, err := w.store.ArtifactVersion(w.ctx, w.scope, plain.ID, 1)
	if err != nil || !first.TransformID.IsZero() || len(w.edits(t, w.scope, "")) != 4 {
		t.Errorf("a version without an edit: %+v, %v", first, err)
	}
}

// editsRefused: a version and its edit are stored together or not at all.
func editsRefused(t *testing.T, w *world) {
	a := w.edited(t, "one", "1")
	w.edit(t, &a, 1, 0, "2")
	late := w.version(&a, 1, "late", nil)
	late.Edit = edit(parley.EditWritten)
	_, _, err := w.store.WriteArtifact(w.ctx, late)
	refused(t, "a version behind the newest", err, parley.CodeConflict)
	homeless := w.newArtifact("x", "x", func(a *parley.Artifact) { a.ProjectID = parley.NewID() })
	homeless.Edit = edit(parley.EditCreated)
	_, _, err = w.store.CreateArtifact(w.ctx, homeless)
	refused(t, "an artifact in no project", err, parley.CodeNotFound)
	for _, id := range []parley.ID{late.Edit.ID, homeless.Edit.ID} {
		_, err := w.store.Transform(w.ctx, w.scope, id)
		refused(t, "the edit of what was refused", err, parley.CodeNotFound)
	}
	// The same id twice: the version is not written either.
	twice := w.version(&a, 2, "3", nil)
	twice.Edit = store.Edit{ID: w.editOf(t, &a, 2).ID, Name: parley.EditWritten}
	if _, _, err := w.store.WriteArtifact(w.ctx, twice); err == nil {
		t.Error("a second edit has the id of the first")
	}
	if now, err := w.store.Artifact(w.ctx, w.scope, a.ID); err != nil || now.Newest != 2 {
		t.Errorf("after a version whose edit cannot be stored: %+v, %v", now, err)
	}
}

func editsRepeated(t *testing.T, w *world) {
	key := store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	creating := w.newArtifact("one", "1")
	creating.Idempotency = key
	var a parley.Artifact
	for range 2 {
		creating.Artifact.ID, creating.Edit = parley.NewID(), edit(parley.EditCreated)
		made, _, err := w.store.CreateArtifact(w.ctx, creating)
		must(t, "CreateArtifact", err)
		a = made
	}
	for range 2 {
		writing := w.version(&a, 1, "2", nil)
		writing.Idempotency, writing.Edit = key, edit(parley.EditWritten)
		_, _, err := w.store.WriteArtifact(w.ctx, writing)
		must(t, "WriteArtifact", err)
	}
	want := []parley.ID{w.editOf(t, &a, 1).ID, w.editOf(t, &a, 2).ID}
	if got := w.edits(t, w.scope, parley.TransformEdit); !slices.Equal(got, want) {
		t.Errorf("after repeats there are the edits %s; want %s", got, want)
	}
}

func (w *world) sees(t reporter, scope store.Scope, id parley.ID) bool {
	t.Helper()
	_, err := w.store.Transform(w.ctx, scope, id)
	if err != nil {
		refused(t, "Transform", err, parley.CodeNotFound)
	}
	listed := slices.Contains(w.edits(t, scope, parley.TransformEdit), id)
	if listed != (err == nil) {
		t.Errorf("%s is listed: %v; read alone: %v", id, listed, err)
	}
	return listed
}

// editsSeen: the artifact's owner and visibility of now count, whoever wrote.
func editsSeen(t *testing.T, w *world) {
	a := w.edited(t, "one", "1", func(a *parley.Artifact) { a.OwnerID = parley.NewID() })
	id := w.editOf(t, &a, 1).ID
	of := func(viewer parley.ID) store.Scope {
		return store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: viewer}
	}
	owner, writer, stranger := of(a.OwnerID), of(w.owner.ID), of(parley.NewID())
	if !w.sees(t, w.scope, id) || !w.sees(t, owner, id) || w.sees(t, writer, id) || w.sees(t, stranger, id) {
		t.Error("an edit of a private artifact is seen by others than its owner, or not by it")
	}
	a.Visibility = parley.VisibilityWorkspace
	a, err := w.store.UpdateArtifact(w.ctx, a)
	must(t, "UpdateArtifact", err)
	if !w.sees(t, stranger, id) || w.sees(t, w.neighbour(t, "other").scope, id) {
		t.Error("an edit of a shared artifact is not seen by its workspace, or by another one")
	}
	heir := of(parley.NewID())
	a.Visibility, a.OwnerID = parley.VisibilityPrivate, heir.ViewerID
	_, err = w.store.UpdateArtifact(w.ctx, a)
	must(t, "UpdateArtifact", err)
	if w.sees(t, stranger, id) || w.sees(t, owner, id) || !w.sees(t, heir, id) {
		t.Error("an edit is not seen by the owner that its artifact has now, or by others")
	}
}

func editsOfSession(t *testing.T, w *world) {
	session := w.session(t)
	a := w.edited(t, "one", "1", func(a *parley.Artifact) { a.SessionID = session })
	id := w.editOf(t, &a, 1).ID
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	if w.sees(t, stranger, id) || !w.sees(t, store.Scope{
		WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID,
	}, id) {
		t.Error("the edit is not seen like the private session of its artifact")
	}
	shared := w.session(t, func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace })
	b := w.edited(t, "two", "1", func(a *parley.Artifact) { a.SessionID = shared })
	if other := w.editOf(t, &b, 1).ID; !w.sees(t, stranger, other) {
		t.Error("the edit is not seen like the shared session of its artifact")
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	if w.sees(t, w.scope, id) {
		t.Error("the edit is seen after the session of its artifact was deleted")
	}
}

func editsListed(t *testing.T, w *world) {
	project := w.choose(t, "/tmp/edits").ID
	a := w.edited(t, "one", "1", func(a *parley.Artifact) { a.ProjectID = project })
	wanted := w.newTransform("generation", nil, creating("new"))
	wanted.Transform.ProjectID = project
	made := w.transform(t, wanted)
	other := w.transform(t, w.newTransform("elsewhere", nil, creating("new")))
	w.edit(t, &a, 1, 0, "2")
	first, second := w.editOf(t, &a, 1).ID, w.editOf(t, &a, 2).ID
	const generation, byHand = parley.TransformGeneration, parley.TransformEdit
	for name, c := range map[string]struct {
		query store.TransformQuery
		want  []parley.ID
	}{
		"both":                   {store.TransformQuery{}, []parley.ID{second, other.ID, made.ID, first}},
		"edits":                  {store.TransformQuery{Kind: byHand}, []parley.ID{second, first}},
		"edits after one":        {store.TransformQuery{Kind: byHand, AfterID: second}, []parley.ID{first}},
		"generations":            {store.TransformQuery{Kind: generation}, []parley.ID{other.ID, made.ID}},
		"both of a project":      {store.TransformQuery{ProjectID: project}, []parley.ID{second, made.ID, first}},
		"the project's edits":    {store.TransformQuery{ProjectID: project, Kind: byHand}, []parley.ID{second, first}},
		"the project's rest":     {store.TransformQuery{ProjectID: project, Kind: generation}, []parley.ID{made.ID}},
		"generations of no run":  {store.TransformQuery{RunID: parley.NewID(), Kind: generation}, nil},
		"completed, either kind": {store.TransformQuery{Status: parley.TransformCompleted}, []parley.ID{second, first}},
		"pending, of any kind": {
			store.TransformQuery{Status: parley.TransformPending}, []parley.ID{other.ID, made.ID},
		},
		"pending edits": {store.TransformQuery{Status: parley.TransformPending, Kind: byHand}, nil},
	} {
		page, err := w.store.Transforms(w.ctx, w.scope, c.query)
		must(t, "Transforms", err)
		var got []parley.ID
		for i := range page {
			got = append(got, page[i].ID)
		}
		if diff := gocmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// editsPurged: an edit is not found from the moment of the deletion, and no row of it is left.
func editsPurged(t *testing.T, w *world) {
	a, kept := w.edited(t, "one", "1"), w.edited(t, "two", "2")
	w.edit(t, &a, 1, 0, "2")
	stays := w.editOf(t, &kept, 1)
	ids := []parley.ID{w.editOf(t, &a, 1).ID, w.editOf(t, &a, 2).ID}
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, a.ID))
	for _, when := range []string{"after its deletion", "after its purge"} {
		if got := w.edits(t, w.scope, ""); !slices.Equal(got, []parley.ID{stays.ID}) {
			t.Errorf("%s the edits %s are left; want %s", when, got, stays.ID)
		}
		for _, id := range ids {
			if w.sees(t, w.scope, id) {
				t.Errorf("an edit of the artifact is seen %s", when)
			}
		}
		w.drainOutbox(t)
	}
	for _, down := range []bool{false, true} {
		found := w.level(t, w.scope, down, lineageOf(parley.LineageTransform, ids[0]),
			lineageOf(parley.LineageTransform, ids[1]), lineageVersion(a.ID, 1), lineageVersion(a.ID, 2))
		wantEdges(t, "after the purge", found.Edges)
	}
	if diff := gocmp.Diff(stays, w.readTransform(t, stays.ID)); diff != "" {
		t.Errorf("the edit of another artifact (-before +after):\n%s", diff)
	}
}

func editsArchived(t *testing.T, w *world) {
	a := w.edited(t, "one", "1")
	before := w.editOf(t, &a, 1)
	a.ArchivedAt = parley.Now()
	_, err := w.store.UpdateArtifact(w.ctx, a)
	must(t, "UpdateArtifact", err)
	if diff := gocmp.Diff(before, w.readTransform(t, before.ID)); diff != "" || !w.sees(t, w.scope, before.ID) {
		t.Errorf("the edit of an archived artifact (-before +after):\n%s", diff)
	}
}

// editsStale: an edit reads the version before, which never is the current one afterwards; that makes nothing stale,
// while a generation that read the same version is.
func editsStale(t *testing.T, w *world) {
	read := w.edited(t, "read", "1")
	opened := w.transform(t, w.newTransform("summary", []parley.Artifact{read}, creating("written")))
	written := w.ends(t, w.claim(t), &opened, "written").Outputs[0]
	for parent := 1; parent <= 3; parent++ {
		w.edit(t, &read, parent, 0, "newer")
	}
	found := w.level(t, w.scope, false, lineageVersion(read.ID, 1), lineageVersion(read.ID, 2),
		lineageVersion(read.ID, 3), lineageVersion(read.ID, 4), lineageVersion(written.ArtifactID, 1))
	for i, node := range found.Nodes {
		if node.Stale != (i == 4) {
			t.Errorf("%s is stale: %v", node.LineageRef, node.Stale)
		}
	}
	page, err := w.store.Artifacts(w.ctx, w.scope, store.ArtifactQuery{Stale: true})
	must(t, "Artifacts", err)
	if len(page) != 1 || page[0].ID != written.ArtifactID {
		t.Errorf("stale are: %+v", page)
	}
}

func editsInLineage(t *testing.T, w *world) {
	a := w.edited(t, "one", "1")
	w.edit(t, &a, 1, 0, "2")
	last := w.edit(t, &a, 2, 1, "1")
	by := func(number int) parley.LineageRef {
		return lineageOf(parley.LineageTransform, w.editOf(t, &a, number).ID)
	}
	at := func(number int) parley.LineageRef { return lineageVersion(a.ID, number) }
	edge := func(from, to parley.LineageRef, kind parley.LineageEdgeKind) store.LineageEdge {
		return store.LineageEdge{From: from, To: to, Kind: kind}
	}
	wantEdges(t, "the causes of a version", w.level(t, w.scope, false, at(3)).Edges,
		edge(at(2), at(3), parley.LineageParent), edge(at(1), at(3), parley.LineageRestored),
		edge(by(3), at(3), parley.LineageOutput))
	found := w.level(t, w.scope, false, by(3), by(1))
	if diff := gocmp.Diff(store.LineageNode{
		LineageRef: by(3), Seen: true, Edit: true, Name: parley.EditWritten, Status: "completed",
		Author: w.owner.Author(), CreatedAt: last.CreatedAt,
	}, found.Nodes[0]); diff != "" {
		t.Errorf("the edit (-want +got):\n%s", diff)
	}
	wantEdges(t, "the causes of the edits", found.Edges,
		edge(at(2), by(3), parley.LineageInput), edge(at(1), by(3), parley.LineageInput))
	wantEdges(t, "the effects of the first version", w.level(t, w.scope, true, at(1)).Edges,
		edge(at(1), at(2), parley.LineageParent), edge(at(1), at(3), parley.LineageRestored),
		edge(at(1), by(2), parley.LineageInput), edge(at(1), by(3), parley.LineageInput))
	wantEdges(t, "the effects of an edit", w.level(t, w.scope, true, by(2)).Edges,
		edge(by(2), at(2), parley.LineageOutput))
}

// editsNameless: a lineage shows an edit to who sees its artifact, and to nobody once that is deleted.
func editsNameless(t *testing.T, w *world) {
	session := w.session(t)
	a := w.edited(t, "one", "1")
	b := w.edited(t, "two", "2", func(a *parley.Artifact) { a.SessionID = session })
	all := []parley.LineageRef{
		lineageOf(parley.LineageTransform, w.editOf(t, &a, 1).ID),
		lineageOf(parley.LineageTransform, w.editOf(t, &b, 1).ID),
	}
	owner := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	seen := func(scope store.Scope, want, purged bool) {
		t.Helper()
		for i, node := range w.level(t, scope, false, all...).Nodes {
			if node.Seen != want || node.Purged != purged {
				t.Errorf("edit %d is seen: %v, purged: %v", i+1, node.Seen, node.Purged)
			}
		}
	}
	seen(w.scope, true, false)
	seen(owner, true, false)
	seen(stranger, false, false)
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, a.ID))
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	for range 2 { // after the deletion, and after the purge
		seen(w.scope, false, true)
		seen(owner, false, true)
		w.drainOutbox(t)
	}
}
