package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"example.org/parley/internal/pgtest"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// TestThroughPgBouncer: the store passes its contract behind a pooler in transaction mode, which supports no prepared
// statements and gives each transaction a different connection. Migrations and notifications bypass it.
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
	through := func(t *testing.T) (url string, options Options) {
		direct := databases.New(t)
		config, err := pgx.ParseConfig(direct)
		if err != nil {
			t.Fatal(err)
		}
		return bouncer.URL(
				pgtest.Owner,
				config.Database,
			) + "&default_query_exec_mode=cache_describe", Options{
				ListenURL: direct,
			}
	}
	t.Run("notifications", func(t *testing.T) {
		t.Parallel()
		url, options := through(t)
		stores, ears := pairOf(t, url, options)
		by := newTalker(t, stores[0], 1)
		by.turn(by.sessions[0], "told")
		session, err := stores[0].Session(t.Context(), by.scope, by.sessions[0])
		if err != nil {
			t.Fatal(err)
		}
		ears[1].until(t, "the turn's last event", ears[1].commitOf(session.ID, session.LastEvent))
	})
	t.Run("suite", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store {
			url, options := through(t)
			return openedAt(t, url, options)
		}, "Posting", "Idempotency", "Claims", "Fencing", "Steps", "Tools", "Cancelling", "Leases", "Deletion",
			"Messages", "Sessions", "Agents", "Keys")
	})
}
