package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"example.org/parley"
	"example.org/parley/sqlite"
)

// TestPurgeLeavesNoRow deletes sessions in every state and checks the file's tables.
func TestPurgeLeavesNoRow(t *testing.T) {
	t.Parallel()
	made := newTemplate(t)
	for name, moves := range everyScript() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for last := 1; last <= len(moves); last++ {
				dir, a := made.play(t, moves[:last], nil)
				err := a.store.DeleteSession(t.Context(), a.scope, a.session)
				if err != nil && parley.ErrorCode(err) != parley.CodeNotFound { // the script's own deletion
					t.Fatal(err)
				}
				for more := true; more; {
					if _, more, err = a.store.ApplyOutbox(t.Context(), parley.ID{}); err != nil {
						t.Fatal(err)
					}
				}
				if err := a.store.Close(); err != nil {
					t.Fatal(err)
				}
				file, err := sql.Open("sqlite", filepath.Join(dir, sqlite.DatabaseFile))
				if err != nil {
					t.Fatal(err)
				}
				for _, table := range []string{"sessions", "heads", "ready", "session_tags", "messages", "versions",
					"turns", "calls", "call_texts", "events", "clients", "outbox", "budgets", "parked", "rates",
					"file_uses", "compactions", "replays", "dry_calls"} {
					rows := 0
					if err := file.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil {
						t.Fatal(err)
					}
					if rows != 0 {
						t.Errorf("deleted after %q: %d rows are left in %s", moves[last-1].name, rows, table)
					}
				}
				if err := file.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
