package storetest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testArtifacts(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"CreatedAndReadAlike":            artifactCreated,
		"ARepeatGivesTheFirstOne":        artifactRepeated,
		"AVersionFollowsTheNewest":       artifactWritten,
		"ManyWritersMakeOneVersionEach":  artifactRaces,
		"AChangeNamesItsRevision":        artifactChanged,
		"AnArchivedOneTakesNoVersions":   artifactArchived,
		"ASessionsFollowsItsSession":     artifactOfSession,
		"AProjectsOutlivesItsProject":    artifactOfProject,
		"ACascadeTakesThoseOfTheProject": artifactCascade,
		"ListsAndWorkspaces":             artifactLists,
		"ContentsGoWithTheirLastUse":     artifactPurged,
		"ContentsCountForQuotas":         artifactQuota,
		"ContentsCountForTheirOwner":     artifactOwnersQuota,
		"ChangesAreToldAndAudited":       artifactTold,
		"VersionsAreFoundByTheirContent": artifactHeld,
	})
}

// contentFor makes what a store keeps of a text, as a patch on base if there is one: the store never looks into it.
func contentFor(text string, base *store.ArtifactContent) store.ArtifactContent {
	made := store.ArtifactContent{
		Hash: parley.HashOf([]byte(text)), Bytes: int64(len(text)), Patch: []byte("patch of " + text),
	}
	if base != nil {
		made.BaseHash, made.Position = base.Hash, base.Position+1
	}
	return made
}

func (w *world) newArtifact(name, text string, changes ...func(*parley.Artifact)) store.NewArtifact {
	made := store.NewArtifact{
		Artifact: parley.Artifact{
			ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, OwnerID: w.owner.ID, Name: name,
			Visibility: parley.VisibilityPrivate, Kind: parley.ArtifactMarkdown, Labels: []string{"a", "é"},
		},
		Version: parley.ArtifactVersion{Author: w.owner.Author()},
		Content: contentFor(text, nil),
	}
	for _, change := range changes {
		change(&made.Artifact)
	}
	return made
}

func (w *world) artifact(t reporter, name, text string, changes ...func(*parley.Artifact)) parley.Artifact {
	t.Helper()
	made, _, err := w.store.CreateArtifact(w.ctx, w.newArtifact(name, text, changes...))
	must(t, "CreateArtifact", err)
	return made
}

func (w *world) version(
	a *parley.Artifact,
	parent int,
	text string,
	base *store.ArtifactContent,
) store.NewArtifactVersion {
	return store.NewArtifactVersion{
		Version: parley.ArtifactVersion{
			ArtifactID: a.ID, WorkspaceID: a.WorkspaceID, Parent: parent, Base: parent, Author: w.owner.Author(),
		},
		Content: contentFor(text, base),
	}
}

func artifactCreated(t *testing.T, w *world) {
	schema := []byte(`{"type":"object"}`)
	creating := w.newArtifact("Übersicht", `{"a":1}`, func(a *parley.Artifact) {
		a.Kind, a.Schema = parley.ArtifactJSON, schema
	})
	made, repeat, err := w.store.CreateArtifact(w.ctx, creating)
	must(t, "CreateArtifact", err)
	if repeat || made.Version != 1 || made.Bytes != 7 || made.ContentHash != parley.HashOf([]byte(`{"a":1}`)) {
		t.Errorf("created: %v, %+v", repeat, made)
	}
	read, err := w.store.Artifact(w.ctx, w.scope, made.ID)
	must(t, "Artifact", err)
	if diff := cmp.Diff(made, read); diff != "" {
		t.Errorf("read (-created +read):\n%s", diff)
	}
	version, err := w.store.ArtifactVersion(w.ctx, w.scope, made.ID, 1)
	must(t, "ArtifactVersion", err)
	if diff := cmp.Diff(parley.ArtifactVersion{
		ArtifactID: made.ID, WorkspaceID: made.WorkspaceID, Number: 1, Author: w.owner.Author(),
		ContentHash: made.ContentHash, Bytes: 7, CreatedAt: made.CreatedAt,
	}, version); diff != "" {
		t.Errorf("the first version (-want +got):\n%s", diff)
	}
	chain, err := w.store.ArtifactContent(w.ctx, w.scope.WorkspaceID, made.ContentHash)
	must(t, "ArtifactContent", err)
	if diff := cmp.Diff([]store.ArtifactContent{creating.Content}, chain); diff != "" {
		t.Errorf("the content (-want +got):\n%s", diff)
	}
	_, _, err = w.store.CreateArtifact(w.ctx, w.newArtifact("x", "x", func(a *parley.Artifact) {
		a.SessionID = parley.NewID()
	}))
	refused(t, "an artifact in no session", err, parley.CodeNotFound)
	_, _, err = w.store.CreateArtifact(w.ctx, w.newArtifact("x", "x", func(a *parley.Artifact) {
		a.ProjectID = parley.NewID()
	}))
	refused(t, "an artifact in no project", err, parley.CodeNotFound)
}

