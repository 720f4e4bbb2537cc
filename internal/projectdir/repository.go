package projectdir

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitNames are the entries by which git recognises a repository's own directory.
func gitNames() []string { return []string{"head", "objects", "refs", "commondir", "gitdir"} }

// entriesPerRead bounds the entries of a directory read at a time.
const entriesPerRead = 1024

// isRepository reports whether git may take a directory for a repository's own by its contents: a .git under another
// name, of a bare repository or of a worktree.
func isRepository(has func(name string) bool) bool {
	return has("head") && (has("commondir") || has("gitdir") || has("objects") && has("refs"))
}

// inRepository reports whether a directory, or a parent of it, is a repository's own.
func inRepository(at string) bool {
	for ; at != filepath.Dir(at); at = filepath.Dir(at) {
		has := func(name string) bool {
			if name == "head" {
				name = "HEAD"
			}
			_, err := os.Lstat(filepath.Join(at, name))
			return err == nil
		}
		if isRepository(has) {
			return true
		}
	}
	return false
}

// namesGit reports whether a name has a component by which git recognises a repository.
func namesGit(name string) bool {
	return slices.ContainsFunc(
		strings.Split(name, "/"),
		func(one string) bool { return slices.Contains(gitNames(), fold(one)) },
	)
}

// completes reports whether one more entry would make an open directory a repository, on this file system or on one
// where other spellings are equal.
func completes(folder *os.Root, entry string) (bool, error) {
	if !namesGit(entry) {
		return false, nil
	}
	directory, err := folder.Open(".")
	if err != nil {
		return false, err
	}
	defer func() { _ = directory.Close() }() // opened for reading
	found := map[string]bool{fold(entry): true}
	for {
		names, err := directory.Readdirnames(entriesPerRead)
		for _, name := range names {
			if name = fold(name); slices.Contains(gitNames(), name) {
				found[name] = true
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return isRepository(func(name string) bool { return found[name] }), nil
		case err != nil:
			return false, err
		}
	}
}

// addable refuses an entry, existing or about to be made, that would make an open directory a repository.
func (t *Tree) addable(folder *os.Root, entry, name string) error {
	if _, err := folder.Lstat(entry); !errors.Is(err, fs.ErrNotExist) {
		return nil // it adds nothing
	}
	bad, err := completes(folder, entry)
	switch {
	case err != nil:
		return FileError(name, err)
	case bad:
		return refusedFile(
			name,
			"it would turn the directory into a git repository, and git may run programs that its files name",
		)
	}
	return nil
}
