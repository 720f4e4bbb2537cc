package storetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func (w *world) choose(t reporter, path string) parley.Project {
	t.Helper()
	project, _, err := w.store.ChooseProject(
		w.ctx,
		parley.Project{ID: parley.NewID(), WorkspaceID: w.scope.WorkspaceID, Path: path, Name: path[1:]},
	)
	must(t, "ChooseProject", err)
	return project
}

func testProjects(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"choosing adds or refreshes":       testChooseProject,
		"a change of its name and icon":    testUpdateProject,
		"lists by last access":             testProjectLists,
		"deleting detaches sessions":       testDeleteProject,
		"deleting with cascade":            testDeleteProjectCascade,
		"deleting what others use":         testDeleteProjectOfOthers,
		"deleting a large one":             testDeleteLargeProject,
		"another workspace has none of it": testProjectScope,
	})
}

func testChooseProject(t *testing.T, w *world) {
	given := parley.Project{
		ID:          parley.NewID(),
		WorkspaceID: w.scope.WorkspaceID,
		Path:        "/srv/atlas",
		Name:        "atlas",
		Icon:        "globe",
	}
	first, isNew, err := w.store.ChooseProject(w.ctx, given)
	must(t, "ChooseProject", err)
	want := given
	want.CreatedAt, want.LastAccessAt = first.CreatedAt, first.LastAccessAt
	if diff := cmp.Diff(want, first); diff != "" || !isNew || first.CreatedAt == 0 || first.LastAccessAt == 0 {
		t.Errorf("new: %t (-want +got):\n%s", isNew, diff)
	}
	given.ID, given.Name, given.Icon = parley.NewID(), "another name", ""
	again, isNew, err := w.store.ChooseProject(w.ctx, given)
	must(t, "ChooseProject", err)
	if isNew || again.ID != first.ID || again.Icon != "globe" || again.CreatedAt != first.CreatedAt ||
		again.LastAccessAt < first.LastAccessAt {
		t.Errorf("chosen again: new %t, %+v", isNew, again)
	}
	got, err := w.store.Project(w.ctx, w.scope.WorkspaceID, first.ID)
	must(t, "Project", err)
	if diff := cmp.Diff(again, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// testUpdateProject: a change touches what it names, and nothing where it changes nothing or is refused.
func testUpdateProject(t *testing.T, w *world) {
	project := w.choose(t, "/srv/atlas")
	other := w.choose(t, "/srv/other")
	update := func(change store.ProjectChange) (parley.Project, error) {
		return w.store.UpdateProject(w.ctx, w.scope, project.ID, change)
	}
	for _, test := range []struct {
		change     store.ProjectChange
		name, icon string
	}{
		{store.ProjectChange{Name: new("Atlas")}, "Atlas", ""},
		{store.ProjectChange{Icon: new("globe")}, "Atlas", "globe"},
		{store.ProjectChange{}, "Atlas", "globe"},
		{store.ProjectChange{Name: new(""), Icon: new("")}, "atlas", ""},
	} {
		want := project
		want.Name, want.Icon = test.name, test.icon
		got, err := update(test.change)
		must(t, "UpdateProject", err)
		read, err := w.store.Project(w.ctx, w.scope.WorkspaceID, project.ID)
		must(t, "Project", err)
		if got != want || read != want {
			t.Errorf("changed to %+v, read as %+v, want %+v", got, read, want)
		}
	}
	project.Name = "atlas"
	_, err := update(store.ProjectChange{Name: new("x"), If: func(current parley.Project) error {
		if current.Name != "atlas" {
			t.Errorf("the condition is shown %+v", current)
		}
		return parley.Errorf(parley.CodeChanged, "it changed")
	}})
	refused(t, "a change whose condition fails", err, parley.CodeChanged)
	for id, unchanged := range map[parley.ID]parley.Project{project.ID: project, other.ID: other} {
		read, err := w.store.Project(w.ctx, w.scope.WorkspaceID, id)
		must(t, "Project", err)
		if read.Name != unchanged.Name || read.Icon != unchanged.Icon || read.LastAccessAt != unchanged.LastAccessAt {
			t.Errorf("is now %+v", read)
		}
	}
	theirs := store.ProjectChange{Name: new("theirs")}
	_, err = w.store.UpdateProject(w.ctx, store.Scope{WorkspaceID: parley.NewID()}, project.ID, theirs)
	refused(t, "a change from another workspace", err, parley.CodeNotFound)
	w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	_, err = w.store.UpdateProject(w.ctx, stranger, project.ID, theirs)
	refused(t, "another name for a project of others", err, parley.CodeForbidden)
	_, err = w.store.UpdateProject(w.ctx, stranger, other.ID, theirs)
	must(t, "another name for a project that nobody uses", err)
	for _, change := range []store.ProjectChange{{Name: &project.Name, Icon: new("star")}, {Icon: new("moon")}} {
		_, err = w.store.UpdateProject(w.ctx, stranger, project.ID, change)
		must(t, "another icon", err)
	}
	owner := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	_, err = w.store.UpdateProject(w.ctx, owner, project.ID, theirs)
	must(t, "another name for a project of one's own sessions", err)
}

func testProjectLists(t *testing.T, w *world) {
	var made []parley.Project
	for _, path := range []string{"/a", "/b", "/c", "/d", "/e"} {
		made = append(made, w.choose(t, path))
	}
	for _, ascending := range []bool{false, true} {
		query := store.ProjectQuery{Ascending: ascending, Limit: 2}
		var got []parley.Project
		for range mostPages {
			page, err := w.store.Projects(w.ctx, w.scope.WorkspaceID, query)
			must(t, "Projects", err)
			got = append(got, page...)
			if len(page) < query.Limit {
				break
			}
			last := page[len(page)-1]
			query.AfterAccess, query.AfterID = last.LastAccessAt, last.ID
		}
		want := slices.Clone(made)
		if !ascending {
			slices.Reverse(want)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ascending %t (-want +got):\n%s", ascending, diff)
		}
	}
}

func testDeleteProject(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	inside := w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, false))
	_, err := w.store.Project(w.ctx, w.scope.WorkspaceID, project.ID)
	refused(t, "a deleted project", err, parley.CodeNotFound)
	refused(t, "deleting it again", w.store.DeleteProject(w.ctx, w.scope, project.ID, false), parley.CodeNotFound)
	if got := w.sessionState(t, inside).ProjectID; !got.IsZero() {
		t.Errorf("the session still names the project %s", got)
	}
	w.exchange(t, inside, "still there?", "yes")
	if got := w.sessionState(t, inside).ProjectID; !got.IsZero() {
		t.Errorf("after a turn the session names the project %s again", got)
	}
	if again := w.choose(t, "/srv/p"); again.ID == project.ID {
		t.Error("choosing the path revived the deleted project")
	}
}