// artifactHeld: a list selects the versions with a content, and a file keeps its media type.
func artifactHeld(t *testing.T, w *world) {
	creating := w.newArtifact("n", "one", func(a *parley.Artifact) { a.Kind = parley.ArtifactFile })
	creating.Version.MediaType = "image/png"
	a, _, err := w.store.CreateArtifact(w.ctx, creating)
	must(t, "CreateArtifact", err)
	for n, text := range []string{"two", "one", "three"} {
		writing := w.version(&a, n+1, text, nil)
		writing.Version.MediaType = "image/" + text
		_, _, err := w.store.WriteArtifact(w.ctx, writing)
		must(t, "WriteArtifact", err)
	}
	for text, wanted := range map[string][]int{"one": {3, 1}, "two": {2}, "four": nil} {
		found, err := w.store.ArtifactVersions(w.ctx, w.scope, a.ID,
			store.ArtifactVersionQuery{ContentHash: parley.HashOf([]byte(text)), Limit: 10})
		must(t, "ArtifactVersions", err)
		var numbers []int
		for i := range found {
			numbers = append(numbers, found[i].Number)
		}
		if diff := cmp.Diff(wanted, numbers); diff != "" {
			t.Errorf("versions with %q (-want +got):\n%s", text, diff)
		}
	}
	first, err := w.store.ArtifactVersion(w.ctx, w.scope, a.ID, 1)
	must(t, "ArtifactVersion", err)
	a, err = w.store.Artifact(w.ctx, w.scope, a.ID)
	must(t, "Artifact", err)
	if first.MediaType != "image/png" || a.MediaType != "image/three" {
		t.Errorf("the media types are %q and %q", first.MediaType, a.MediaType)
	}
}

func artifactRepeated(t *testing.T, w *world) {
	creating := w.newArtifact("one", "text")
	creating.Idempotency = store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	first, _, err := w.store.CreateArtifact(w.ctx, creating)
	must(t, "CreateArtifact", err)
	creating.Artifact.ID = parley.NewID()
	again, repeat, err := w.store.CreateArtifact(w.ctx, creating)
	must(t, "CreateArtifact", err)
	if !repeat || again.ID != first.ID {
		t.Errorf("the repeat is %v, %s; want %s", repeat, again.ID, first.ID)
	}
	creating.Idempotency.Fingerprint = parley.HashOf([]byte("other"))
	_, _, err = w.store.CreateArtifact(w.ctx, creating)
	refused(t, "another body under the key", err, parley.CodeKeyReused)

	writing := w.version(&first, 1, "more", nil)
	writing.Idempotency = store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte("body"))}
	written, _, err := w.store.WriteArtifact(w.ctx, writing)
	must(t, "WriteArtifact", err)
	second, repeat, err := w.store.WriteArtifact(w.ctx, writing)
	must(t, "WriteArtifact", err)
	if diff := cmp.Diff(written, second); diff != "" || !repeat {
		t.Errorf("the repeat is %v (-first +second):\n%s", repeat, diff)
	}
	known, err := w.store.WrittenVersion(w.ctx, first.WorkspaceID, first.ID, writing.Idempotency)
	if err != nil || known == nil || known.Number != 2 {
		t.Errorf("WrittenVersion: %+v, %v", known, err)
	}
	writing.Idempotency.Fingerprint = parley.HashOf([]byte("other"))
	_, _, err = w.store.WriteArtifact(w.ctx, writing)
	refused(t, "another version under the key", err, parley.CodeKeyReused)
	_, err = w.store.WrittenVersion(w.ctx, first.WorkspaceID, first.ID, writing.Idempotency)
	refused(t, "another version's key", err, parley.CodeKeyReused)
	if known, err = w.store.WrittenVersion(w.ctx, parley.NewID(), first.ID, writing.Idempotency); err != nil ||
		known != nil {
		t.Errorf("another workspace finds %+v, %v", known, err)
	}
}

