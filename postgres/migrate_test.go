package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/internal/pgtest"
	"example.org/parley/store"
)

// following returns this program's migrations with a further one, as a later version would have them, and that one's
// number.
func following(t *testing.T, up string) (fs.FS, int64) {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(embedded, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(name, "migrations/")] = &fstest.MapFile{Data: text}
	}
	last, err := strconv.ParseInt(strings.TrimPrefix(names[len(names)-1], "migrations/")[:5], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	next := last + 1
	files[fmt.Sprintf("%05d_next.sql", next)] = &fstest.MapFile{
		Data: []byte("-- +goose Up\n" + up + "\n-- +goose Down\n"),
	}
	return files, next
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestManyMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := databases.Empty(t)
	schema, err := Migrations(t.Context(), url)
	if err != nil || schema.Version != 0 || len(schema.Pending()) != len(schema.Migrations) ||
		len(schema.Missing) != 0 {
		t.Fatalf("an empty database stands at %+v, %v", schema, err)
	}
	var group sync.WaitGroup
	applied := make([]int, 4)
	for i := range applied {
		group.Go(func() { // ends with its call
			done, err := Migrate(context.Background(), url, quiet())
			if err != nil {
				t.Error(err)
			}
			applied[i] = len(done)
		})
	}
	group.Wait()
	total := 0
	for _, n := range applied {
		total += n
	}
	if total != len(schema.Migrations) {
		t.Errorf("%d migrations were applied of %d: %v", total, len(schema.Migrations), applied)
	}
	schema, err = Migrations(t.Context(), url)
	if err != nil || schema.Version != schema.Known || len(schema.Pending()) != 0 || schema.CompatibleFrom < 1 {
		t.Errorf("afterwards the database stands at %+v, %v", schema, err)
	}
	for _, m := range schema.Migrations {
		if m.AppliedAt.IsZero() || m.SQL == "" {
			t.Errorf("migration %+v", m)
		}
	}
}

// TestInterruptedMigration ends the server's side of a migration in the middle.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	url := ownDatabase(t)
	conn := connected(t, url)
	const lock = 4711
	files, next := following(
		t,
		fmt.Sprintf(
			"CREATE TABLE parley.half (n int);\nSELECT pg_advisory_xact_lock(%d);\nDROP TABLE parley.half;",
			lock,
		),
	)
	run(t, conn, fmt.Sprintf("SELECT pg_advisory_lock(%d)", lock))
	failed := make(chan error, 1)
	go func() { // ends with its call
		_, err := migrate(context.Background(), url, files, quiet())
		failed <- err
	}()
	for waiting := 0; waiting == 0; { // until it waits for the lock
		if err := conn.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted "+
				"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())", lock).
			Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if err := databases.Cluster(t).Run(t.Context(), pgtest.Superuser, "postgres",
		fmt.Sprintf("SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "+
			"WHERE locktype = 'advisory' AND objid = %d AND NOT granted AND datname = '%s'",
			lock, conn.Config().Database),
	); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Fatal("a migration whose connection was ended succeeded")
	}
	var half bool
	if err := conn.QueryRow(t.Context(), "SELECT to_regclass('parley.half') IS NOT NULL").
		Scan(&half); err != nil ||
		half {
		t.Errorf("half a migration is left: %t, %v", half, err)
	}
	run(t, conn, fmt.Sprintf("SELECT pg_advisory_unlock(%d)", lock))
	applied, err := migrate(t.Context(), url, files, quiet())
	if err != nil || len(applied) != 1 || applied[0].Version != next {
		t.Errorf("the second time it applied %+v, %v", applied, err)
	}
}

// TestLateMigration: a migration added after a later one is noticed and applied.
func TestLateMigration(t *testing.T) {
	t.Parallel()
	url := ownDatabase(t)
	files, next := following(t, "CREATE TABLE parley.late (n int);")
	for _, n := range []int64{next + 1, next} {
		known := fstest.MapFS{
			fmt.Sprintf("%05d_later.sql", next+1): {Data: []byte("-- +goose Up\nSELECT 1;\n-- +goose Down\n")},
		}
		for name, file := range files.(fstest.MapFS) {
			if n == next || !strings.HasSuffix(name, "_next.sql") {
				known[name] = file
			}
		}
		if applied, err := migrate(
			t.Context(),
			url,
			known,
			quiet(),
		); err != nil || len(applied) != 1 ||
			applied[0].Version != n {
			t.Fatalf("of %d, applied %+v, %v", n, applied, err)
		}
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		up   string
		fits bool
	}{
		"this program still fits": {"ALTER TABLE parley.messages ADD COLUMN later text", true},
		"this program is too old": {"UPDATE parley.compatibility SET compatible_from = 1000", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := ownDatabase(t)
			files, next := following(t, c.up+";")
			if _, err := migrate(t.Context(), url, files, quiet()); err != nil {
				t.Fatal(err)
			}
			store, err := Open(t.Context(), url, Options{})
			if c.fits {
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || refusal(t, err) != parley.CodeUnavailable ||
				!strings.Contains(err.Error(), fmt.Sprintf("newer Parley (schema %d", next)) {
				t.Errorf("opening a schema of the future: %v", err)
			}
		})
	}
}

