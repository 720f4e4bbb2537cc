package postgres

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
)

// migratedBefore returns a database that has every migration before one, and its table of sessions.
func migratedBefore(t *testing.T, migration string) (url string, conn *pgx.Conn, sessions table) {
	t.Helper()
	url = databases.Empty(t)
	files, _ := following(t, "SELECT 1;")
	earlier := files.(fstest.MapFS)
	for name := range earlier {
		if name >= migration {
			delete(earlier, name)
		}
	}
	if _, err := migrate(t.Context(), url, earlier, quiet()); err != nil {
		t.Fatal(err)
	}
	conn = connected(t, url)
	tables := catalogued(t, conn)
	at := slices.IndexFunc(tables, func(found table) bool { return found.name == "sessions" })
	if at < 0 {
		t.Fatalf("no table of sessions before migration %s", migration)
	}
	return url, conn, tables[at]
}

// TestMigrationPlacesToolSessions: tool sessions from before trees get their place in the tree. No other row is
// written, because nobody can read or change a session until the migration has finished.
func TestMigrationPlacesToolSessions(t *testing.T) {
	t.Parallel()
	url, conn, sessions := migratedBefore(t, "00006")
	workspace := parley.NewID()
	open := func(kind string, parent parley.ID, visibility parley.Visibility) parley.ID {
		var id parley.ID
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+systemRole); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), sessions.row(workspace)+" RETURNING id").Scan((*[16]byte)(&id)); err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(
			t.Context(),
			"UPDATE parley.sessions SET kind = $1, parent_session_id = $2, visibility = $4 WHERE id = $3",
			kind,
			bindOne(parent),
			bindOne(id),
			string(visibility),
		); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return id
	}
	const private, shared = parley.VisibilityPrivate, parley.VisibilityWorkspace
	root := open("agent", parley.ID{}, private)
	child := open("tool", root, shared)
	grandchild := open("tool", child, shared)
	fork := open("agent", root, shared)
	orphan := open("tool", parley.NewID(), shared)
	below := open("tool", orphan, shared)
	if _, err := Migrate(t.Context(), url, quiet()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		name     string
		id, root parley.ID
		depth    int
		written  bool
		seen     parley.Visibility
	}{
		{"the root", root, root, 0, false, private}, {"its child", child, root, 1, true, private},
		{"that one's child", grandchild, root, 2, true, private},
		{"a fork", fork, fork, 0, false, shared}, {"one whose parent is gone", orphan, orphan, 0, false, shared},
		{"its child", below, orphan, 1, true, shared},
	} {
		tx, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+systemRole); err != nil {
			t.Fatal(err)
		}
		var at parley.ID
		var depth int
		var written bool
		var seen string
		if err := tx.QueryRow(t.Context(),
			"SELECT coalesce(root_id, id), depth, root_id IS NOT NULL, visibility FROM parley.sessions WHERE id = $1",
			bindOne(want.id)).
			Scan((*[16]byte)(&at), &depth, &written, &seen); err != nil {
			t.Fatal(err)
		}
		if at != want.root || depth != want.depth || written != want.written {
			t.Errorf(
				"%s lies under %s at %d, written: %t; want %s at %d, %t",
				want.name,
				at,
				depth,
				written,
				want.root,
				want.depth,
				want.written,
			)
		}
		if seen != string(want.seen) {
			t.Errorf("%s is %s, want %s", want.name, seen, want.seen)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMigrationSeparatesKeys: both kinds of keys find their sessions after the migration that separates them.
func TestMigrationSeparatesKeys(t *testing.T) {
	t.Parallel()
	url, conn, sessions := migratedBefore(t, "00038")
	workspace := parley.NewID()
	asSystem := func(do func(tx pgx.Tx) error) {
		t.Helper()
		if err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), "SET LOCAL ROLE "+systemRole); err != nil {
				return err
			}
			return do(tx)
		}); err != nil {
			t.Fatal(err)
		}
	}
	keyed := func(key, kind, feature, task string) (id parley.ID) {
		asSystem(func(tx pgx.Tx) error {
			if err := tx.QueryRow(t.Context(), sessions.row(workspace)+" RETURNING id").
				Scan((*[16]byte)(&id)); err != nil {
				return err
			}
			_, err := tx.Exec(
				t.Context(),
				"UPDATE parley.sessions SET key = $1, type = $2, feature = $3, task = $4 WHERE id = $5",
				key, kind, feature, task, bindOne(id),
			)
			return err
		})
		return id
	}
	const odd = "a \"b\" \\ \t \x01 é \u2028 🚀"
	want := map[string]parley.ID{
		parley.KeyFor("dev", "login", ""):    keyed(parley.KeyFor("dev", "login", ""), "dev", "login", ""),
		parley.KeyFor("dev", odd, odd):       keyed(parley.KeyFor("dev", odd, odd), "dev", odd, odd),
		parley.OpaqueKey(`["col","x"]`):      keyed(`["col","x"]`, "", "", ""),
		parley.OpaqueKey(`\["col","x"]`):     keyed(`\["col","x"]`, "", "", ""),
		parley.OpaqueKey(`["dev","logout"]`): keyed(`["dev","logout"]`, "dev", "login", ""),
		parley.OpaqueKey(`[1]`):              keyed(`[1]`, "", "", ""),
		parley.OpaqueKey("plain"):            keyed("plain", "", "", ""),
	}
	if _, err := Migrate(t.Context(), url, quiet()); err != nil {
		t.Fatal(err)
	}
	for key, id := range want {
		asSystem(func(tx pgx.Tx) error {
			var stored string
			err := tx.QueryRow(t.Context(), "SELECT key FROM parley.sessions WHERE id = $1", bindOne(id)).Scan(&stored)
			if stored != key {
				t.Errorf("a key is %q, want %q", stored, key)
			}
			return err
		})
	}
}
