package sqlite

import (
	"errors"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"example.org/parley"
)

// fullBelow is the free space, in bytes, below which an I/O error on the database is treated as a full disk.
const fullBelow = 1 << 20

// mapError gives errors that a person can act on a code: a full disk is CodeStorageFull, a locked or damaged file
// CodeUnavailable. Refusals pass through; any other error means that the database failed.
func mapError(path string, err error) error {
	if err == nil {
		return nil
	}
	var refusal *parley.Error
	if errors.As(err, &refusal) {
		return err
	}
	var failed *driver.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Code() & 0xff {
	case codes.SQLITE_FULL:
		return storageFull(err)
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN:
		var disk syscall.Statfs_t
		if syscall.Statfs(filepath.Dir(path), &disk) == nil && disk.Bavail*uint64(disk.Bsize) < fullBelow {
			return storageFull(err)
		}
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			path+" is damaged or not a Parley database: restore a copy, or choose another directory with "+
				"PARLEY_DATA",
		)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the database is locked by another program; close it and try again",
		)
	}
	return err
}

// noted is mapError for reads and writes of a store: it also records damage.
func (s *Store) noted(err error) error {
	if isDamage(err) {
		s.damage.Note(err.Error())
	}
	return mapError(s.path, err)
}

// failedAgain is noted for a second attempt: a disk may fail once and recover, but a repeated failure is damage.
func (s *Store) failedAgain(err error) error {
	mapped := s.noted(err)
	if isReadError(err) && parley.ErrorCode(mapped) != parley.CodeStorageFull {
		s.damage.Note(err.Error())
	}
	return mapped
}

// isReadError reports whether an error says that the disk failed to read or write bytes.
func isReadError(err error) bool {
	var failed *driver.Error
	return errors.As(err, &failed) && failed.Code()&0xff == codes.SQLITE_IOERR
}

// isDamage reports whether an error says that a file is not a database, or not a complete one.
func isDamage(err error) bool {
	var failed *driver.Error
	if !errors.As(err, &failed) {
		return false
	}
	code := failed.Code() & 0xff
	return code == codes.SQLITE_NOTADB || code == codes.SQLITE_CORRUPT
}

func storageFull(cause error) error {
	return parley.WrapError(
		parley.CodeStorageFull,
		cause,
		"the disk that holds Parley's data is full; make room and try again. Reading still works.",
	)
}
