package transfer_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// databases are migrated PostgreSQL databases.
var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	_, err := postgres.Migrate(ctx, url, slog.New(slog.DiscardHandler))
	return err
})

func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a database that can be opened repeatedly.
type place struct {
	kind string // sqlite or postgres
	at   string
}

// both runs a test once for each kind of database.
func both(t *testing.T, test func(t *testing.T, empty func() place)) {
	t.Parallel()
	for name, made := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return t.TempDir() },
		"postgres": func(t *testing.T) string { return databases.New(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func() place { return place{name, made(t)} })
		})
	}
}

// open opens a place for copying until the test ends or end is called.
func (p place) open(t *testing.T) (archive transfer.Destination, end func()) {
	t.Helper()
	var ends []func() error
	if p.kind == "sqlite" {
		store, err := sqlite.Open(context.Background(), p.at, sqlite.Options{Copying: true})
		must(t, err)
		opened, err := store.Archive(context.Background())
		must(t, err)
		archive, ends = opened, []func() error{opened.Close, store.Close}
	} else {
		store, err := postgres.Open(context.Background(), p.at, postgres.Options{Copying: true})
		must(t, err)
		opened, err := store.Archive(context.Background())
		must(t, err)
		archive, ends = opened, []func() error{opened.Close, store.Close}
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			must(t, errors.Join(ends[0](), ends[1]()))
		}
	}
	t.Cleanup(end)
	return archive, end
}

// serve opens a place like a server, and closes it.
func (p place) serve() error {
	if p.kind == "sqlite" {
		store, err := sqlite.Open(context.Background(), p.at, sqlite.Options{})
		if err != nil {
			return err
		}
		return store.Close()
	}
	store, err := postgres.Open(context.Background(), p.at, postgres.Options{})
	if err != nil {
		return err
	}
	return store.Close()
}

// filledSQLite returns a directory with rows of every kind, left by a crash.
func filledSQLite(t *testing.T, exchanges int) (place, storetest.Filled) {
	t.Helper()
	p := place{"sqlite", t.TempDir()}
	store, err := sqlite.Open(context.Background(), p.at, sqlite.Options{})
	must(t, err)
	filled := storetest.Fill(t, store, exchanges)
	must(t, store.Close())
	must(t, p.serve()) // serving takes over what was running
	return p, filled
}

// rewrite changes rows directly.
func (p place) rewrite(t *testing.T, statement string) {
	t.Helper()
	if p.kind == "sqlite" {
		raw, err := sql.Open("sqlite", filepath.Join(p.at, sqlite.DatabaseFile))
		must(t, err)
		_, err = raw.ExecContext(t.Context(), statement)
		must(t, errors.Join(err, raw.Close()))
		return
	}
	connection, err := pgx.Connect(t.Context(), p.at)
	must(t, err)
	for _, statement := range []string{"SET ROLE parley_system", "SET search_path TO parley", statement} {
		_, err = connection.Exec(t.Context(), statement)
		must(t, err)
	}
	must(t, connection.Close(t.Context()))
}

// digests returns the digests of a database.
func digests(t *testing.T, of transfer.Archive) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, table := range transfer.Tables {
		var d transfer.Digest
		must(t, of.Each(t.Context(), table, nil, func(row transfer.Row) error {
			d.Add(row)
			return nil
		}))
		if d.Rows == 0 {
			t.Errorf("%s is empty", table.Name)
		}
		all[table.Name] = d.String()
	}
	return all
}

// TestRoundTrip: every row comes back unchanged.
func TestRoundTrip(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		home, filled := filledSQLite(t, 40)
		from, end := home.open(t)
		want := digests(t, from)
		away := empty()
		there, leave := away.open(t)
		summary, err := transfer.Copy(t.Context(), from, there, nil)
		must(t, err)
		if diff := cmp.Diff(want, digests(t, there)); diff != "" {
			t.Errorf("digests (-source +copy):\n%s", diff)
		}
		if summary.Resumed || summary.Already || len(summary.Tables) != len(transfer.Tables) ||
			summary.Sessions < 15 || // of the fixture, which grows
			summary.Messages < 80 {
			t.Errorf("the summary is %+v", summary)
		}
		again, err := transfer.Copy(t.Context(), from, there, nil)
		if err != nil || !again.Already {
			t.Errorf("copied again: %+v, %v", again, err)
		}
		further := empty()
		beyond, depart := further.open(t)
		_, err = transfer.Copy(t.Context(), there, beyond, nil)
		must(t, err)
		back := place{"sqlite", t.TempDir()}
		to, arrive := back.open(t)
		_, err = transfer.Copy(t.Context(), beyond, to, nil)
		must(t, err)
		if diff := cmp.Diff(want, digests(t, to)); diff != "" {
			t.Errorf("digests (-source +after three copies):\n%s", diff)
		}
		for _, end := range []func(){end, leave, depart, arrive} {
			end()
		}
		for _, p := range []place{away, further} {
			must(t, p.serve())
		}
		sameSessions(t, home.at, back.at, filled)
	})
}