func artifactWritten(t *testing.T, w *world) {
	a := w.artifact(t, "one", "text")
	first := contentFor("text", nil)
	writing := w.version(&a, 1, "text, more", &first)
	writing.Version.SessionID, writing.Version.MessageID = parley.NewID(), parley.NewID()
	made, _, err := w.store.WriteArtifact(w.ctx, writing)
	must(t, "WriteArtifact", err)
	if made.Number != 2 || made.Parent != 1 || made.Bytes != 10 {
		t.Errorf("written: %+v", made)
	}
	read, err := w.store.ArtifactVersion(w.ctx, w.scope, a.ID, 2)
	must(t, "ArtifactVersion", err)
	if diff := cmp.Diff(made, read); diff != "" {
		t.Errorf("read (-written +read):\n%s", diff)
	}
	_, _, err = w.store.WriteArtifact(w.ctx, w.version(&a, 1, "late", &first))
	refused(t, "a version behind the newest", err, parley.CodeConflict)
	chain, err := w.store.ArtifactContent(w.ctx, a.WorkspaceID, made.ContentHash)
	must(t, "ArtifactContent", err)
	if diff := cmp.Diff([]store.ArtifactContent{first, writing.Content}, chain); diff != "" {
		t.Errorf("the chain (-want +got):\n%s", diff)
	}
	now, err := w.store.Artifact(w.ctx, w.scope, a.ID)
	must(t, "Artifact", err)
	if now.Version != 2 || now.ContentHash != made.ContentHash || now.Bytes != 10 {
		t.Errorf("the artifact: %+v", now)
	}
	all, err := w.store.ArtifactVersions(w.ctx, w.scope, a.ID, store.ArtifactVersionQuery{})
	if err != nil || len(all) != 2 || all[0].Number != 2 {
		t.Errorf("ArtifactVersions: %+v, %v", all, err)
	}
	rest, err := w.store.ArtifactVersions(w.ctx, w.scope, a.ID, store.ArtifactVersionQuery{After: 2, Limit: 5})
	if err != nil || len(rest) != 1 || rest[0].Number != 1 {
		t.Errorf("after version 2: %+v, %v", rest, err)
	}
	_, err = w.store.ArtifactVersion(w.ctx, w.scope, a.ID, 3)
	refused(t, "a version that does not exist", err, parley.CodeNotFound)
	_, err = w.store.ArtifactContent(w.ctx, a.WorkspaceID, parley.HashOf([]byte("nothing")))
	refused(t, "a content that does not exist", err, parley.CodeNotFound)
}

