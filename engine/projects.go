package engine

import (
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// maxPathBytes bounds a directory's path.
const maxPathBytes = 4096

// ProjectInput names a directory.
type ProjectInput struct {
	Path string `json:"path" doc:"Absolute; symbolic links are resolved."`
	Name string `json:"name,omitempty" doc:"The folder's name by default."`
	Icon string `json:"icon,omitempty"`
}

// ProjectPatch changes a project: absent fields stay, null clears them.
type ProjectPatch struct {
	Name parley.Change[string] `json:"name,omitzero" doc:"null and an empty one give back the folder's name."`
	Icon parley.Change[string] `json:"icon,omitzero"`

	// If refuses the patch unless the project is as the caller expects; nil: any is. It may be called several times.
	If func(current parley.Project) error `json:"-"`
}

// ChooseProject adds a directory as a project, or refreshes the existing project; the bool reports a new one. It
// returns CodeInvalid if the path is not a directory, lies outside the allowed roots, or is private (see package
// projectdir), and CodeForbidden for all but the machine's own user while no roots are configured.
func (e *Engine) ChooseProject(
	ctx context.Context,
	principal parley.Principal,
	input ProjectInput,
) (_ parley.Project, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "chooseProject", WriteProjects)
	if err != nil {
		return parley.Project{}, false, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := checkTexts(
		textBound{"path", input.Path, maxPathBytes},
		textBound{"name", input.Name, parley.MaxNameBytes},
		textBound{"icon", input.Icon, parley.MaxNameBytes},
	); err != nil {
		return parley.Project{}, false, err
	}
	if err := e.mayChoose(principal); err != nil {
		return parley.Project{}, false, err
	}
	path, err := e.projects.Resolve(input.Path)
	if err != nil {
		return parley.Project{}, false, err
	}
	project, isNew, err := e.store.ChooseProject(ctx, parley.Project{
		ID:          parley.NewID(),
		WorkspaceID: scope.WorkspaceID,
		Path:        path,
		Name:        either(strings.TrimSpace(input.Name), parley.FolderName(path)),
		Icon:        input.Icon,
	})
	if err == nil {
		call.about(on(project.ID))
	}
	return project, isNew, err
}

// Project reads a project.
func (e *Engine) Project(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Project, err error) {
	ctx, call, err := e.enter(ctx, principal, "getProject", ReadProjects, on(id))
	if err != nil {
		return parley.Project{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.Project(ctx, scope.WorkspaceID, id)
}

// UpdateProject applies a patch; one that changes nothing leaves no trace. The directory itself is untouched. It
// returns CodeForbidden for a member who renames a project that sessions of others use.
func (e *Engine) UpdateProject(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	patch ProjectPatch,
) (_ parley.Project, err error) {
	ctx, call, err := e.enter(ctx, principal, "updateProject", WriteProjects, on(id))
	if err != nil {
		return parley.Project{}, err
	}
	defer call.end(ctx, &err)
	if err := checkTexts(
		textBound{"name", patch.Name.Value, parley.MaxNameBytes},
		textBound{"icon", patch.Icon.Value, parley.MaxNameBytes},
	); err != nil {
		return parley.Project{}, err
	}
	patch.Name.Value = strings.TrimSpace(patch.Name.Value)
	change := store.ProjectChange{If: patch.If}
	set(patch.Name, &change.Name)
	set(patch.Icon, &change.Icon)
	return e.store.UpdateProject(ctx, call.Scope, id, change)
}

// Projects lists projects, last access first by default.
func (e *Engine) Projects(
	ctx context.Context,
	principal parley.Principal,
	list Paging,
) (_ Page[parley.Project], err error) {
	ctx, call, err := e.enter(ctx, principal, "listProjects", ReadProjects)
	if err != nil {
		return Page[parley.Project]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	from, order, limit, err := list.start("projects", Descending)
	if err != nil {
		return Page[parley.Project]{}, err
	}
	rows, err := e.store.Projects(ctx, scope.WorkspaceID, store.ProjectQuery{
		Ascending: order == Ascending, AfterAccess: from.At, AfterID: from.ID, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.Project]{}, err
	}
	return pageOf(rows, limit, func(last parley.Project) cursor {
		return cursor{List: "projects", Order: order, At: last.LastAccessAt, ID: last.ID}
	}), nil
}

// Disposal says what happens to a deleted project's sessions.
type Disposal string

// Sessions are detached (also by ""), or deleted, which only admins may request.
const (
	Detach  Disposal = "detach"
	Cascade Disposal = "cascade"
)

// DeleteProject removes a project; the directory itself is untouched. It returns CodeForbidden for a member while
// sessions of others use the project.
func (e *Engine) DeleteProject(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	sessions Disposal,
) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteProject", DropProjects, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if sessions == Cascade && ReachOf(principal.Role, DropSessions) != ReachAll {
		return parley.Errorf(
			parley.CodeForbidden,
			"Only an admin may delete a project together with its sessions, for others may own them. Without cascade "+
				"they are detached.",
		)
	}
	return e.store.DeleteProject(ctx, scope, id, sessions == Cascade)
}

// MayChooseDirectories reports whether a principal may list directories and make them projects, so that a client need
// not offer what would be refused.
func (e *Engine) MayChooseDirectories(principal parley.Principal) bool {
	return ReachOf(principal.Role, WriteProjects) != ReachNone && e.mayChoose(principal) == nil
}

// mayChoose refuses callers who may not choose directories: without configured roots only the machine's own user may.
func (e *Engine) mayChoose(principal parley.Principal) error {
	if principal.Local || e.projects.Configured() {
		return nil
	}
	return parley.Errorf(
		parley.CodeForbidden,
		"No directories are set for projects on this server, so only its own user chooses them. "+
			"Its operator can name some with --project-root, PARLEY_PROJECT_ROOTS or project_roots in parley.yaml.",
	)
}
