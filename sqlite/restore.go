package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"example.org/parley"
)

// RestoreOptions say how Restore treats an existing database.
type RestoreOptions struct {
	Replace  bool // replace an existing database
	Progress Progress
}

// Restored is the result of Restore.
type Restored struct {
	Contents
	Kept string `json:"kept"` // new path of the replaced database; "" if there was none
}

// Restore puts a backup into a data directory, creating it if necessary. The backup may be any file with a Parley
// database. It is copied beside its destination, checked (the schema against the migrations, SQLite's check of every
// page, each record against its hashes), synced, and then renamed to parley.db: a crash leaves either the old database
// or the new one, complete. A replaced database is kept under another name.
//
// CodeConflict if another process has the directory, or if it has a database and options.Replace is not set. Errors of
// the copy have the codes of Backup.
func Restore(ctx context.Context, file, dataDir string, options RestoreOptions) (restored Restored, err error) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return restored, parley.Errorf(parley.CodeNotFound, "%s is not a readable file: name the backup", file)
	}
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return restored, parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the data directory "+dataDir+" cannot be made; choose another one with --data or PARLEY_DATA",
		)
	}
	lock, err := lockDirectory(dataDir)
	if err != nil {
		return restored, err
	}
	defer func() { err = errors.Join(err, lock.release()) }()
	database := filepath.Join(dataDir, DatabaseFile)
	_, err = os.Lstat(database)
	there := err == nil
	if there && !options.Replace {
		return restored, parley.Errorf(
			parley.CodeConflict,
			"%s already has a database: give --replace to put the backup in its database (it is kept under another "+
				"name), or choose another directory with --data",
			dataDir,
		)
	}
	temp, err := temporary(dataDir, "."+DatabaseFile+".*")
	if err != nil {
		return restored, err
	}
	defer func() { err = errors.Join(err, removed(temp)) }()
	if restored.Contents, err = copied(ctx, file, temp, options.Progress); err != nil {
		return restored, err
	}
	if restored.Kept, err = setAside(ctx, database, there); err != nil {
		return restored, err
	}
	if err := os.Rename(temp, database); err != nil {
		return restored, err
	}
	return restored, syncDirectory(dataDir)
}

// setAside gives the database to be replaced a second name, and makes sure that no log is left that SQLite would apply
// to the new one.
func setAside(ctx context.Context, database string, there bool) (kept string, err error) {
	aside := fmt.Sprintf("%s.replaced-%s", database, time.Now().UTC().Format("20060102T150405.000Z"))
	if there {
		// A damaged database keeps its log unchanged, and the log moves along.
		if err := emptyLog(ctx, database); err != nil && !isDamage(err) {
			return "", err
		}
		kept = aside
	}
	if err := os.Rename(database+"-wal", aside+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Remove(database + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !there {
		return "", nil
	}
	return kept, os.Link(database, kept)
}

// emptyLog moves a database's log into it; closing the last connection then removes the log. CodeConflict while another
// program is reading.
func emptyLog(ctx context.Context, database string) (err error) {
	c, err := openConn(ctx, dsn(database), "PRAGMA synchronous = FULL")
	if err != nil {
		return mapError(database, err)
	}
	busy := false
	if _, err = c.one("PRAGMA wal_checkpoint(TRUNCATE)", func(r *row) error {
		busy = r.int64() != 0
		return nil
	}); err == nil && busy {
		err = parley.Errorf(parley.CodeConflict, "another program has %s open: close it and try again", database)
	}
	return mapError(database, errors.Join(err, c.close()))
}
