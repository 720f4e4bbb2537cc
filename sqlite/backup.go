package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	driver "modernc.org/sqlite"

	"example.org/parley"
)

// copyPages is how many pages are copied between two checks of the context.
const copyPages = 1024

// Progress reports how much of a database file is copied, in pages.
type Progress func(done, total int)

// Contents describes a checked copy of a database.
type Contents struct {
	Schema     int64 `json:"schema"` // its newest migration
	Bytes      int64 `json:"bytes"`
	Workspaces int64 `json:"workspaces"`
	Sessions   int64 `json:"sessions"` // without deleted ones
	Messages   int64 `json:"messages"` // in the sessions' records
}

// Backup copies the database of a data directory to a new file, even while a server uses it. The copy is one snapshot,
// read over its own read-only connection, and no transition waits for it. (The server's write-ahead log cannot restart
// until the copy is done.) The copy is checked as Restore checks it, synced, and only then named.
//
// CodeNotFound without a database; CodeConflict if the file exists, which stays unchanged; CodeStorageFull if the disk
// is full; CodeUnavailable if the database is damaged or belongs to a newer Parley. After an error no file is left;
// after a crash a file whose name begins with a dot may be left beside it.
func Backup(ctx context.Context, dataDir, file string, progress Progress) (contents Contents, err error) {
	source := filepath.Join(dataDir, DatabaseFile)
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		return contents, parley.Errorf(
			parley.CodeNotFound,
			"there is no database in %s; name its directory with --data or PARLEY_DATA",
			dataDir,
		)
	}
	if _, err := os.Lstat(file); err == nil {
		return contents, taken(file)
	}
	temp, err := temporary(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return contents, err
	}
	defer func() { err = errors.Join(err, removed(temp)) }()
	if contents, err = copied(ctx, source, temp, progress); err != nil {
		return contents, err
	}
	if err := publish(temp, file); err != nil {
		return contents, err
	}
	return contents, syncDirectory(filepath.Dir(file))
}

func taken(file string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"%s exists, and a backup overwrites nothing: choose another name, or remove it first",
		file,
	)
}

// temporary creates an empty file that only its owner can read.
func temporary(dir, pattern string) (string, error) {
	temp, err := os.CreateTemp(dir, pattern)
	if err != nil {
		return "", parley.WrapError(
			parley.CodeUnavailable,
			err,
			dir+" cannot be written to; check that it exists, and its permissions",
		)
	}
	return temp.Name(), temp.Close()
}

// removed removes an unpublished copy and the files that SQLite left beside it.
func removed(temp string) error {
	var errs []error
	for _, beside := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(temp + beside); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// publish names a synced file, unless the name is taken.
func publish(temp, file string) error {
	err := os.Link(temp, file)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return taken(file)
	}
	if _, err := os.Lstat(file); err == nil { // no hard links here, for example on a memory stick
		return taken(file)
	}
	return os.Rename(temp, file)
}

// copied copies a database file into an empty one, makes the copy stand alone, checks and syncs it.
func copied(ctx context.Context, source, target string, progress Progress) (Contents, error) {
	if err := copyFile(ctx, source, target, progress); err != nil {
		return Contents{}, err
	}
	contents, err := settleCopy(ctx, source, target)
	if err != nil {
		return Contents{}, inCopy(source, target, err)
	}
	info, err := os.Stat(target)
	if err != nil {
		return Contents{}, err
	}
	contents.Bytes = info.Size()
	return contents, syncFile(target)
}

// copyFile copies the pages of one snapshot of source into target.
func copyFile(ctx context.Context, source, target string, progress Progress) (err error) {
	c, err := openConn(ctx, dsn(source)+"?mode=ro", fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeoutMS))
	if err != nil {
		return mapError(source, err)
	}
	defer func() { err = errors.Join(err, c.close()) }()
	// The open transaction keeps the snapshot between the steps; without it each commit of a server would restart the
	// copy from its first page.
	if _, err := c.run("BEGIN"); err != nil {
		return mapError(source, err)
	}
	if _, err := c.has("SELECT 1 FROM sqlite_schema"); err != nil {
		return mapError(source, err)
	}
	raw, ok := c.raw.(interface {
		NewBackup(uri string) (*driver.Backup, error)
	})
	if !ok {
		return errors.New("sqlite: the driver cannot copy databases")
	}
	// The target needs no journal: it counts only once it is complete.
	backup, err := raw.NewBackup(dsn(target) + "?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
	if err != nil {
		return inCopy(source, target, err)
	}
	if err := steps(ctx, backup, progress); err != nil {
		// Finish repeats the error of the last step.
		_ = backup.Finish()
		return inCopy(source, target, err)
	}
	return inCopy(source, target, backup.Finish())
}

func steps(ctx context.Context, backup *driver.Backup, progress Progress) error {
	for {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		more, err := backup.Step(copyPages)
		if err != nil {
			return err
		}
		if progress != nil {
			progress(backup.PageCount()-backup.Remaining(), backup.PageCount())
		}
		if !more {
			return nil
		}
	}
}

// inCopy explains an error while target was written or checked: the copy's disk may be full, or the source damaged.
func inCopy(source, target string, err error) error {
	if err = mapError(target, err); parley.ErrorCode(err) == parley.CodeStorageFull {
		return parley.WrapError(
			parley.CodeStorageFull,
			err,
			"there is no room for a copy of the database in "+filepath.Dir(
				target,
			)+": make room, or choose another place; no partial copy was left",
		)
	}
	if isDamage(err) {
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			source+" is damaged or not a Parley database; nothing was written",
		)
	}
	return err
}

// settleCopy checks a copied file, whose header refers to a write-ahead log, and converts it into one that stands alone
// and can be read anywhere.
func settleCopy(ctx context.Context, source, target string) (contents Contents, err error) {
	c, err := openConn(ctx, dsn(target), "PRAGMA synchronous = OFF", "PRAGMA journal_mode = DELETE")
	if err != nil {
		return contents, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return check(ctx, c, source)
}

func syncFile(path string) error {
	file, err := os.Open(path) //nolint:gosec // a file that was just written
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// syncDirectory makes names in a directory durable.
func syncDirectory(dir string) error { return syncFile(dir) }
