package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"parley"
)

// ownerBytes bounds what is read of the lock file.
const ownerBytes = 256

// fileLock is the exclusive right to a data directory. The kernel gives it back
// when the process dies, however it dies.
type fileLock struct{ file *os.File }

// lockDirectory takes the lock, or says who has it (CodeConflict).
func lockDirectory(dataDir string) (*fileLock, error) {
	path := filepath.Join(dataDir, LockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, parley.WrapError(parley.CodeUnavailable, err, "the data directory "+dataDir+" cannot be written; check its permissions, or choose another one with PARLEY_DATA")
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
	if err := errors.Join(file.Truncate(0), writeOwner(file, fmt.Sprintf("process %d on %s\n", os.Getpid(), host))); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlite: naming the owner in %s: %w", path, err), file.Close())
	}
	return &fileLock{file: file}, nil
}

func writeOwner(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

func ownedBy(dataDir, owner string) error {
	if owner = strings.TrimSpace(owner); owner == "" {
		owner = "another process"
	}
	return parley.Errorf(parley.CodeConflict,
		"the data directory %s is in use by %s: stop that Parley, or choose another directory with PARLEY_DATA", dataDir, owner)
}

// release gives the directory back.
func (l *fileLock) release() error { return l.file.Close() }