// sameSessions compares the contents of two directories through the port.
func sameSessions(t *testing.T, home, back string, filled storetest.Filled) {
	t.Helper()
	source, err := sqlite.Open(t.Context(), home, sqlite.Options{})
	must(t, err)
	copied, err := sqlite.Open(t.Context(), back, sqlite.Options{})
	must(t, err)
	for _, session := range filled.Sessions {
		if diff := cmp.Diff(
			snapshot(t, source, filled.Scope, session),
			snapshot(t, copied, filled.Scope, session),
		); diff != "" {
			t.Errorf("session %s (-source +copy):\n%s", session, diff)
		}
	}
	running, err := copied.Turns(t.Context(), filled.Scope, filled.Running, store.TurnQuery{Limit: 10})
	if err != nil ||
		!slices.ContainsFunc(
			running,
			func(turn parley.Turn) bool { return turn.Status == parley.TurnQueued && turn.Attempt == 1 },
		) {
		t.Errorf("the turn that ran at the crash is not ready: %+v, %v", running, err)
	}
	must(t, errors.Join(source.Close(), copied.Close()))
}

func snapshot(t *testing.T, store store.Store, scope store.Scope, session parley.ID) storetest.Snapshot {
	t.Helper()
	s, err := storetest.TakeSnapshot(t.Context(), store, scope, session)
	must(t, err)
	return s
}

// dying ends after some transactions, like a process killed by kill -9: its last write may or may not have happened.
type dying struct {
	transfer.Destination
	left int
	lost bool // the last transaction is lost
}

var errKilled = errors.New("killed")

func (d *dying) Append(
	ctx context.Context,
	table tables.Table,
	rows []transfer.Row,
	progress transfer.Progress,
) error {
	if d.left--; d.left < 0 {
		return errKilled
	}
	if d.left == 0 && d.lost {
		return errKilled
	}
	if err := d.Destination.Append(ctx, table, rows, progress); err != nil {
		return err
	}
	if d.left == 0 {
		return errKilled
	}
	return nil
}

// TestResume kills a copy repeatedly, in both directions.
func TestResume(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		home, _ := filledSQLite(t, 400) // tables of several batches
		away, back := empty(), place{"sqlite", t.TempDir()}
		resume(t, home, away)
		resume(t, away, back)
	})
}

func resume(t *testing.T, source, target place) {
	t.Helper()
	from, end := source.open(t)
	want := digests(t, from)
	for n := 1; ; n++ {
		to, end := target.open(t)
		summary, err := transfer.Copy(t.Context(), from, &dying{Destination: to, left: 3, lost: n%2 == 0}, nil)
		if err == nil {
			if n < 6 || !summary.Resumed {
				t.Errorf("the copy was done after %d runs: %+v", n, summary)
			}
			if diff := cmp.Diff(want, digests(t, to)); diff != "" {
				t.Errorf("digests (-source +copy):\n%s", diff)
			}
			end()
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		end()
		refusedAs(t, target.serve(), "unfinished copy")
	}
	end()
	must(t, target.serve())
}

// refusedAs requires a refusal with given words.
func refusedAs(t *testing.T, err error, says string) {
	t.Helper()
	if parley.ErrorCode(err) != parley.CodeConflict || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v; want a conflict that says %q", err, says)
	}
}

func TestForeignDestination(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		home, _ := filledSQLite(t, 1)
		from, _ := home.open(t)
		elsewhere, _ := filledSQLite(t, 2)
		other, _ := elsewhere.open(t)
		to, _ := empty().open(t)
		_, err := transfer.Copy(t.Context(), other, to, nil)
		must(t, err)
		before := digests(t, to)
		_, err = transfer.Copy(t.Context(), from, to, nil)
		refusedAs(t, err, "other data (27 sessions")
		if diff := cmp.Diff(before, digests(t, to)); diff != "" {
			t.Errorf("the destination was changed:\n%s", diff)
		}

		half, _ := empty().open(t)
		if _, err := transfer.Copy(
			t.Context(),
			from,
			&dying{Destination: half, left: 4},
			nil,
		); !errors.Is(
			err,
			errKilled,
		) {
			t.Fatal(err)
		}
		_, err = transfer.Copy(t.Context(), other, half, nil)
		refusedAs(t, err, "unfinished copy of another database")
	})
}

