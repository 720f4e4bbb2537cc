package projectdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"example.org/parley"
)

const (
	// maxLinks bounds a chain of links.
	maxLinks = 40
)

// Tree is an open project directory. Names in it are relative, with slashes, "." for the directory itself; whatever a
// link points to, nothing outside is opened. It belongs to one goroutine; Close it.
type Tree struct {
	rules *rules
	root  *os.Root
	path  string // as the kernel knows it
	own   *ownFiles
}

// Open opens a project directory after checking its present state.
func (p *Policy) Open(directory string) (*Tree, error) {
	resolved, err := p.Resolve(directory)
	if err != nil {
		return nil, unusable(err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, FileError(".", err)
	}
	t := &Tree{rules: p.now(), root: root, own: p.ownFiles()}
	if t.path, err = whereRoot(root, resolved); err == nil && t.path != resolved { // something replaced it meanwhile
		if _, err = p.Resolve(t.path); err != nil {
			err = unusable(err)
		}
	}
	if err != nil {
		_ = root.Close() // nothing was written
		return nil, err
	}
	return t, nil
}

// unusable says about an existing project what Resolve says about a path, without its location.
func unusable(err error) error {
	var refused *parley.Error
	if !errors.As(err, &refused) || refused.Code != parley.CodeInvalid {
		return err
	}
	return parley.WrapError(
		parley.CodeForbidden,
		err,
		"this session's project directory may not be used: it is gone, lies outside the directories that projects "+
			"may lie in, or is private; ask an admin to choose another",
	)
}

// Close closes the directory.
func (t *Tree) Close() error { return t.root.Close() }

// FS returns the directory for reading names. Files opened through it are not checked.
func (t *Tree) FS() fs.FS { return t.root.FS() }

// Stat describes the target of a name, following links inside the project.
func (t *Tree) Stat(name string) (fs.FileInfo, error) {
	if err := t.named(name); err != nil {
		return nil, err
	}
	info, err := t.root.Stat(name)
	if err != nil {
		return nil, FileError(name, err)
	}
	return info, nil
}

// Hidden reports whether an entry of the directory is left out of lists and searches.
func (t *Tree) Hidden(name string, entry fs.DirEntry) bool {
	full := filepath.Join(t.path, filepath.FromSlash(name))
	if t.rules.refused(full) != "" {
		return true
	}
	if entry.IsDir() {
		return t.rules.refusedIdentity(full) != ""
	}
	info, err := entry.Info()
	return err == nil && t.own.refused(info) == ownReason
}

// Open opens a regular file for reading. It refuses pipes and devices, which could block the caller forever.
func (t *Tree) Open(name string) (*os.File, error) {
	info, err := t.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, parley.InvalidField(
			"path",
			"%q is a directory; list_files shows what is in it",
			parley.Clip(name, 128),
		)
	case !info.Mode().IsRegular():
		return nil, parley.InvalidField("path", "%q is not a regular file", parley.Clip(name, 128))
	}
	file, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, FileError(name, err)
	}
	if err := t.opened(name, file); err != nil {
		_ = file.Close() // unread
		return nil, err
	}
	return file, nil
}

