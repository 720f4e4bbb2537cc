package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/projectdir"
	"example.org/parley/store"
)

// The bounds of one directory listing.
const (
	MaxDirectories      = 1000    // directories shown
	maxDirectoryEntries = 100_000 // entries read in all
	directoryBatch      = 1024    // entries read at a time
)

// DirectoryQuery says which directories to list.
type DirectoryQuery struct {
	Path   string // absolute and inside an allowed root; "" lists the roots
	Name   string // only names that contain it, ignoring case
	Hidden bool   // include names that begin with a dot
}

// Directory is a directory that may be chosen as a project.
type Directory struct {
	Name      string    `json:"name" doc:"The last part of its path; for a root, the whole path."`
	Path      string    `json:"path" doc:"Absolute, symbolic links resolved."`
	ProjectID parley.ID `json:"project_id" doc:"The project that it already is, if any."`
}

// Directories is a directory with its subdirectories, or the list of roots.
type Directories struct {
	Path      *string     `json:"path" doc:"Absolute, symbolic links resolved; null for the list of roots."`
	Root      *string     `json:"root" doc:"The allowed root that contains it."`
	Parent    *string     `json:"parent" doc:"The directory above it, if that lies in the root; null at the root."`
	ProjectID parley.ID   `json:"project_id" doc:"The project that it already is, if any."`
	Data      []Directory `json:"data"`
	Truncated bool        `json:"truncated" doc:"Whether there are more than these."`
}