// earlierFiles returns this program's migrations up to a version, as an earlier program had them.
func earlierFiles(t *testing.T, version int64) fs.FS {
	t.Helper()
	files, _ := following(t, "SELECT 1;")
	earlier := files.(fstest.MapFS)
	for name := range earlier {
		if n, err := strconv.ParseInt(name[:5], 10, 64); err != nil || n > version {
			delete(earlier, name)
		}
	}
	return earlier
}

// TestOlderPrograms: a program that would break what others rely on is refused; one that only lacks later additions
// works.
func TestOlderPrograms(t *testing.T) {
	t.Parallel()
	url := ownDatabase(t)
	schema, err := Migrations(t.Context(), url)
	if err != nil || schema.CompatibleFrom < 8 || schema.CompatibleFrom > schema.Known {
		t.Fatalf("the schema is %d, compatible from %d, %v", schema.Version, schema.CompatibleFrom, err)
	}
	if _, err := migrate(
		t.Context(),
		url,
		earlierFiles(t, schema.CompatibleFrom-1),
		quiet(),
	); err == nil ||
		refusal(t, err) != parley.CodeUnavailable {
		t.Errorf("a program one version too old: %v", err)
	}
	if applied, err := migrate(
		t.Context(),
		url,
		earlierFiles(t, schema.CompatibleFrom),
		quiet(),
	); err != nil ||
		len(applied) != 0 {
		t.Errorf("a program of exactly that version: %v after %d migrations", err, len(applied))
	}
}

// TestErrandsOfANewerProgram: unknown errands are left to a newer program.
func TestErrandsOfANewerProgram(t *testing.T) {
	t.Parallel()
	store, url := opened(t)
	conn := connected(t, url)
	run(t, conn, "SET ROLE "+systemRole)
	run(
		t,
		conn,
		fmt.Sprintf(
			"INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) "+
				"VALUES ('%s', 'of_tomorrow', '%s', 0, 0)",
			parley.NewID(),
			parley.NewID(),
		),
	)
	if _, more, err := store.ApplyOutbox(t.Context(), parley.ID{}); more || err != nil {
		t.Errorf("more: %t, %v", more, err)
	}
	var left, resting int
	if err := conn.QueryRow(t.Context(),
		"SELECT count(*), count(*) FILTER (WHERE due_at > parley.now_ms()) FROM parley.outbox").
		Scan(&left, &resting); err != nil ||
		left != 1 ||
		resting != 1 {
		t.Errorf("%d errands are left, %d of them rest, %v", left, resting, err)
	}
}

// TestOwnMigrationsUnderLoad applies this program's migrations, starting with the first schema, while programs of that
// schema write and read all the time. None of their requests fails, before or after any change, and turns of this
// program run beside them afterwards.
func TestOwnMigrationsUnderLoad(t *testing.T) {
	t.Parallel()
	url := databases.Empty(t)
	if _, err := migrate(t.Context(), url, earlierFiles(t, 1), quiet()); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	defer group.Wait()
	defer close(stop)
	rounds, failed := make(chan struct{}), make(chan error, 3)
	for range cap(failed) {
		conn := connected(t, url)
		var inserts []string
		workspace := parley.NewID()
		for _, found := range catalogued(t, conn) { // as in the first schema
			switch found.name {
			case "sessions", "heads", "messages", "versions", "turns", "calls", "events", "call_texts":
				inserts = append(inserts, found.row(workspace))
			}
		}
		if len(inserts) != 8 {
			t.Fatalf("%d tables of the first schema", len(inserts))
		}
		group.Go(func() { // ends when stop is closed
			for {
				if err := olderRound(conn, workspace, inserts); err != nil {
					failed <- err
					return
				}
				select {
				case rounds <- struct{}{}:
				case <-stop:
					return
				}
			}
		})
	}
	some := func(n int) {
		t.Helper()
		for range n {
			select {
			case <-rounds:
			case err := <-failed:
				t.Fatal(err)
			}
		}
	}
	some(30)
	migrated := make(chan error, 1)
	go func() { // ends with its call
		_, err := Migrate(context.Background(), url, quiet())
		migrated <- err
	}()
	for open := true; open; {
		select {
		case err := <-migrated:
			if err != nil {
				t.Fatal(err)
			}
			open = false
		case err := <-failed:
			t.Fatal(err)
		case <-rounds:
		}
	}
	some(30)
	newer := newTalker(t, openedAt(t, url, Options{}), 2)
	for n := range 5 {
		for _, session := range newer.sessions {
			newer.turn(session, fmt.Sprint("answer ", n))
		}
		some(1)
	}
	for _, session := range newer.sessions {
		if messages, err := newer.store.Messages(
			t.Context(),
			newer.scope,
			session,
			store.MessageQuery{Limit: parley.MaxPage},
		); err != nil ||
			len(messages) != 10 {
			t.Errorf("%d messages, %v", len(messages), err)
		}
	}
}

