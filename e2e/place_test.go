package e2e

import (
	"context"
	"fmt"
	"testing"

	"example.org/parley/internal/pgtest"
)

// databases are migrated databases in one throwaway PostgreSQL.
var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	if _, errOut, err := (place{database: url}).command(ctx, "migrate", "up"); err != nil {
		return fmt.Errorf("parley migrate up: %w: %s", err, errOut)
	}
	return nil
})

// place is where a server keeps its data: in a directory of its own, or in a PostgreSQL
// database that others may use too.
type place struct {
	dir, database string
	user          uint32 // that the process runs as; 0: this one's
}

// onEach runs a scenario on both databases.
func onEach(t *testing.T, scenario func(t *testing.T, at place)) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		scenario(t, place{dir: t.TempDir()})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		scenario(t, shared(t))
	})
}

// shared is a place in the test's own PostgreSQL database.
func shared(t *testing.T) place {
	t.Helper()
	return place{dir: t.TempDir(), database: databases.New(t)}
}

// beside is the place of another process on the same database.
func (p place) beside(t *testing.T) place {
	t.Helper()
	return place{dir: t.TempDir(), database: p.database}
}

// environment is the environment of commands at this place.
func (p place) environment() []string {
	if p.database == "" {
		return cleanEnvironment()
	}
	return append(cleanEnvironment(), "PARLEY_DATABASE_URL="+p.database, "PARLEY_DRAIN_WAIT=0s")
}