// Directory checks a directory before its names are read.
func (t *Tree) Directory(name string) error {
	info, err := t.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return parley.InvalidField("path", "%q is not a directory", parley.Clip(name, 128))
	}
	file, err := t.root.Open(name)
	if err != nil {
		return FileError(name, err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	at, err := Where(file, filepath.Join(t.path, filepath.FromSlash(name)))
	if err == nil {
		err = t.allowed(name, at)
	}
	if err == nil {
		err = t.directory(name, at)
	}
	return err
}

// named refuses a name before the disk is accessed, so that nobody learns whether the file exists.
func (t *Tree) named(name string) error {
	return t.allowed(name, filepath.Join(t.path, filepath.FromSlash(name)))
}

func (t *Tree) allowed(name, at string) error {
	why := t.rules.refused(at)
	if why == "" && !inside(t.path, at) {
		why = "it lies outside the project"
	}
	if why != "" {
		return refusedFile(name, why)
	}
	return nil
}

func refusedFile(name, why string) error {
	return parley.Errorf(parley.CodeForbidden, "%q is closed to tools: %s", parley.Clip(name, 128), why)
}

// opened checks what was actually opened, independent of names.
func (t *Tree) opened(name string, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return FileError(name, err)
	}
	if !info.Mode().IsRegular() {
		return parley.InvalidField("path", "%q is not a regular file", parley.Clip(name, 128))
	}
	if why := t.own.refused(info); why != "" {
		return refusedFile(name, why)
	}
	at, err := Where(file, filepath.Join(t.path, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	if err := t.allowed(name, at); err != nil {
		return err
	}
	return t.directory(name, filepath.Dir(at))
}

// directory checks a real directory and its parents by identity.
func (t *Tree) directory(name, at string) error {
	if why := t.rules.refusedIdentity(at); why != "" {
		return refusedFile(name, why)
	}
	return nil
}

// Replace writes a whole file: beside it and then over it, so that a reader sees either the old or the new text. It
// creates missing directories. created reports that the file is new.
func (t *Tree) Replace(name string, data []byte) (created bool, err error) {
	return t.ReplaceIf(name, data, nil)
}

// ReplaceIf is Replace if may agrees, which is asked right before the file appears: there is the file that would be
// replaced, open for reading, or nil. What somebody writes between the question and the answer is lost.
func (t *Tree) ReplaceIf(name string, data []byte, may func(there *os.File) error) (created bool, err error) {
	next := name
	for range maxLinks {
		if next, created, err = t.replaceOnce(next, data, may); next == "" || err != nil {
			return created, err
		}
	}
	return false, parley.InvalidField("path", "%q leads from link to link", parley.Clip(name, 128))
}

// replaceOnce is one step of Replace: either the file is replaced, or next is the target of a link with its name.
func (t *Tree) replaceOnce(
	name string, data []byte, may func(there *os.File) error,
) (next string, created bool, err error) {
	if err := t.writable(name, filepath.Join(t.path, filepath.FromSlash(name))); err != nil {
		return "", false, err
	}
	if namesGit(name) { // two writes together must not make a repository either
		t.rules.adding.Lock()
		defer t.rules.adding.Unlock()
	}
	folder, at, err := t.folder(path.Dir(name))
	if err != nil {
		return "", false, err
	}
	defer func() {
		if closing := folder.Close(); err == nil {
			err = closing
		}
	}()
	base := path.Base(name)
	// A link's target is replaced, not the link; one that leads outside is refused.
	if target, err := folder.Readlink(base); err == nil {
		relative, ok := below(t.path, filepath.Join(at, target))
		if filepath.IsAbs(target) || !ok {
			return "", false, parley.InvalidField("path", "%q leads out of the project", parley.Clip(name, 128))
		}
		return filepath.ToSlash(relative), false, nil
	}
	if err := t.addable(folder, base, name); err != nil {
		return "", false, err
	}
	created, err = t.replaceIn(folder, name, data, may)
	return "", created, err
}

// writable refuses files that may be read but not written.
func (t *Tree) writable(name, at string) error {
	if inGit(at) {
		return refusedFile(name, "files in .git cannot be written: git may run programs that they name")
	}
	return t.allowed(name, at)
}

// folder opens a directory of the project to write in, creating it if missing, and returns its real path.
func (t *Tree) folder(name string) (folder *os.Root, at string, err error) {
	existing, missing := name, ""
	for existing != "." {
		if _, err := t.root.Stat(existing); !errors.Is(err, fs.ErrNotExist) {
			break // it exists, or the next step says why it cannot
		}
		missing, existing = path.Join(path.Base(existing), missing), path.Dir(existing)
	}
	above, at, err := t.openFolder(t.root, existing, existing)
	if err != nil || missing == "" {
		return above, at, err
	}
	defer func() { _ = above.Close() }()             // the directory below it is returned
	first, _, _ := strings.Cut(missing, "/")         // those below it are new, with one entry each
	if _, err := above.Readlink(first); err == nil { // creating a link's target is not checked
		return nil, "", parley.InvalidField(
			"path",
			"%q is a link that leads nowhere",
			parley.Clip(path.Join(existing, first), 128),
		)
	}
	if err := t.addable(above, first, name); err != nil {
		return nil, "", err
	}
	if err := above.MkdirAll(missing, 0o755); err != nil {
		return nil, "", FileError(name, err)
	}
	return t.openFolder(above, missing, name)
}

func (t *Tree) openFolder(from *os.Root, relative, name string) (folder *os.Root, at string, err error) {
	if folder, err = from.OpenRoot(relative); err != nil {
		return nil, "", FileError(name, err)
	}
	at, err = whereRoot(folder, filepath.Join(t.path, filepath.FromSlash(name)))
	if err == nil {
		err = t.writable(name, at)
	}
	if err == nil {
		err = t.directory(name, at)
	}
	if err == nil && inRepository(at) {
		err = refusedFile(
			name,
			"it is a repository's own directory: git may run programs that its files name",
		)
	}
	if err != nil {
		_ = folder.Close() // nothing was written
		return nil, "", err
	}
	return folder, at, nil
}

// replaceIn replaces a file of an open directory by its last name, so that no changing link can lead elsewhere.
func (t *Tree) replaceIn(
	folder *os.Root, name string, data []byte, may func(there *os.File) error,
) (created bool, err error) {
	base := path.Base(name)
	mode := fs.FileMode(0o644)
	switch info, err := folder.Lstat(base); {
	case errors.Is(err, fs.ErrNotExist):
		created = true
	case err != nil:
		return false, FileError(name, err)
	case !info.Mode().IsRegular():
		return false, parley.InvalidField("path", "%q is not a regular file", parley.Clip(name, 128))
	default:
		if why := t.own.refused(info); why != "" {
			return false, refusedFile(name, why)
		}
		mode = info.Mode().Perm()
	}
	ask := func() error { return nil }
	if may != nil {
		ask = func() (err error) {
			created, err = t.ask(folder, name, may)
			return err
		}
	}
	err = overwrite(folder, name, data, mode, ask)
	return created, err
}

// ask shows may the file that is about to be replaced, and reports whether there is none.
func (t *Tree) ask(folder *os.Root, name string, may func(there *os.File) error) (none bool, err error) {
	there, err := folder.OpenFile(path.Base(name), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, may(nil)
	case err != nil:
		return false, FileError(name, err)
	}
	defer func() { _ = there.Close() }() // read only
	if err := t.opened(name, there); err != nil {
		return false, err
	}
	return false, may(there)
}

// overwrite writes a file beside the one of the name's last part, asks, and moves it there.
func overwrite(folder *os.Root, name string, data []byte, mode fs.FileMode, ask func() error) error {
	base := path.Base(name)
	beside := "." + base + "." + rand.Text()[:8]
	file, err := folder.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return FileError(name, err)
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	refused := error(nil)
	if err == nil {
		if refused = ask(); refused == nil {
			err = folder.Rename(beside, base)
		}
	}
	if refused != nil || err != nil {
		_ = folder.Remove(beside) // the first error says what went wrong
	}
	if err != nil {
		return FileError(name, err)
	}
	return refused
}

// whereRoot is Where for a directory.
func whereRoot(root *os.Root, opened string) (string, error) {
	file, err := root.Open(".")
	if err != nil {
		return "", FileError(".", err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	return Where(file, opened)
}

// Where returns the real path of an opened file. Linux knows it by the descriptor; elsewhere the path is resolved again
// and must lead to the same file.
func Where(file *os.File, opened string) (string, error) {
	connection, err := file.SyscallConn()
	if err != nil {
		return "", err
	}
	var at string
	failed := connection.Control(
		func(fd uintptr) { at, err = os.Readlink("/proc/self/fd/" + strconv.FormatUint(uint64(fd), 10)) },
	)
	switch {
	case failed != nil || err != nil:
		return resolvedAgain(file, opened)
	case !filepath.IsAbs(at) || strings.HasSuffix(at, " (deleted)"):
		return "", moved(opened)
	}
	return at, nil
}

func resolvedAgain(file *os.File, opened string) (string, error) {
	at, info, err := resolve(opened)
	if err != nil {
		return "", moved(opened)
	}
	if is, err := file.Stat(); err != nil || !os.SameFile(is, info) {
		return "", moved(opened)
	}
	return at, nil
}

func moved(opened string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"%q changed while it was opened; try again",
		parley.Clip(filepath.Base(opened), 128),
	)
}

// maxPathBytes bounds a path inside a project.
const maxPathBytes = 4096

// Inside checks a path in a project that somebody gave, and returns it in the form that a Tree takes: with slashes,
// relative to the project, "." for the project itself.
func Inside(text string) (string, error) {
	if err := parley.CheckText("path", text, maxPathBytes); err != nil {
		return "", err
	}
	if strings.HasPrefix(text, "/") {
		return "", parley.InvalidField(
			"path",
			"%q begins at the root; paths here are relative to the project",
			parley.Clip(text, 128),
		)
	}
	cleaned := path.Clean(text)
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", parley.InvalidField("path", "%q leads out of the project", parley.Clip(text, 128))
	}
	if simple := strings.TrimSuffix(
		text,
		"/",
	); simple != cleaned &&
		simple != "" { // a grant about a path sees one spelling of it
		return "", parley.InvalidField(
			"path",
			"%q is not in its shortest form: write %q",
			parley.Clip(text, 128),
			parley.Clip(cleaned, 128),
		)
	}
	return cleaned, nil
}

// FileError says what went wrong with a path, without the project's location.
func FileError(name string, err error) error {
	shown := parley.Clip(name, 256)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parley.Errorf(parley.CodeNotFound, "%q does not exist", shown)
	case errors.Is(err, fs.ErrPermission):
		return parley.Errorf(parley.CodeForbidden, "the server may not do this with %q", shown)
	case errors.Is(err, fs.ErrExist):
		return parley.Errorf(parley.CodeConflict, "%q exists already", shown)
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return parley.WrapError(parley.CodeInvalid, err, fmt.Sprintf("%q: %s", shown, err))
}