// TestSourceThatChanges: changes to the source during a copy are never silently left out.
func TestSourceThatChanges(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		for _, stage := range []transfer.Stage{transfer.Copying, transfer.Verifying} {
			home, _ := filledSQLite(t, 1)
			first, _ := home.open(t)
			source := empty()
			from, _ := source.open(t)
			_, err := transfer.Copy(t.Context(), first, from, nil)
			must(t, err)
			target := place{"sqlite", t.TempDir()}
			to, end := target.open(t)
			changed := false
			_, err = transfer.Copy(t.Context(), from, to, func(s transfer.State) {
				if s.Stage == stage && s.Table == "events" && !changed {
					changed = true
					source.rewrite(t, "DELETE FROM clients")
				}
			})
			if parley.ErrorCode(err) != parley.CodeConflict {
				t.Errorf("changed while %s: %v", stage, err)
			}
			end()
			refusedAs(t, target.serve(), "unfinished copy")
		}
	})
}

// TestVerifyFindsChanges shows changes in every column of every table of a copy, one at a time, and makes one by hand.
func TestVerifyFindsChanges(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		home, _ := filledSQLite(t, 1)
		from, _ := home.open(t)
		target := empty()
		to, _ := target.open(t)
		_, err := transfer.Copy(t.Context(), from, to, nil)
		must(t, err)
		if target.kind == "sqlite" { // the comparison is the same for all
			for _, table := range transfer.Tables {
				for i := range table.Columns {
					says := "they differ in " + table.Name
					if table.Name == "workspaces" { // which make it a different database
						says = "other data"
					}
					_, err := transfer.Copy(
						t.Context(),
						from,
						&tampered{Destination: to, table: table.Name, column: i},
						nil,
					)
					refusedAs(t, err, says)
				}
			}
		}
		target.rewrite(
			t,
			`UPDATE messages SET metadata = '{"changed":true}' WHERE role = 'user' AND status = 'completed'`,
		)
		_, err = transfer.Copy(t.Context(), from, to, nil)
		refusedAs(t, err, "they differ in messages")
	})
}

// tampered shows one value of a table's first row changed.
type tampered struct {
	transfer.Destination
	table  string
	column int
}

func (d *tampered) Each(
	ctx context.Context,
	table tables.Table,
	after transfer.Row,
	visit func(transfer.Row) error,
) error {
	first := table.Name == d.table
	return d.Destination.Each(ctx, table, after, func(row transfer.Row) error {
		if first {
			first = false
			switch v := &row[d.column]; {
			case v.Kind == 0:
				*v = transfer.Value{Kind: table.Columns[d.column].Kind}
			case len(v.Bytes) > 0:
				v.Bytes = append([]byte{v.Bytes[0] ^ 1}, v.Bytes[1:]...)
			default:
				*v = transfer.Value{}
			}
		}
		return visit(row)
	})
}

// TestBrokenRecordIsFound: a source whose record does not match its hashes is copied faithfully and reported as broken.
func TestBrokenRecordIsFound(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		home, _ := filledSQLite(t, 1)
		home.rewrite(t, "UPDATE messages SET content = replace(content, 'in lines', 'in lies')")
		from, _ := home.open(t)
		target := empty()
		to, end := target.open(t)
		_, err := transfer.Copy(t.Context(), from, to, nil)
		if parley.ErrorCode(err) != parley.CodeUnavailable ||
			!strings.Contains(err.Error(), "does not match the hash of message 2") ||
			!strings.Contains(err.Error(), "source") {
			t.Errorf("got %v", err)
		}
		end()
		refusedAs(t, target.serve(), "unfinished copy")
	})
}

// TestEmptyIsNotNull: an empty value stays empty, and distinct from NULL.
func TestEmptyIsNotNull(t *testing.T) {
	both(t, func(t *testing.T, empty func() place) {
		home, _ := filledSQLite(t, 1)
		home.rewrite(t, "UPDATE messages SET provider_data = x'', tool_name = '', usage = '' WHERE role = 'user'")
		from, _ := home.open(t)
		want := digests(t, from)
		to, _ := empty().open(t)
		_, err := transfer.Copy(t.Context(), from, to, nil)
		must(t, err)
		last, _ := (place{"sqlite", t.TempDir()}).open(t)
		_, err = transfer.Copy(t.Context(), to, last, nil)
		must(t, err)
		if diff := cmp.Diff(want, digests(t, last)); diff != "" {
			t.Errorf("digests (-source +after two copies):\n%s", diff)
		}
	})
}