// testDeleteProjectOfOthers: a principal with a limited view may delete a project that no session of others uses.
func testDeleteProjectOfOthers(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	inside := w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	refused(
		t,
		"deleting a project of others",
		w.store.DeleteProject(w.ctx, stranger, project.ID, false),
		parley.CodeForbidden,
	)
	if got := w.sessionState(t, inside).ProjectID; got != project.ID {
		t.Errorf("the session's project is %s", got)
	}
	owner := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: w.owner.ID}
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, owner, project.ID, false))
	refused(t, "deleting it again", w.store.DeleteProject(w.ctx, stranger, project.ID, false), parley.CodeNotFound)
}

func testDeleteProjectCascade(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	inside := w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	outside := w.session(t)
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, true))
	_, err := w.store.Session(w.ctx, w.scope, inside)
	refused(t, "a session of a project deleted with cascade", err, parley.CodeNotFound)
	w.sessionState(t, outside)
}

// testDeleteLargeProject: sessions beyond one transaction follow through the outbox.
func testDeleteLargeProject(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	inside := make([]parley.ID, 120)
	for i := range inside {
		inside[i] = w.session(t, func(s *parley.Session) { s.ProjectID = project.ID })
	}
	must(t, "DeleteProject", w.store.DeleteProject(w.ctx, w.scope, project.ID, false))
	w.drainOutbox(t)
	for i, id := range inside {
		if got := w.sessionState(t, id).ProjectID; !got.IsZero() {
			t.Fatalf("session %d still names the project", i)
		}
	}
}

func testProjectScope(t *testing.T, w *world) {
	project := w.choose(t, "/srv/p")
	other := w.neighbour(t, "neighbour")
	_, err := w.store.Project(w.ctx, other.scope.WorkspaceID, project.ID)
	refused(t, "Project", err, parley.CodeNotFound)
	refused(t, "DeleteProject", w.store.DeleteProject(w.ctx, other.scope, project.ID, true), parley.CodeNotFound)
	list, err := w.store.Projects(w.ctx, other.scope.WorkspaceID, store.ProjectQuery{})
	if err != nil || len(list) != 0 {
		t.Errorf("the neighbour lists %d projects, %v", len(list), err)
	}
	if theirs := other.choose(t, "/srv/p"); theirs.ID == project.ID {
		t.Error("two workspaces share a project of the same path")
	}
	foreign := other.session(t)
	_, err = w.store.UpdateSession(w.ctx, other.scope, foreign, store.SessionChange{ProjectID: &project.ID})
	refused(t, "attaching a session to a foreign project", err, parley.CodeNotFound)
}
