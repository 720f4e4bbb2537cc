package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"example.org/parley"
)

// ownerBytes bounds how much of the lock file is read.
const ownerBytes = 256

// fileLock is the exclusive right to a data directory. The kernel releases it when the process dies, however it dies.
// It consists of two locks: one on the lock file, which names the owner and which older programs check, and one on the
// directory itself, which holds even if somebody removes the file.
type fileLock struct {
	file *os.File
	dir  *os.File // nil where directories cannot be locked
}

// lockDirectory takes the lock, or names its owner (CodeConflict).
func lockDirectory(dataDir string) (*fileLock, error) {
	dir, err := lockItself(dataDir)
	if err != nil {
		return nil, err
	}
	file, err := lockFile(dataDir)
	if err != nil {
		return nil, errors.Join(err, closed(dir))
	}
	return &fileLock{file: file, dir: dir}, nil
}

// lockItself locks the directory. Network file systems may not support that; then the lock file must do.
func lockItself(dataDir string) (*os.File, error) {
	dir, err := os.Open(dataDir) //nolint:gosec // the user's own data directory
	if err != nil {
		return nil, unwritable(dataDir, err)
	}
	err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner, readErr := ownerIn(filepath.Join(dataDir, LockFile))
		return nil, errors.Join(ownedBy(dataDir, owner), readErr, dir.Close())
	}
	if err != nil {
		return nil, dir.Close()
	}
	return dir, nil
}

// lockFile locks the lock file, creating it if necessary.
func lockFile(dataDir string) (*os.File, error) {
	path := filepath.Join(dataDir, LockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own data directory
	if err != nil {
		return nil, unwritable(dataDir, err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner, readErr := io.ReadAll(io.LimitReader(file, ownerBytes))
		return nil, errors.Join(ownedBy(dataDir, string(owner)), readErr, file.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: locking %s: %w", path, err), file.Close())
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if err := errors.Join(
		file.Truncate(0),
		writeOwner(file, fmt.Sprintf("process %d on %s\n", os.Getpid(), host)),
	); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: naming the owner in %s: %w", path, err), file.Close())
	}
	return file, nil
}

// restore recreates the lock file if its path names none, or a file other than the locked one; again reports whether it
// did.
func (l *fileLock) restore(dataDir string) (again bool, err error) {
	held, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	if now, err := os.Stat(filepath.Join(dataDir, LockFile)); err == nil && os.SameFile(now, held) {
		return false, nil
	}
	file, err := lockFile(dataDir)
	if err != nil {
		return false, err
	}
	before := l.file
	l.file = file
	return true, before.Close()
}

// ownerIn reads the owner from a lock file; "" if it is gone.
func ownerIn(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // in the user's own data directory
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	owner, err := io.ReadAll(io.LimitReader(file, ownerBytes))
	return string(owner), errors.Join(err, file.Close())
}

func unwritable(dataDir string, err error) error {
	return parley.WrapError(
		parley.CodeUnavailable,
		err,
		"the data directory "+dataDir+
			" cannot be written; check its permissions, or choose another one with PARLEY_DATA",
	)
}

func closed(file *os.File) error {
	if file == nil {
		return nil
	}
	return file.Close()
}

func writeOwner(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func ownedBy(dataDir, owner string) error {
	if owner = strings.TrimSpace(owner); owner == "" {
		owner = "another process"
	}
	return parley.Errorf(
		parley.CodeConflict,
		"the data directory %s is in use by %s: stop that Parley, or choose another directory with PARLEY_DATA",
		dataDir,
		owner,
	)
}

// release releases the directory.
func (l *fileLock) release() error { return errors.Join(l.file.Close(), closed(l.dir)) }
