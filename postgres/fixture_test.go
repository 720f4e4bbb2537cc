package postgres

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
)

// databases are copies of a migrated database, in one throwaway cluster.
var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	_, err := Migrate(ctx, url, slog.New(slog.DiscardHandler))
	return err
}).Reusing(emptied)

// emptied removes a test's connections and rows. Tests that change the schema use ownDatabase.
func emptied(ctx context.Context, url string) (err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(
		ctx,
		`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`,
	); err != nil {
		return err
	}
	var foreign int
	if err := conn.QueryRow(ctx,
		"SELECT count(*) FROM pg_tables WHERE schemaname = 'parley' AND tablename IN ('copying')").
		Scan(&foreign); err != nil ||
		foreign != 0 {
		return errors.Join(err, errors.New("a test left a table"))
	}
	_, err = conn.Exec(ctx, `SET ROLE parley_system; DO $$ DECLARE name text; BEGIN
 FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'parley'
  AND tablename NOT IN ('goose_db_version', 'compatibility', 'search_pass', 'audit_linker') LOOP
 EXECUTE format('DELETE FROM parley.%I', name); END LOOP; UPDATE parley.search_pass
  SET after_id = NULL, due_at = 0, completed_at = NULL; UPDATE parley.audit_linker
  	SET holder = NULL, until = 0; END $$`)
	return err
}

// ownDatabase returns a migrated database that no other test uses.
func ownDatabase(tb testing.TB) string {
	tb.Helper()
	url := databases.Empty(tb)
	if _, err := Migrate(context.Background(), url, slog.New(slog.DiscardHandler)); err != nil {
		tb.Fatal(err)
	}
	return url
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }

// opened returns a store on its own database, and the database's URL.
func opened(tb testing.TB) (*Store, string) {
	tb.Helper()
	url := databases.New(tb)
	return openedAt(tb, url, Options{}), url
}

// openedAt opens another store on a database, like another process.
func openedAt(tb testing.TB, url string, options Options) *Store {
	tb.Helper()
	store, err := Open(context.Background(), url, options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// connected opens a direct connection to a test's database.
func connected(tb testing.TB, url string) *pgx.Conn {
	tb.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	return conn
}

// run runs statements that must succeed.
func run(tb testing.TB, conn *pgx.Conn, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			tb.Fatalf("%s\n%v", statement, err)
		}
	}
}

// refusal returns the code of an error that must be one of Parley's own.
func refusal(tb testing.TB, err error) parley.Code {
	tb.Helper()
	var refused *parley.Error
	if !errors.As(err, &refused) {
		tb.Fatalf("%v is not a refusal", err)
	}
	return refused.Code
}
