package sqlite

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
	"example.org/parley/store/storetest"
)

// own are the tables that the description omits: those of migrations and processes, and derived ones.
var own = []string{
	"goose_db_version",
	"sqlite_sequence",
	"processes",
	"deaths",
	"response_cache",
	"response_counts",
	"audit_unlinked",
	"linked_heads",
	"search_logs",
	"search_rows",
	"search_pass",
	"search_words",
	"search_words_data",
	"search_words_idx",
	"search_words_docsize",
	"search_words_config",
}

// TestEveryColumnIsDescribed compares the description of the tables with the schema, and the order of reading rows with
// its keys.
func TestEveryColumnIsDescribed(t *testing.T) {
	w := newWorld(t, Options{})
	schema, keys := map[string][]string{}, map[string][]string{}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(w.store.read(context.Background(), func(c *conn) error {
		return c.each(
			`SELECT t.name, c.name, c.pk FROM sqlite_schema t, pragma_table_xinfo(t.name) c WHERE t.type = 'table'
				ORDER BY t.name, c.pk`,
			func(r *row) error {
				table, column, position := r.text(), r.text(), r.int()
				if slices.Contains(own, table) {
					return nil
				}
				if schema[table] = append(schema[table], column); position > 0 {
					keys[table] = append(keys[table], column)
				}
				return nil
			},
		)
	}))
	archive, err := w.store.Archive(context.Background())
	must(err)
	described, ordered := map[string][]string{}, map[string][]string{}
	for _, table := range tables.All {
		described[table.Name], ordered[table.Name] = table.Schema(tables.SQLite), archive.Key(table)
	}
	must(archive.Close())
	for _, columns := range []map[string][]string{schema, described} {
		for _, names := range columns {
			slices.Sort(names)
		}
	}
	if diff := cmp.Diff(schema, described); diff != "" {
		t.Errorf("columns (-schema +described):\n%s", diff)
	}
	if diff := cmp.Diff(keys, ordered); diff != "" {
		t.Errorf("keys (-schema +order):\n%s", diff)
	}
}

// TestPurgeIsComplete: deleted sessions leave no row in any table.
func TestPurgeIsComplete(t *testing.T) {
	t.Parallel()
	store := opened(t)
	storetest.Purge(t, store, func() map[string]int64 {
		archive, err := store.Archive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := map[string]int64{}
		for _, table := range append(slices.Clone(transfer.Tables), searchTables...) {
			if rows[table.Name], err = archive.Count(t.Context(), table); err != nil {
				t.Fatal(err)
			}
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		return rows
	})
}

// searchTables are purged, though they do not move.
var searchTables = []tables.Table{{Name: "search_logs"}, {Name: "search_rows"}, {Name: "search_words_docsize"}}

// TestRedelivery repeats rows of the outbox.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	db := opened(t)
	run := func(statements ...string) func() {
		return func() {
			for _, statement := range statements {
				if err := db.write(t.Context(), func(tx *txn) error {
					_, err := tx.exec(statement)
					return err
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	const columns = "workspace_id, kind, target_id, created_at, due_at, payload"
	storetest.Redelivery(t, db, storetest.OutboxRows{
		Keep: run("DROP TABLE IF EXISTS kept_errands", "CREATE TABLE kept_errands AS SELECT "+columns+" FROM outbox"),
		Repeat: run(
			"INSERT INTO outbox (" + columns + ") SELECT workspace_id, kind, target_id, created_at, 0, payload " +
				"FROM kept_errands",
		),
		Age:   run("UPDATE outbox SET payload = NULL"),
		Spoil: run("UPDATE outbox SET payload = '{' WHERE payload IS NOT NULL"),
		Mend: run("UPDATE outbox AS o SET payload = k.payload, due_at = 0 FROM kept_errands AS k " +
			"WHERE o.payload = '{' AND k.kind = o.kind AND k.target_id = o.target_id"),
		Hurry: func() (rest int64) {
			if err := db.write(t.Context(), func(tx *txn) error {
				if _, err := tx.one("SELECT max(due_at) FROM outbox WHERE kind = 'deliver_delegation'",
					func(r *row) error {
						rest = r.int64() - int64(tx.now)
						return nil
					}); err != nil {
					return err
				}
				_, err := tx.exec("UPDATE outbox SET due_at = 0 WHERE kind = 'deliver_delegation'")
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return rest
		},
		Left: func(kind string, target parley.ID) (n int64) {
			if err := db.read(t.Context(), func(c *conn) error {
				_, err := c.one("SELECT count(*) FROM outbox WHERE kind = ? AND target_id = ?", func(r *row) error {
					n = r.int64()
					return nil
				}, kind, target)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return n
		},
	})
}