// Directories lists the subdirectories of a directory inside the allowed roots, by name, for callers who may choose
// them as projects. It returns CodeNotFound for a path outside the roots or a private one, whether it exists or not.
func (e *Engine) Directories(
	ctx context.Context,
	principal parley.Principal,
	query DirectoryQuery,
) (_ Directories, err error) {
	ctx, call, err := e.enter(ctx, principal, "listDirectories", WriteProjects)
	if err != nil {
		return Directories{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	if err := checkTexts(
		textBound{"path", query.Path, maxPathBytes},
		textBound{"name", query.Name, parley.MaxNameBytes},
	); err != nil {
		return Directories{}, err
	}
	if err := e.mayChoose(principal); err != nil {
		return Directories{}, err
	}
	roots, err := e.projects.Roots()
	if err != nil {
		return Directories{}, err
	}
	var listing Directories
	if query.Path == "" {
		listing = listRoots(roots, query)
	} else if listing, err = e.listDirectory(ctx, roots, query); err != nil {
		return Directories{}, err
	}
	return listing, e.nameProjects(ctx, scope.WorkspaceID, &listing)
}

func listRoots(roots []string, query DirectoryQuery) Directories {
	listing := Directories{Data: make([]Directory, 0, len(roots))}
	for _, root := range roots {
		if query.takes(root) {
			listing.Data = append(listing.Data, Directory{Name: root, Path: root})
		}
	}
	return listing
}

// takes reports whether a name matches the query.
func (q *DirectoryQuery) takes(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(q.Name)) &&
		(q.Hidden || !strings.HasPrefix(name, "."))
}

// listDirectory reads one directory. It opens the directory below its root, so that a link which replaces a directory
// meanwhile leads nowhere else.
func (e *Engine) listDirectory(ctx context.Context, roots []string, query DirectoryQuery) (Directories, error) {
	if !filepath.IsAbs(query.Path) {
		return Directories{}, parley.InvalidField(
			"path",
			"%q is not an absolute path",
			parley.Clip(query.Path, 128),
		)
	}
	resolved, err := filepath.EvalSymlinks(filepath.Clean(query.Path))
	if err != nil {
		return Directories{}, noDirectory(query.Path) // without the reason: a link may lead outside
	}
	shown := e.projects.Shown(roots)
	root, relative, ok := below(roots, resolved)
	if !ok || !shown(resolved) {
		return Directories{}, noDirectory(query.Path)
	}
	inside, err := os.OpenRoot(root)
	if err != nil {
		return Directories{}, noDirectory(query.Path)
	}
	defer inside.Close() //nolint:errcheck // opened for reading
	listing := Directories{Path: &resolved, Root: &root, Data: []Directory{}}
	if relative != "." {
		parent := filepath.Dir(resolved)
		listing.Parent = &parent
	}
	switch err := listing.read(ctx, inside, relative, shown, query); {
	case err == nil:
		return listing, nil
	case errors.Is(err, fs.ErrPermission):
		return Directories{}, parley.InvalidField(
			"path",
			"%q cannot be read by the server",
			parley.Clip(query.Path, 128),
		)
	case ctx.Err() != nil:
		return Directories{}, err
	default:
		return Directories{}, noDirectory(query.Path)
	}
}

func noDirectory(path string) error {
	return parley.Errorf(
		parley.CodeNotFound,
		"The directories allowed for projects do not contain %q.",
		parley.Clip(path, 128),
	)
}

// below finds the root that contains a resolved path, the deepest one.
func below(roots []string, path string) (root, relative string, ok bool) {
	for _, one := range roots {
		if relative, err := filepath.Rel(one, path); err == nil && filepath.IsLocal(relative) && len(one) >= len(root) {
			root, ok = one, true
		}
	}
	if !ok {
		return "", "", false
	}
	relative, err := filepath.Rel(root, path)
	return root, relative, err == nil
}

// read adds the directories among the entries, in batches.
func (d *Directories) read(
	ctx context.Context,
	inside *os.Root,
	relative string,
	shown func(path string) bool,
	query DirectoryQuery,
) error {
	folder, err := inside.Open(relative)
	if err != nil {
		return err
	}
	defer folder.Close() //nolint:errcheck // opened for reading
	if at, err := projectdir.Where(folder, *d.Path); err != nil || !shown(at) {
		// A link replaced the directory meanwhile.
		return noDirectory(*d.Path)
	}
	for seen := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := folder.ReadDir(directoryBatch)
		for _, entry := range entries {
			if !query.takes(entry.Name()) || parley.CheckText("name", entry.Name(), maxPathBytes) != nil {
				continue // a path too long could not be requested again
			}
			if path, ok := directoryAt(filepath.Join(*d.Path, entry.Name()), entry); ok && shown(path) {
				d.Data = append(d.Data, Directory{Name: entry.Name(), Path: path})
			}
		}
		seen += len(entries)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		d.Truncated = err == nil && seen >= maxDirectoryEntries
		if err != nil || d.Truncated {
			break
		}
	}
	sort.Slice(d.Data, func(i, j int) bool {
		a, b := d.Data[i].Name, d.Data[j].Name
		return cmp.Or(strings.Compare(strings.ToLower(a), strings.ToLower(b)), strings.Compare(a, b)) < 0
	})
	if len(d.Data) > MaxDirectories {
		d.Data, d.Truncated = d.Data[:MaxDirectories], true
	}
	return nil
}

// directoryAt returns where an entry leads, if that is a directory.
func directoryAt(path string, entry fs.DirEntry) (string, bool) {
	if entry.IsDir() {
		return path, true
	}
	if entry.Type()&fs.ModeSymlink == 0 {
		return "", false
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", false
	}
	info, err := os.Stat(target)
	return target, err == nil && info.IsDir()
}

// nameProjects marks the directories that are projects of the workspace.
func (e *Engine) nameProjects(ctx context.Context, workspace parley.ID, listing *Directories) error {
	known := map[string]parley.ID{}
	query := store.ProjectQuery{Limit: parley.MaxPage}
	for {
		projects, err := e.store.Projects(ctx, workspace, query)
		if err != nil {
			return err
		}
		for i := range projects {
			known[projects[i].Path] = projects[i].ID
		}
		if len(projects) < query.Limit {
			break
		}
		last := projects[len(projects)-1]
		query.AfterAccess, query.AfterID = last.LastAccessAt, last.ID
	}
	if listing.Path != nil {
		listing.ProjectID = known[*listing.Path]
	}
	for i := range listing.Data {
		listing.Data[i].ProjectID = known[listing.Data[i].Path]
	}
	return nil
}
