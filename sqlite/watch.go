package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watchEvery is how often a store checks that its files are still its own.
const watchEvery = 2 * time.Second

// watch monitors the lock file and the database file until Close. It recreates a removed lock file, and records damage
// if the database file is gone or was replaced. Neither event admits a second Parley: the directory itself is locked as
// well, and that lock lasts as long as the directory.
func (s *Store) watch() {
	defer close(s.watched)
	look := time.NewTicker(watchEvery)
	defer look.Stop()
	for {
		select {
		case <-s.stopping:
			return
		case <-look.C:
			s.lookAtFiles()
		}
	}
}

func (s *Store) lookAtFiles() {
	again, err := s.lock.restore(filepath.Dir(s.path))
	switch {
	case err != nil:
		s.damage.Note("the lock file of the data directory is another process's: " + err.Error())
	case again:
		s.log.Warn(
			"the lock file was removed or replaced under the running server; it was recreated",
			"file",
			LockFile,
		)
	}
	now, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.damage.Note(
			"the database file was removed under the running server: what is written now is lost when it stops",
		)
	case err == nil && !os.SameFile(now, s.file):
		s.damage.Note(
			"the database file was replaced under the running server, which still writes to the old one",
		)
	}
}