// artifactRaces: of writers that began with one version, one wins; the others see it. Numbers have no gaps.
func artifactRaces(t *testing.T, w *world) {
	a := w.artifact(t, "one", "0")
	const writers, each = 4, 5
	var all sync.WaitGroup
	for n := range writers {
		all.Go(func() {
			for i := 0; i < each; {
				now, err := w.store.Artifact(w.ctx, w.scope, a.ID)
				if err != nil {
					t.Errorf("Artifact: %v", err)
					return
				}
				_, _, err = w.store.WriteArtifact(w.ctx, w.version(&a, now.Version, fmt.Sprint(n, i), nil))
				switch parley.ErrorCode(err) {
				case "":
					i++
				case parley.CodeConflict:
				default:
					t.Errorf("WriteArtifact: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	versions, err := w.store.ArtifactVersions(w.ctx, w.scope, a.ID, store.ArtifactVersionQuery{Ascending: true})
	must(t, "ArtifactVersions", err)
	for i := range versions {
		if versions[i].Number != i+1 || versions[i].Parent != i {
			t.Errorf("version %d has number %d and parent %d", i+1, versions[i].Number, versions[i].Parent)
		}
	}
	if len(versions) != 1+writers*each {
		t.Errorf("%d versions; want %d", len(versions), 1+writers*each)
	}
}

func artifactChanged(t *testing.T, w *world) {
	a := w.artifact(t, "one", "text")
	stale := a
	a.Name, a.Labels, a.Visibility = "Zwei", []string{"x"}, parley.VisibilityWorkspace
	changed, err := w.store.UpdateArtifact(w.ctx, a)
	must(t, "UpdateArtifact", err)
	read, err := w.store.Artifact(w.ctx, w.scope, a.ID)
	must(t, "Artifact", err)
	if diff := cmp.Diff(
		changed,
		read,
	); diff != "" || read.Name != "Zwei" ||
		read.Visibility != parley.VisibilityWorkspace {
		t.Errorf("read %+v (-changed +read):\n%s", read, diff)
	}
	_, err = w.store.UpdateArtifact(w.ctx, stale)
	refused(t, "an older revision", err, parley.CodeConflict)
}

func artifactArchived(t *testing.T, w *world) {
	a := w.artifact(t, "one", "text")
	a.ArchivedAt = parley.Now()
	a, err := w.store.UpdateArtifact(w.ctx, a)
	must(t, "UpdateArtifact", err)
	_, _, err = w.store.WriteArtifact(w.ctx, w.version(&a, 1, "more", nil))
	refused(t, "writing an archived artifact", err, parley.CodeArchived)
}

// artifactOfSession: who sees the session sees the artifact, and both go together.
func artifactOfSession(t *testing.T, w *world) {
	session := w.session(t)
	inside := func(a *parley.Artifact) { a.SessionID, a.OwnerID = session, parley.NewID() }
	a := w.artifact(t, "one", "text", inside)
	if a.OwnerID != w.owner.ID || a.Visibility != parley.VisibilityPrivate {
		t.Errorf("the artifact's owner is %s, %s", a.OwnerID, a.Visibility)
	}
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	_, err := w.store.Artifact(w.ctx, stranger, a.ID)
	refused(t, "an artifact of a private session", err, parley.CodeNotFound)
	_, err = w.store.ArtifactVersion(w.ctx, stranger, a.ID, 1)
	refused(t, "a version of it", err, parley.CodeNotFound)
	shared := parley.VisibilityWorkspace
	_, err = w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Visibility: &shared})
	must(t, "UpdateSession", err)
	if seen, err := w.store.Artifact(w.ctx, stranger, a.ID); err != nil || seen.Visibility != shared {
		t.Errorf("the artifact of a shared session: %+v, %v", seen, err)
	}
	taken, err := w.store.Artifact(w.ctx, w.scope, w.artifact(t, "kept", "text", inside).ID)
	must(t, "Artifact", err)
	taken.SessionID = parley.ID{}
	taken, err = w.store.UpdateArtifact(w.ctx, taken)
	must(t, "UpdateArtifact", err)

	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	_, err = w.store.Artifact(w.ctx, w.scope, a.ID)
	refused(t, "an artifact of a deleted session", err, parley.CodeNotFound)
	w.drainOutbox(t)
	kept, err := w.store.Artifact(w.ctx, w.scope, taken.ID)
	if err != nil || kept.OwnerID != w.owner.ID || kept.Visibility != shared {
		t.Errorf("the artifact that left its session: %+v, %v", kept, err)
	}
	if _, err := w.store.ArtifactContent(w.ctx, a.WorkspaceID, kept.ContentHash); err != nil {
		t.Errorf("its content, which the other one had too: %v", err)
	}
	if stored, err := w.store.Storage(w.ctx, a.WorkspaceID, w.owner.ID); err != nil ||
		stored.Workspace != int64(len("patch of text")) {
		t.Errorf("stored: %+v, %v", stored, err)
	}
}

func artifactOfProject(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	a := w.artifact(t, "one", "text", func(a *parley.Artifact) { a.ProjectID = project.ID })
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, false))
	w.drainOutbox(t)
	if kept, err := w.store.Artifact(w.ctx, w.scope, a.ID); err != nil || !kept.ProjectID.IsZero() {
		t.Errorf("the artifact of a deleted project: %+v, %v", kept, err)
	}
}

func artifactCascade(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	a := w.artifact(t, "one", "text", func(a *parley.Artifact) { a.ProjectID = project.ID })
	outside := w.artifact(t, "two", "text")
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, true))
	w.drainOutbox(t)
	_, err := w.store.Artifact(w.ctx, w.scope, a.ID)
	refused(t, "the artifact of a project deleted with cascade", err, parley.CodeNotFound)
	if _, err := w.store.Artifact(w.ctx, w.scope, outside.ID); err != nil {
		t.Errorf("an artifact outside: %v", err)
	}
}

