package cluster

import (
	"testing"

	"parley"
	"parley/sqlite"
)

// database is what the processes of a trial share. A nil function is something
// that this database cannot do.
type database struct {
	environment  func() []string                       // what a process needs to use it
	restart      func() error                          // at once, without a word to anybody, as a crash would
	cutListeners func() (int, error)                   // ends the connections that listen for notifications
	open         func(*testing.T, *trial) parley.Store // when the processes have ended
}

// sqliteFile is the database in the data directory of a single process.
func sqliteFile() database {
	return database{
		environment: func() []string { return nil },
		open: func(t *testing.T, x *trial) parley.Store {
			t.Helper()
			store, err := sqlite.Open(t.Context(), x.processes[0].dir, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	}
}
