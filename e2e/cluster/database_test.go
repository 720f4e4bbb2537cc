package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.org/parley/internal/pgtest"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// database is shared by the processes of a trial. A nil function means that this database
// cannot do it.
type database struct {
	environment    []string                             // makes the processes use it
	restart        func() error                         // immediately and without warning, like a crash
	cutListeners   func() (int, error)                  // ends the connections that receive notifications
	cutConnections func(most int) (int, error)          // ends some of all connections
	leftovers      func() (map[string]int, error)       // rows of unfinished work, by kind
	open           func(*testing.T, *trial) store.Store // after the processes have ended
}

// sqliteFile is the database in the data directory of a single process.
func sqliteFile() database {
	return database{
		open: func(t *testing.T, x *trial) store.Store {
			t.Helper()
			store, err := sqlite.Open(t.Context(), x.processes[0].dir, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	}
}

// servers is the PostgreSQL server of this package's tests. Its commits survive a crash.
var servers = pgtest.NewDatabases(pgtest.Options{Durable: true}, func(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url, slog.New(slog.DiscardHandler))
	return err
})

// postgresDatabase is a new database.
func postgresDatabase(t *testing.T) database {
	t.Helper()
	url, cluster := servers.New(t), servers.Cluster(t)
	own, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	super := cluster.URL(pgtest.Superuser, own.Database)
	cut := func(which string, arguments ...any) (int, error) {
		return count(
			super,
			"SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity WHERE usename = '"+
				pgtest.Owner+"' AND datname = current_database() AND "+which+") x",
			arguments...)
	}
	return database{
		environment:    []string{"PARLEY_DATABASE_URL=" + url},
		restart:        func() error { return restart(cluster) },
		cutListeners:   func() (int, error) { return cut("application_name LIKE '% listen'") },
		cutConnections: func(most int) (int, error) { return cut("random() < 0.5 LIMIT $1", most) },
		leftovers:      func() (map[string]int, error) { return leftovers(super) },
		open: func(t *testing.T, _ *trial) store.Store {
			t.Helper()
			store, err := postgres.Open(t.Context(), url, postgres.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return store
		},
	}
}

func restart(cluster *pgtest.Cluster) error {
	if err := cluster.Stop(); err != nil {
		return err
	}
	return cluster.Resume()
}

// leftovers counts rows of unfinished work.
func leftovers(url string) (map[string]int, error) {
	found := map[string]int{}
	for what, query := range map[string]string{
		"sessions with an " +
			"unfinished turn": "SELECT count(*) FROM parley.heads " +
			"WHERE turn_id IS NOT NULL OR turn_status <> '' OR queued <> 0 OR steers <> 0",
		"sessions held by a process": "SELECT count(*) FROM parley.heads WHERE holder IS NOT NULL",
		"sessions asked to stop":     "SELECT count(*) FROM parley.heads WHERE cancel_turn IS NOT NULL",
		"sessions ready for a claim": "SELECT count(*) FROM parley.ready",
		"sessions that say that " +
			"they run": "SELECT count(*) FROM parley.sessions WHERE status IN ('running', 'waiting')",
		"turns that are not " +
			"finished": "SELECT count(*) FROM parley.turns WHERE status NOT IN ('completed', 'failed', 'cancelled')",
		"messages queued or " +
			"streaming": "SELECT count(*) FROM parley.messages " +
			"WHERE status IN ('queued', 'streaming') OR position IS NOT NULL",
		"calls that are open":                  "SELECT count(*) FROM parley.calls WHERE outcome = 'open'",
		"texts kept twice, in row and version": "SELECT count(*) FROM parley.versions WHERE text IS NOT NULL",
	} {
		n, err := count(url, query)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if n > 0 {
			found[what] = n
		}
	}
	return found, nil
}

// count queries a database for one number.
func count(url, query string, arguments ...any) (n int, err error) {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	return n, connection.QueryRow(ctx, query, arguments...).Scan(&n)
}