func artifactLists(t *testing.T, w *world) {
	project, session := w.choose(t, "/srv/p"), w.session(t)
	json := w.artifact(t, "Die Übersicht", "{}", func(a *parley.Artifact) {
		a.Kind, a.ProjectID, a.Labels = parley.ArtifactJSON, project.ID, []string{"plan", "%"}
	})
	text := w.artifact(t, "notes_1", "text", func(a *parley.Artifact) {
		a.SessionID, a.Labels = session, []string{"plans"}
	})
	shared := w.artifact(t, "shared", "text", func(a *parley.Artifact) { a.Visibility = parley.VisibilityWorkspace })
	shared.ArchivedAt = parley.Now()
	shared, err := w.store.UpdateArtifact(w.ctx, shared)
	must(t, "UpdateArtifact", err)
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	other := w.neighbour(t, "neighbour")
	for _, c := range []struct {
		name  string
		scope store.Scope
		query store.ArtifactQuery
		want  []parley.ID
	}{
		{"all", w.scope, store.ArtifactQuery{Ascending: true}, []parley.ID{json.ID, text.ID, shared.ID}},
		{"project", w.scope, store.ArtifactQuery{ProjectID: project.ID}, []parley.ID{json.ID}},
		{"session", w.scope, store.ArtifactQuery{SessionID: session}, []parley.ID{text.ID}},
		{
			"kinds", w.scope,
			store.ArtifactQuery{Kinds: []parley.ArtifactKind{parley.ArtifactJSON, parley.ArtifactCSV}},
			[]parley.ID{json.ID},
		},
		{"label", w.scope, store.ArtifactQuery{Label: "plan"}, []parley.ID{json.ID}},
		{"label that is a pattern", w.scope, store.ArtifactQuery{Label: "%"}, []parley.ID{json.ID}},
		{"name", w.scope, store.ArtifactQuery{Name: "über"}, []parley.ID{json.ID}},
		{"name that is a pattern", w.scope, store.ArtifactQuery{Name: "s_"}, []parley.ID{text.ID}},
		{"archived", w.scope, store.ArtifactQuery{Archived: new(true)}, []parley.ID{shared.ID}},
		{"not archived", w.scope, store.ArtifactQuery{Archived: new(false)}, []parley.ID{text.ID, json.ID}},
		{
			"after", w.scope,
			store.ArtifactQuery{AfterUpdated: text.UpdatedAt, AfterID: text.ID, Limit: 1},
			[]parley.ID{json.ID},
		},
		{"a stranger", stranger, store.ArtifactQuery{}, []parley.ID{shared.ID}},
		{"a neighbour", other.scope, store.ArtifactQuery{}, []parley.ID{}},
	} {
		found, err := w.store.Artifacts(w.ctx, c.scope, c.query)
		must(t, c.name, err)
		ids := []parley.ID{}
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		if diff := cmp.Diff(c.want, ids); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	_, err = w.store.Artifact(w.ctx, other.scope, json.ID)
	refused(t, "a neighbour's artifact", err, parley.CodeNotFound)
	_, err = w.store.ArtifactContent(w.ctx, other.scope.WorkspaceID, json.ContentHash)
	refused(t, "a neighbour's content", err, parley.CodeNotFound)
	refused(t, "deleting a neighbour's", w.store.DeleteArtifact(w.ctx, other.scope, json.ID), parley.CodeNotFound)
	_, _, err = w.store.WriteArtifact(w.ctx, store.NewArtifactVersion{
		Version: parley.ArtifactVersion{
			ArtifactID: json.ID, WorkspaceID: other.scope.WorkspaceID, Parent: 1, Author: w.owner.Author(),
		},
		Content: contentFor("theirs", nil),
	})
	refused(t, "writing a neighbour's", err, parley.CodeNotFound)
}

// artifactPurged: a content goes when no version has it and nothing is a patch on it.
func artifactPurged(t *testing.T, w *world) {
	a, b := w.artifact(t, "one", "base"), w.artifact(t, "two", "other")
	base := contentFor("base", nil)
	middle := contentFor("middle", &base)
	last := contentFor("last", &middle)
	write := func(a *parley.Artifact, parent int, content store.ArtifactContent) {
		t.Helper()
		writing := w.version(a, parent, "", nil)
		writing.Content = content
		_, _, err := w.store.WriteArtifact(w.ctx, writing)
		must(t, "WriteArtifact", err)
	}
	write(&a, 1, middle)
	write(&a, 2, last)
	write(&b, 1, middle) // kept once
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, a.ID))
	_, err := w.store.Artifact(w.ctx, w.scope, a.ID)
	refused(t, "a deleted artifact", err, parley.CodeNotFound)
	refused(t, "deleting it again", w.store.DeleteArtifact(w.ctx, w.scope, a.ID), parley.CodeNotFound)
	w.drainOutbox(t)
	_, err = w.store.ArtifactContent(w.ctx, a.WorkspaceID, last.Hash)
	refused(t, "a content that nothing needs", err, parley.CodeNotFound)
	chain, err := w.store.ArtifactContent(w.ctx, a.WorkspaceID, middle.Hash)
	must(t, "ArtifactContent", err)
	if diff := cmp.Diff([]store.ArtifactContent{base, middle}, chain); diff != "" {
		t.Errorf("what the other artifact needs (-want +got):\n%s", diff)
	}
	must(t, "DeleteArtifact", w.store.DeleteArtifact(w.ctx, w.scope, b.ID))
	w.drainOutbox(t)
	if stored, err := w.store.Storage(w.ctx, a.WorkspaceID, w.owner.ID); err != nil || stored != (parley.Storage{}) {
		t.Errorf("still stored: %+v, %v", stored, err)
	}
}

