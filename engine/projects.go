package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"parley"
)

// maxPathBytes bounds a directory's path.
const maxPathBytes = 4096

// ProjectInput names a directory.
type ProjectInput struct {
	Path string `json:"path" doc:"Absolute; symbolic links are resolved."`
	Name string `json:"name,omitempty" doc:"The folder's name by default."`
	Icon string `json:"icon,omitempty"`
}

// ChooseProject adds a directory as a project, or refreshes the project that it
// is; the bool reports that it is new. CodeInvalid when the path is no directory
// or lies outside the allowed roots.
func (e *Engine) ChooseProject(ctx context.Context, principal parley.Principal, input ProjectInput) (_ parley.Project, _ bool, err error) {
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
	path, err := e.allowedDirectory(input.Path)
	if err != nil {
		return parley.Project{}, false, err
	}
	project, isNew, err := e.store.ChooseProject(ctx, parley.Project{
		ID: parley.NewID(), WorkspaceID: scope.WorkspaceID, Path: path,
		Name: either(strings.TrimSpace(input.Name), parley.Clip(filepath.Base(path), parley.MaxNameBytes-4)), Icon: input.Icon,
	})
	if err == nil {
		call.about(on(project.ID))
	}
	return project, isNew, err
}

// Project reads one.
func (e *Engine) Project(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Project, err error) {
	ctx, call, err := e.enter(ctx, principal, "getProject", ReadProjects, on(id))
	if err != nil {
		return parley.Project{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.Project(ctx, scope.WorkspaceID, id)
}

// Projects lists, last access first by default.
func (e *Engine) Projects(ctx context.Context, principal parley.Principal, list Paging) (_ Page[parley.Project], err error) {
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
	rows, err := e.store.Projects(ctx, scope.WorkspaceID, parley.ProjectQuery{
		Ascending: order == Ascending, AfterAccess: from.At, AfterID: from.ID, Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.Project]{}, err
	}
	return pageOf(rows, limit, func(last parley.Project) cursor {
		return cursor{List: "projects", Order: order, At: last.LastAccessAt, ID: last.ID}
	}), nil
}

// Disposal says what becomes of a deleted project's sessions.
type Disposal string

// Sessions are detached ("" too), or deleted, which only admins may ask for.
const (
	Detach  Disposal = "detach"
	Cascade Disposal = "cascade"
)

// DeleteProject removes a project; the directory itself is not touched.
func (e *Engine) DeleteProject(ctx context.Context, principal parley.Principal, id parley.ID, sessions Disposal) (err error) {
	ctx, call, err := e.enter(ctx, principal, "deleteProject", DropProjects, on(id))
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if sessions == Cascade && ReachOf(principal.Role, DropSessions) != ReachAll {
		return parley.Errorf(parley.CodeForbidden, "Only an admin may delete a project together with its sessions, for others may own them. Without cascade they are detached.")
	}
	return e.store.DeleteProject(ctx, scope.WorkspaceID, id, sessions == Cascade)
}

// allowedDirectory resolves a path and checks that it is a directory inside an
// allowed root.
func (e *Engine) allowedDirectory(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", parley.InvalidField("path", "%q is not absolute; write it from the root on", parley.Clip(path, 128))
	}
	resolved, err := filepath.EvalSymlinks(filepath.Clean(path))
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(resolved); err == nil && !info.IsDir() {
			err = fs.ErrInvalid
		}
	}
	roots, rootsErr := e.allowedRoots()
	if rootsErr != nil {
		return "", rootsErr
	}
	// Whether something outside the roots exists is not told.
	probe := resolved
	if err != nil {
		probe = filepath.Clean(path)
	}
	if !insideAny(roots, probe) {
		return "", parley.InvalidField("path", "%q lies outside the directories allowed for projects: %s", parley.Clip(path, 128), strings.Join(roots, ", "))
	}
	switch {
	case err == nil:
		return resolved, nil
	case errors.Is(err, fs.ErrNotExist):
		return "", parley.InvalidField("path", "%q does not exist; create the directory first", parley.Clip(path, 128))
	case errors.Is(err, fs.ErrPermission):
		return "", parley.InvalidField("path", "%q cannot be read by the server", parley.Clip(path, 128))
	default:
		return "", parley.InvalidField("path", "%q is not a directory", parley.Clip(path, 128))
	}
}

func (e *Engine) allowedRoots() ([]string, error) {
	configured := e.roots
	if len(configured) == 0 {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, parley.InvalidField("path", "no directory is allowed for projects: the server has no home directory and no roots are configured")
		}
		configured = []string{home}
	}
	roots := make([]string, 0, len(configured))
	for _, root := range configured {
		resolved, err := filepath.EvalSymlinks(root)
		if err != nil {
			continue // a root that is not there holds nothing
		}
		roots = append(roots, resolved)
	}
	return roots, nil
}

func insideAny(roots []string, path string) bool {
	for _, root := range roots {
		relative, err := filepath.Rel(root, path)
		if err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
