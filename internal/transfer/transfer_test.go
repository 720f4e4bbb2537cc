package transfer_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"parley"
	"parley/internal/transfer"
	"parley/sqlite"
	"parley/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openSQLite opens a directory for copying until the test ends or close is called.
func openSQLite(t *testing.T, dir string) (archive *sqlite.Archive, store *sqlite.Store, end func()) {
	t.Helper()
	store, err := sqlite.Open(context.Background(), dir, sqlite.Options{Copying: true})
	must(t, err)
	archive, err = store.Archive(context.Background())
	must(t, err)
	ended := false
	end = func() {
		if !ended {
			ended = true
			must(t, errors.Join(archive.Close(), store.Close()))
		}
	}
	t.Cleanup(end)
	return archive, store, end
}

// filledSQLite is a directory with some of everything, left by a crash.
func filledSQLite(t *testing.T, exchanges int) (string, storetest.Filled) {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	must(t, err)
	filled := storetest.Fill(t, store, exchanges)
	must(t, store.Close())
	return dir, filled
}

// tables are the digests of a database.
func tables(t *testing.T, of transfer.Archive) map[string]string {
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

func TestCopy(t *testing.T) {
	t.Parallel()
	dir, filled := filledSQLite(t, 40)
	from, source, _ := openSQLite(t, dir)
	target := t.TempDir()
	to, _, end := openSQLite(t, target)
	want := tables(t, from)
	summary, err := transfer.Copy(t.Context(), from, to, nil)
	must(t, err)
	if diff := cmp.Diff(want, tables(t, to)); diff != "" {
		t.Errorf("digests (-source +copy):\n%s", diff)
	}
	if summary.Resumed || summary.Already || len(summary.Tables) != len(transfer.Tables) || summary.Sessions == 0 || summary.Messages < 80 {
		t.Errorf("the summary is %+v", summary)
	}
	again, err := transfer.Copy(t.Context(), from, to, nil)
	if err != nil || !again.Already {
		t.Errorf("copied again: %+v, %v", again, err)
	}
	end()
	store, err := sqlite.Open(t.Context(), target, sqlite.Options{})
	must(t, err)
	for _, session := range filled.Sessions {
		if diff := cmp.Diff(snapshot(t, source, filled.Scope, session), snapshot(t, store, filled.Scope, session)); diff != "" {
			t.Errorf("session %s (-source +copy):\n%s", session, diff)
		}
	}
	must(t, store.Close())
}

func snapshot(t *testing.T, store parley.Store, scope parley.Scope, session parley.ID) storetest.Snapshot {
	t.Helper()
	s, err := storetest.TakeSnapshot(t.Context(), store, scope, session)
	must(t, err)
	return s
}

// dying ends after some transactions, as kill -9 would end the whole process:
// what it was told to write is there or not.
type dying struct {
	transfer.Destination
	left int
	lost bool // the last transaction does not happen
}

var errKilled = errors.New("killed")

func (d *dying) Append(ctx context.Context, table transfer.Table, rows []transfer.Row, progress transfer.Progress) error {
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

func TestResume(t *testing.T) {
	t.Parallel()
	dir, _ := filledSQLite(t, 700) // tables of several batches
	from, _, _ := openSQLite(t, dir)
	want := tables(t, from)
	target := t.TempDir()
	for n := 1; ; n++ {
		to, _, end := openSQLite(t, target)
		summary, err := transfer.Copy(t.Context(), from, &dying{Destination: to, left: 3, lost: n%2 == 0}, nil)
		if err == nil {
			if n < 6 || !summary.Resumed {
				t.Errorf("the copy was done after %d runs: %+v", n, summary)
			}
			if diff := cmp.Diff(want, tables(t, to)); diff != "" {
				t.Errorf("digests (-source +copy):\n%s", diff)
			}
			end()
			break
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		end()
		if _, err := sqlite.Open(t.Context(), target, sqlite.Options{}); parley.ErrorCode(err) != parley.CodeConflict || !strings.Contains(err.Error(), "unfinished copy") {
			t.Fatalf("a server opens half of a copy: %v", err)
		}
	}
	store, err := sqlite.Open(t.Context(), target, sqlite.Options{})
	must(t, err)
	must(t, store.Close())
}

// refusedAs demands a refusal whose sentence says something.
func refusedAs(t *testing.T, err error, says string) {
	t.Helper()
	if parley.ErrorCode(err) != parley.CodeConflict || !strings.Contains(err.Error(), says) {
		t.Errorf("got %v; want a conflict that says %q", err, says)
	}
}

func TestForeignDestination(t *testing.T) {
	t.Parallel()
	dir, _ := filledSQLite(t, 1)
	from, _, _ := openSQLite(t, dir)
	other, _ := filledSQLite(t, 2)
	to, _, _ := openSQLite(t, other)
	before := tables(t, to)
	_, err := transfer.Copy(t.Context(), from, to, nil)
	refusedAs(t, err, "other data (8 sessions")
	if diff := cmp.Diff(before, tables(t, to)); diff != "" {
		t.Errorf("it was changed:\n%s", diff)
	}

	half, _, _ := openSQLite(t, t.TempDir())
	if _, err := transfer.Copy(t.Context(), from, &dying{Destination: half, left: 4}, nil); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	_, err = transfer.Copy(t.Context(), to, half, nil)
	refusedAs(t, err, "unfinished copy of another database")
}

// TestSourceThatChanges: what is written to the source meanwhile is never left out in silence.
func TestSourceThatChanges(t *testing.T) {
	t.Parallel()
	for _, stage := range []transfer.Stage{transfer.Copying, transfer.Verifying} {
		dir, filled := filledSQLite(t, 1)
		from, source, _ := openSQLite(t, dir)
		target := t.TempDir()
		to, _, end := openSQLite(t, target)
		changed := false
		_, err := transfer.Copy(t.Context(), from, to, func(s transfer.State) {
			if s.Stage == stage && s.Table == "events" && !changed {
				changed = true
				_, err := source.PostMessage(t.Context(), filled.Scope, filled.Sessions[0], parley.NewMessage{
					ID: parley.NewID(), Role: parley.RoleUser, Author: parley.Author{Kind: parley.AuthorPerson}, Content: []byte(`{"text":"late"}`)}, parley.ID{})
				must(t, err)
			}
		})
		if parley.ErrorCode(err) != parley.CodeConflict {
			t.Errorf("changed while %s: %v", stage, err)
		}
		end()
		_, err = sqlite.Open(t.Context(), target, sqlite.Options{})
		refusedAs(t, err, "unfinished copy")
	}
}

// TestVerifyFindsChanges changes every column of every table of a copy by hand,
// one at a time.
func TestVerifyFindsChanges(t *testing.T) {
	t.Parallel()
	dir, _ := filledSQLite(t, 1)
	from, _, _ := openSQLite(t, dir)
	target := t.TempDir()
	to, _, _ := openSQLite(t, target)
	_, err := transfer.Copy(t.Context(), from, to, nil)
	must(t, err)
	for _, table := range transfer.Tables {
		for i := range table.Columns {
			changed := &tampered{Destination: to, table: table.Name, column: i}
			says := "they differ in " + table.Name
			if table.Name == "workspaces" { // which make it another database
				says = "other data"
			}
			if _, err := transfer.Copy(t.Context(), from, changed, nil); parley.ErrorCode(err) != parley.CodeConflict || !strings.Contains(err.Error(), says) {
				t.Errorf("%s.%s was changed: %v", table.Name, table.Columns[i].Name, err)
			}
		}
	}
	raw, err := sql.Open("sqlite", filepath.Join(target, sqlite.DatabaseFile))
	must(t, err)
	_, err = raw.ExecContext(t.Context(), "UPDATE messages SET metadata = '{\"changed\":true}' WHERE id = (SELECT min(id) FROM messages)")
	must(t, errors.Join(err, raw.Close()))
	_, err = transfer.Copy(t.Context(), from, to, nil)
	refusedAs(t, err, "they differ in messages")
}

// tampered shows one value of a table's first row changed.
type tampered struct {
	transfer.Destination
	table  string
	column int
}

func (d *tampered) Each(ctx context.Context, table transfer.Table, after transfer.Row, visit func(transfer.Row) error) error {
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

// TestBrokenRecordIsFound: a source whose record does not match its hashes is
// copied faithfully, and said to be broken.
func TestBrokenRecordIsFound(t *testing.T) {
	t.Parallel()
	dir, _ := filledSQLite(t, 1)
	raw, err := sql.Open("sqlite", filepath.Join(dir, sqlite.DatabaseFile))
	must(t, err)
	_, err = raw.ExecContext(t.Context(), "UPDATE messages SET content = replace(content, 'in lines', 'in lies')")
	must(t, errors.Join(err, raw.Close()))
	from, _, _ := openSQLite(t, dir)
	to, _, _ := openSQLite(t, t.TempDir())
	_, err = transfer.Copy(t.Context(), from, to, nil)
	if parley.ErrorCode(err) != parley.CodeUnavailable || !strings.Contains(err.Error(), "does not match the hash of message 2") || !strings.Contains(err.Error(), "source") {
		t.Errorf("got %v", err)
	}
}