// olderRound writes a row of each kind, changes and reads it, and removes it, as a tenant. It repeats after a deadlock
// with a migration, as each version does.
func olderRound(conn *pgx.Conn, workspace parley.ID, inserts []string) error {
	ctx := context.Background()
	statements := append(
		[]string{
			"BEGIN",
			"SET LOCAL ROLE " + tenantRole,
			fmt.Sprintf("SELECT set_config('parley.workspace', '%s', true)", workspace),
		},
		inserts...)
	statements = append(
		statements,
		"UPDATE parley.heads SET revision = revision + 1, epoch = epoch + 1",
		"UPDATE parley.sessions SET updated_at = updated_at + 1",
		"UPDATE parley.turns SET status = 'completed'",
		"UPDATE parley.calls SET outcome = 'completed', total_ms = 1",
		"SELECT sequence, content FROM parley.messages",
		"DELETE FROM parley.versions",
		"DELETE FROM parley.messages",
		"DELETE FROM parley.events",
		"DELETE FROM parley.calls",
		"DELETE FROM parley.call_texts",
		"DELETE FROM parley.turns",
		"DELETE FROM parley.heads",
		"DELETE FROM parley.sessions",
		"COMMIT",
	)
	for {
		var err error
		for _, statement := range statements {
			if _, err = conn.Exec(ctx, statement); err != nil {
				err = fmt.Errorf("%s: %w", statement, err)
				break
			}
		}
		if err == nil {
			return nil
		}
		if _, undone := conn.Exec(ctx, "ROLLBACK"); undone != nil || stateOf(err) != stateDeadlock {
			return errors.Join(err, undone)
		}
	}
}

// TestMigrationUnderLoad migrates like a rolling upgrade: while processes of the previous version run turns, and with
// one of the next joining them. Nothing fails, before or after the change.
func TestMigrationUnderLoad(t *testing.T) {
	t.Parallel()
	url := ownDatabase(t)
	older := newTalker(t, openedAt(t, url, Options{}), 4)
	stop := make(chan struct{})
	var group sync.WaitGroup
	work := func(by *talker) <-chan struct{} {
		turned := make(chan struct{}, len(by.sessions))
		for _, session := range by.sessions {
			group.Go(func() { // ends when stop is closed
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					by.turn(session, fmt.Sprintf("answer %d", n))
					if messages, err := by.store.Messages(
						context.Background(),
						by.scope,
						session,
						store.MessageQuery{Descending: true, Limit: 2},
					); err != nil ||
						len(messages) != 2 {
						t.Errorf("%d messages, %v", len(messages), err)
					}
					if _, err := by.store.Sessions(context.Background(), by.scope, store.SessionQuery{}); err != nil {
						t.Error(err)
					}
					select {
					case turned <- struct{}{}:
					default: // nobody is counting
					}
				}
			})
		}
		return turned
	}
	some := func(turned <-chan struct{}) {
		for range 20 {
			bounded.Receive(t, turned, "an older server's round")
		}
	}
	before := work(older)
	some(before)
	files, next := following(t, `ALTER TABLE parley.messages ADD COLUMN later text NOT NULL DEFAULT '';
ALTER TABLE parley.sessions ADD COLUMN later bigint;
ALTER TABLE parley.heads ADD COLUMN later boolean NOT NULL DEFAULT false;
CREATE TABLE parley.latest (workspace_id uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (workspace_id, id));
ALTER TABLE parley.latest ENABLE ROW LEVEL SECURITY;
ALTER TABLE parley.latest FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON parley.latest TO parley_tenant USING (workspace_id = current_setting('parley.workspace')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON parley.latest TO parley_tenant;`)
	files.(fstest.MapFS)[fmt.Sprintf("%05d_index.sql", next+1)] = &fstest.MapFile{Data: []byte(
		"-- +goose NO TRANSACTION\n-- +goose Up\nDROP INDEX CONCURRENTLY IF EXISTS parley.messages_later;\n" +
			"CREATE INDEX CONCURRENTLY messages_later ON parley.messages (workspace_id, later) WHERE later <> " +
			"'';\n-- +goose Down\n")}
	applied, err := migrate(t.Context(), url, files, quiet())
	if err != nil || len(applied) != 2 {
		t.Errorf("applied %+v, %v", applied, err)
	}
	newer := newTalker(t, openedAt(t, url, Options{}), 4)
	some(work(newer))
	some(before)
	close(stop)
	group.Wait()
	for _, by := range []*talker{older, newer} {
		for _, session := range by.sessions {
			record, err := by.store.Messages(
				context.Background(),
				by.scope,
				session,
				store.MessageQuery{Limit: parley.MaxPage},
			)
			if err != nil || len(record) == 0 {
				t.Errorf("%d messages, %v", len(record), err)
			}
			for i := range record {
				if record[i].Sequence != int64(i+1) || record[i].Status != parley.MessageCompleted {
					t.Errorf("message %d is at position %d, %s", record[i].Sequence, i+1, record[i].Status)
				}
			}
		}
	}
}

