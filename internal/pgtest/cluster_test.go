package pgtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"example.org/parley/internal/pgtest"
)

var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	connection, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	if _, err := connection.Exec(
		ctx,
		"CREATE SCHEMA own; CREATE TABLE own.prepared (n int); INSERT INTO own.prepared VALUES (1)",
	); err != nil {
		return err
	}
	return connection.Close(ctx)
})

func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }

// rows counts the rows that a fresh connection sees.
func rows(t *testing.T, url string) (n int) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if err := connection.QueryRow(t.Context(), "SELECT count(*) FROM own.prepared").Scan(&n); err != nil {
		t.Error(err)
	}
	if err := connection.Close(t.Context()); err != nil {
		t.Error(err)
	}
	return n
}

func TestDatabasesAreCopiesOfTheirOwn(t *testing.T) {
	t.Parallel()
	first, second := databases.New(t), databases.New(t)
	connection, err := pgx.Connect(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	var super bool
	if err := connection.QueryRow(t.Context(), "SELECT rolsuper FROM pg_roles WHERE rolname = current_user").
		Scan(&super); err != nil ||
		super {
		t.Errorf("tests connect as a superuser: %t, %v", super, err)
	}
	if _, err := connection.Exec(t.Context(), "INSERT INTO own.prepared VALUES (2)"); err != nil {
		t.Error(err)
	}
	if err := connection.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if a, b := rows(t, first), rows(t, second); a != 2 || b != 1 {
		t.Errorf("the databases hold %d and %d rows; want 2 and 1", a, b)
	}
}

func TestRestartKeepsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	cluster, err := pgtest.Start(pgtest.Options{Durable: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		"postgres",
		"CREATE SCHEMA own",
		"CREATE TABLE own.prepared (n int)",
		"INSERT INTO own.prepared VALUES (1)",
	); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.Run(t.Context(), pgtest.Superuser, "postgres", "SELECT 1"); err == nil {
		t.Error("a stopped server responds")
	}
	if err := cluster.Resume(); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, cluster.URL(pgtest.Superuser, "postgres")); n != 1 {
		t.Errorf("%d rows are left of 1", n)
	}
}
