package projectdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// The bounds of a search through the server's own directories. A file that may be one of those beyond them is refused.
const (
	maxOwnFiles = 32768 // files and directories searched
	maxOwnDepth = 16    // nested directories, including links to directories
)

// ownNames returns files of the data directory that are recognised by name, wherever links lead.
func ownNames() []string {
	return []string{"parley.db", "parley.db-wal", "parley.db-shm", "parley.yaml", "token", "parley.lock", "secret.key"}
}

// ownFiles identifies the server's own files by device and inode, since they may have names elsewhere. It belongs to
// one goroutine.
type ownFiles struct {
	directories []string
	known       []fs.FileInfo
	limit       int // how many entries are searched

	looked bool
	beyond bool          // there is more than was searched
	inside []fs.FileInfo // regular files that have several names
	seen   int
}

func (p *Policy) ownFiles() *ownFiles {
	own := &ownFiles{directories: p.ownDirectories(), limit: maxOwnFiles}
	names := slices.Clone(p.files)
	if p.data != "" {
		for _, name := range ownNames() {
			names = append(names, filepath.Join(p.data, name))
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			own.known = append(own.known, info)
		}
	}
	return own
}

// refused says why a file is closed to tools whatever its name is; "" if it is not. The server's directories are
// searched, once, only for a file with several names: a file with a single name outside of them is in none of them.
func (o *ownFiles) refused(file fs.FileInfo) string {
	is := func(own fs.FileInfo) bool { return os.SameFile(own, file) }
	if slices.ContainsFunc(o.known, is) {
		return ownReason
	}
	if !severalNames(file) || len(o.directories) == 0 {
		return ""
	}
	if !o.looked {
		o.looked = true
		for _, directory := range o.directories {
			o.look(directory, 0)
		}
	}
	switch {
	case slices.ContainsFunc(o.inside, is):
		return ownReason
	case o.beyond:
		return fmt.Sprintf(
			"it has several names on the disk, and the server has more than %d files of its own, or some that cannot "+
				"be read, "+
				"so that nobody can tell whether it is one of them; copy it, or put the data directory (PARLEY_DATA) "+
				"elsewhere",
			o.limit,
		)
	}
	return ""
}

// look records the files below a directory, following links.
func (o *ownFiles) look(directory string, depth int) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		o.beyond = o.beyond || !os.IsNotExist(err)
	}
	for _, entry := range entries {
		if o.seen++; o.seen > o.limit || depth >= maxOwnDepth {
			o.beyond = true
			return
		}
		at := filepath.Join(directory, entry.Name())
		info, err := os.Stat(at)
		switch {
		case err != nil:
			o.beyond = o.beyond || !os.IsNotExist(err) // otherwise it is gone, or leads nowhere
		case info.IsDir():
			o.look(at, depth+1)
		case info.Mode().IsRegular() && severalNames(info):
			o.inside = append(o.inside, info)
		}
	}
}

// severalNames reports whether a file may have a further name.
func severalNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || stat.Nlink > 1
}