// TestRoleWithFewRights follows somebody whose database is run by others: the printed statements are enough.
func TestRoleWithFewRights(t *testing.T) {
	t.Parallel()
	cluster, err := pgtest.Start(pgtest.Options{}) // its own, because roles belong to the whole cluster
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
		"CREATE ROLE weak LOGIN",
		"CREATE DATABASE others",
	); err != nil {
		t.Fatal(err)
	}
	url := cluster.URL("weak", "others")
	_, err = Open(t.Context(), url, Options{})
	if refusal(t, err) != parley.CodeUnavailable {
		t.Fatalf("opened by a role that may do nothing: %v", err)
	}
	schema, inspectErr := Migrations(t.Context(), url)
	if inspectErr != nil || len(schema.Missing) < 5 {
		t.Fatalf("missing: %q, %v", schema.Missing, inspectErr)
	}
	for _, statement := range schema.Missing {
		if !strings.Contains(err.Error(), statement) {
			t.Errorf("the error does not print %s", statement)
		}
	}
	if err := cluster.Run(t.Context(), pgtest.Superuser, "others", schema.Missing...); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	store := openedAt(t, url, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if _, err := store.Workspace(t.Context(), "default"); err != nil {
		t.Error(err)
	}
	open, err := Diagnose(t.Context(), url, Options{})
	if err != nil || len(open.Open) != 2 {
		t.Errorf("a database to which everybody may connect: %+v, %v", open, err)
	}
	if !strings.Contains(log.String(), "may connect to this database") {
		t.Errorf("a database to which everybody may connect causes no warning: %s", log.String())
	}
	if err := cluster.Run(t.Context(), pgtest.Superuser, "others", open.Open...); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	openedAt(t, url, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("a proper role causes a warning: %s", log.String())
	}
	if shut, err := Diagnose(t.Context(), url, Options{}); err != nil || len(shut.Open) > 0 {
		t.Errorf("a database to which only Parley's role may connect: %+v, %v", shut, err)
	}
	var seen int
	if err := connected(
		t,
		url,
	).QueryRow(t.Context(), "SELECT count(*) FROM parley.workspaces").
		Scan(&seen); err != nil ||
		seen != 0 {
		t.Errorf("without a role %d rows are seen, %v", seen, err)
	}
	log.Reset()
	openedAt(t, cluster.URL(pgtest.Superuser, "others"), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "is a superuser") {
		t.Errorf("a superuser is not warned about: %s", log.String())
	}
}

// TestServeWithoutOwning: a role that migrated nothing and owns nothing can serve a database that another one migrated.
func TestServeWithoutOwning(t *testing.T) {
	t.Parallel()
	url := ownDatabase(t)
	cluster := databases.Cluster(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		config.Database,
		"CREATE ROLE server LOGIN NOINHERIT",
		"GRANT CONNECT ON DATABASE "+config.Database+" TO server",
		"GRANT parley_tenant, parley_system TO server",
	); err != nil {
		t.Fatal(err)
	}
	store := openedAt(t, cluster.URL("server", config.Database), Options{})
	if _, err := store.Workspace(t.Context(), "default"); err != nil {
		t.Error(err)
	}
}
