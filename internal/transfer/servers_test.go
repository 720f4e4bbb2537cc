package transfer_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
	"example.org/parley/postgres"
	"example.org/parley/sqlite"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// TestServersAtWork: a database with a working server is neither copied nor copied into, and the error names the
// server.
func TestServersAtWork(t *testing.T) {
	t.Parallel()
	home, _ := filledSQLite(t, 1)
	from, _ := home.open(t)
	url := databases.New(t)
	server, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	process := store.Process{ID: parley.NewID(), Name: "web-1:4711"}
	must(t, server.RegisterProcess(t.Context(), process, time.Hour))
	away, _ := place{"postgres", url}.open(t)
	_, err = transfer.Copy(t.Context(), from, away, nil)
	refusedAs(t, err, "web-1:4711")

	must(t, server.ReleaseProcess(t.Context(), process.ID))
	_, err = transfer.Copy(t.Context(), from, away, nil)
	must(t, err)
	must(t, server.RegisterProcess(t.Context(), process, time.Hour))
	back, _ := place{"sqlite", t.TempDir()}.open(t)
	_, err = transfer.Copy(t.Context(), away, back, nil)
	refusedAs(t, err, "web-1:4711")

	must(t, server.ReleaseProcess(t.Context(), process.ID))
	late := false
	_, err = transfer.Copy(t.Context(), away, back, func(transfer.State) {
		if !late { // a server that starts meanwhile is found at the end
			late = true
			must(t, server.RegisterProcess(t.Context(), process, time.Hour))
		}
	})
	refusedAs(t, err, "web-1:4711")
	must(t, server.Close())
}

// TestHeldTurnsBecomeReady: rows that servers wrote into PostgreSQL are copied unchanged, and a turn whose process died
// without a takeover is ready in the copy.
func TestHeldTurnsBecomeReady(t *testing.T) {
	t.Parallel()
	home := place{"postgres", databases.New(t)}
	server, err := postgres.Open(t.Context(), home.at, postgres.Options{})
	must(t, err)
	filled := storetest.Fill(t, server, 20)
	home.rewrite(t, "UPDATE processes SET lease_until = 1") // as if it had died long ago
	from, _ := home.open(t)
	want := digests(t, from)
	back := place{"sqlite", t.TempDir()}
	to, end := back.open(t)
	_, err = transfer.Copy(t.Context(), from, to, nil)
	must(t, err)
	if diff := cmp.Diff(want, digests(t, to)); diff != "" {
		t.Errorf("digests (-source +copy):\n%s", diff)
	}
	end()

	db, err := sqlite.Open(t.Context(), back.at, sqlite.Options{})
	must(t, err)
	for _, session := range filled.Sessions {
		if session == filled.Running {
			continue
		}
		if diff := cmp.Diff(
			snapshot(t, server, filled.Scope, session),
			snapshot(t, db, filled.Scope, session),
		); diff != "" {
			t.Errorf("session %s (-source +copy):\n%s", session, diff)
		}
	}
	turns, err := db.Turns(t.Context(), filled.Scope, filled.Running, store.TurnQuery{Limit: 10})
	must(t, err)
	if !slices.ContainsFunc(
		turns,
		func(turn parley.Turn) bool { return turn.Status == parley.TurnQueued && turn.Attempt == 1 },
	) {
		t.Errorf("no turn became ready: %+v", turns)
	}
	must(t, errors.Join(db.Close(), server.Close()))
}

// measured records the largest transaction of a copy.
type measured struct {
	transfer.Destination
	rows, bytes int
}

func (d *measured) Append(
	ctx context.Context,
	table tables.Table,
	rows []transfer.Row,
	progress transfer.Progress,
) error {
	size := 0
	for _, row := range rows {
		for _, value := range row {
			size += len(value.Bytes)
		}
	}
	d.rows, d.bytes = max(d.rows, len(rows)), max(d.bytes, size)
	return d.Destination.Append(ctx, table, rows, progress)
}

// TestMemoryIsBounded: the rows of a transaction are bounded in number and size; nothing else of a copy grows with the
// database.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	home, _ := filledSQLite(t, 400)
	home.rewrite(t, "UPDATE messages SET overrides = printf('%.*c', 1000000, 'x') WHERE sequence % 50 = 0")
	from, _ := home.open(t)
	to, _ := place{"sqlite", t.TempDir()}.open(t)
	largest := &measured{Destination: to}
	_, err := transfer.Copy(t.Context(), from, largest, nil)
	must(t, err)
	if largest.rows != transfer.BatchRows || largest.bytes < transfer.BatchBytes/2 ||
		largest.bytes > transfer.BatchBytes+1_100_000 {
		t.Errorf("the largest transaction has %d rows, the largest %d bytes", largest.rows, largest.bytes)
	}
}

// TestCopyThroughPoolers: the driver's modes for poolers copy the same bytes.
func TestCopyThroughPoolers(t *testing.T) {
	t.Parallel()
	home, _ := filledSQLite(t, 1)
	from, _ := home.open(t)
	want := digests(t, from)
	for _, mode := range []string{"exec", "cache_describe", "simple_protocol"} {
		to, end := place{"postgres", databases.New(t) + "&default_query_exec_mode=" + mode}.open(t)
		if _, err := transfer.Copy(t.Context(), from, to, nil); err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if diff := cmp.Diff(want, digests(t, to)); diff != "" {
			t.Errorf("%s: digests (-source +copy):\n%s", mode, diff)
		}
		end()
	}
}