func artifactQuota(t *testing.T, w *world) {
	a := w.artifact(t, "one", "text")
	size := int64(len("patch of text"))
	stored, err := w.store.Storage(w.ctx, a.WorkspaceID, w.owner.ID)
	if err != nil || stored != (parley.Storage{Workspace: size, Principal: size}) {
		t.Errorf("stored: %+v, %v", stored, err)
	}
	writing := w.version(&a, 1, "more", nil)
	writing.MaxStorage = size + 5
	_, _, err = w.store.WriteArtifact(w.ctx, writing)
	refused(t, "a version beyond the quota", err, parley.CodeConflict)
	creating := w.newArtifact("two", "other")
	creating.MaxStorage = size + 5
	_, _, err = w.store.CreateArtifact(w.ctx, creating)
	refused(t, "an artifact beyond the quota", err, parley.CodeConflict)
	writing = w.version(&a, 1, "text", nil)
	writing.MaxStorage = size
	_, _, err = w.store.WriteArtifact(w.ctx, writing)
	must(t, "the same content again, within the quota,", err)
}

// artifactOwnersQuota: bytes count for the artifact's owner, no matter who writes; the limit of the owner's key holds.
func artifactOwnersQuota(t *testing.T, w *world) {
	size := int64(len("patch of text"))
	given := newKey(parley.DefaultWorkspace, "small", parley.RoleMember)
	given.Key.MaxStorage = new(size + 5)
	key, err := w.store.CreateKey(w.ctx, given)
	must(t, "CreateKey", err)
	owned := func(a *parley.Artifact) { a.OwnerID = key.PrincipalID }
	a := w.artifact(t, "one", "text", owned)
	_, _, err = w.store.WriteArtifact(w.ctx, w.version(&a, 1, "more", nil)) // by somebody else
	refused(t, "a version beyond the limit of the owner's key", err, parley.CodeConflict)
	_, _, err = w.store.CreateArtifact(w.ctx, w.newArtifact("two", "other", owned))
	refused(t, "an artifact beyond the limit of the owner's key", err, parley.CodeConflict)
	w.artifact(t, "three", "other") // of an owner without a limit

	session := w.session(t, func(s *parley.Session) { s.OwnerID = key.PrincipalID })
	_, _, err = w.store.CreateArtifact(w.ctx, w.newArtifact("four", "another", func(a *parley.Artifact) {
		a.SessionID = session
	}))
	refused(t, "an artifact in the session of that owner", err, parley.CodeConflict)
	_, err = w.store.RevokeKey(w.ctx, a.WorkspaceID, key.ID)
	must(t, "RevokeKey", err)
	_, _, err = w.store.WriteArtifact(w.ctx, w.version(&a, 1, "more", nil))
	must(t, "a version when the key is revoked", err)
}

