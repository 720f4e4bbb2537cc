package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"parley"
	"parley/internal/pgtest"
	"parley/storetest"
)

// TestThroughPgBouncer: the store keeps its contract behind a pooler in
// transaction mode, which knows no prepared statements and gives each transaction
// another connection. Migrations and notifications go past it.
func TestThroughPgBouncer(t *testing.T) {
	t.Parallel()
	bouncer, err := databases.Cluster(t).Bouncer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bouncer.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) parley.Store {
			direct := databases.New(t)
			config, err := pgx.ParseConfig(direct)
			if err != nil {
				t.Fatal(err)
			}
			return openedAt(t, bouncer.URL(pgtest.Owner, config.Database)+"&default_query_exec_mode=cache_describe", Options{ListenURL: direct})
		}, "Posting", "Idempotency", "Claims", "Fencing", "Steps", "Tools", "Cancelling", "Leases", "Deletion", "Messages", "Sessions", "Agents", "Keys")
	})
}
