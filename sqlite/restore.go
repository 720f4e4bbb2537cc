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
	Replace  bool // replace an existing database, which is renamed
	Progress Progress
}

// Restored is what Restore did.
type Restored struct {
	Contents
	Kept string `json:"kept"` // the path of the replaced database; "" if there was none
}

// Restore puts a backup into a data directory, which it makes if it is new. The
// backup may be any file that holds a database of Parley's. It is copied beside
// its place, checked (the schema against the migrations, SQLite's own check of every
// page, each record against its hashes), synced, and then takes the place of parley.db
// in one rename: a crash leaves the old database or the new one, whole. What was
// there is kept under another name.
//
// CodeConflict when another process has the directory, or when it holds a
// database and options.Replace is not set. Codes of the copy as for Backup.
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
	place := filepath.Join(dataDir, DatabaseFile)
	_, err = os.Lstat(place)
	there := err == nil
	if there && !options.Replace {
		return restored, parley.Errorf(
			parley.CodeConflict,
			"%s holds a database already: give --replace to put the backup in its place (it is kept under another "+
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
	if restored.Kept, err = setAside(ctx, place, there); err != nil {
		return restored, err
	}
	if err := os.Rename(temp, place); err != nil {
		return restored, err
	}
	return restored, syncDirectory(dataDir)
}

// setAside gives the database that is to be replaced a second name, and sees to
// it that no log is left that SQLite would apply to the new one.
func setAside(ctx context.Context, place string, there bool) (kept string, err error) {
	aside := fmt.Sprintf("%s.replaced-%s", place, time.Now().UTC().Format("20060102T150405.000Z"))
	if there {
		// What is damaged keeps its log as it is: that goes along.
		if err := emptyLog(ctx, place); err != nil && !isDamage(err) {
			return "", err
		}
		kept = aside
	}
	if err := os.Rename(place+"-wal", aside+"-wal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Remove(place + "-shm"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if !there {
		return "", nil
	}
	return kept, os.Link(place, kept)
}

// emptyLog moves a database's log into it; closing the last connection then
// removes the log. CodeConflict while another program reads it.
func emptyLog(ctx context.Context, place string) (err error) {
	c, err := openConn(ctx, dsn(place), "PRAGMA synchronous = FULL")
	if err != nil {
		return mapError(place, err)
	}
	busy := false
	if _, err = c.one("PRAGMA wal_checkpoint(TRUNCATE)", func(r *row) error {
		busy = r.int64() != 0
		return nil
	}); err == nil && busy {
		err = parley.Errorf(parley.CodeConflict, "another program has %s open: close it and try again", place)
	}
	return mapError(place, errors.Join(err, c.close()))
}