func artifactTold(t *testing.T, w *world) {
	heard := &recorder{}
	w.store.Listen(heard)
	ctx, _ := w.calls("create")
	made, _, err := w.store.CreateArtifact(ctx, w.newArtifact("one", "text"))
	must(t, "CreateArtifact", err)
	w.tells(t, "create", concern{Target: made.ID})
	ctx, _ = w.calls("write")
	_, _, err = w.store.WriteArtifact(ctx, w.version(&made, 1, "more", nil))
	must(t, "WriteArtifact", err)
	w.tells(t, "write", concern{Target: made.ID})
	ctx, _ = w.calls("stale")
	_, _, err = w.store.WriteArtifact(ctx, w.version(&made, 1, "late", nil))
	refused(t, "a late version", err, parley.CodeConflict)
	w.tells(t, "stale")
	now, err := w.store.Artifact(w.ctx, w.scope, made.ID)
	must(t, "Artifact", err)
	ctx, _ = w.calls("update")
	now.Name = "two"
	_, err = w.store.UpdateArtifact(ctx, now)
	must(t, "UpdateArtifact", err)
	w.tells(t, "update", concern{Target: made.ID})
	ctx, _ = w.calls("delete")
	must(t, "DeleteArtifact", w.store.DeleteArtifact(ctx, w.scope, made.ID))
	w.tells(t, "delete", concern{Target: made.ID})
	want := []parley.EventType{
		parley.FeedArtifactCreated, parley.FeedArtifactUpdated, parley.FeedArtifactUpdated, parley.FeedArtifactDeleted,
	}
	if diff := cmp.Diff(want, heard.feed(parley.ID{})); diff != "" {
		t.Errorf("the feed (-want +got):\n%s", diff)
	}
	heard.mu.Lock()
	defer heard.mu.Unlock()
	for _, commit := range heard.commits {
		for _, event := range commit.Feed {
			if event.OwnerID != w.owner.ID || event.Visibility != parley.VisibilityPrivate ||
				!bytes.Contains(event.Data, []byte(made.ID.String())) {
				t.Errorf("the feed got %+v", event)
			}
		}
	}
}
