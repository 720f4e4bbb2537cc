package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"example.org/parley"
	"example.org/parley/internal/pgtest"
	"example.org/parley/internal/tables"
	"example.org/parley/internal/transfer"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// own are the tables that the description omits: those of migrations and processes, and derived ones.
var own = []string{
	"goose_db_version",
	"compatibility",
	"processes",
	"deaths",
	"response_cache",
	"response_counts",
	"audit_unlinked",
	"linked_heads",
	"audit_linker",
	"search_logs",
	"search_rows",
	"search_pass",
}

func archived(t *testing.T, store *Store) *Archive {
	t.Helper()
	archive, err := store.Archive(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := archive.Close(); err != nil {
			t.Error(err)
		}
	})
	return archive
}

// TestEveryColumnIsDescribed compares the description of the tables with the schema, and the order of reading rows with
// its keys.
func TestEveryColumnIsDescribed(t *testing.T) {
	t.Parallel()
	store, url := opened(t)
	rows, err := connected(
		t,
		url,
	).Query(t.Context(), `SELECT c.relname, a.attname, coalesce(array_position(i.indkey::int2[], a.attnum), -1)
 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
 WHERE c.relnamespace = 'parley'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY 1, 3`)
	if err != nil {
		t.Fatal(err)
	}
	schema, keys := map[string][]string{}, map[string][]string{}
	var table, column string
	var position int
	if _, err := pgx.ForEachRow(rows, []any{&table, &column, &position}, func() error {
		if slices.Contains(own, table) {
			return nil
		}
		if schema[table] = append(schema[table], column); position >= 0 {
			keys[table] = append(keys[table], column)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	described, ordered := map[string][]string{}, map[string][]string{}
	archive := archived(t, store)
	for _, table := range tables.All {
		described[table.Name], ordered[table.Name] = table.Schema(tables.Postgres), archive.Key(table)
	}
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

// TestLiveServerIsNotQuiet: nothing is copied while a process has a lease.
func TestLiveServerIsNotQuiet(t *testing.T) {
	t.Parallel()
	db, _ := opened(t)
	archive := archived(t, db)
	if err := archive.Quiet(t.Context()); err != nil {
		t.Fatal(err)
	}
	process := store.Process{ID: parley.NewID(), Name: "web-1:4711"}
	if err := db.RegisterProcess(t.Context(), process, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := archive.Quiet(t.Context()); refusal(t, err) != parley.CodeConflict {
		t.Errorf("with a live server: %v", err)
	}
	if err := db.ReleaseProcess(t.Context(), process.ID); err != nil {
		t.Fatal(err)
	}
	if err := archive.Quiet(t.Context()); err != nil {
		t.Errorf("after it stopped: %v", err)
	}
}

// TestServersRefuseUnfinishedCopies: only a copy opens a half-copied database.
func TestServersRefuseUnfinishedCopies(t *testing.T) {
	t.Parallel()
	store, url := opened(t)
	archive := archived(t, store)
	if err := archive.Begin(t.Context(), transfer.Progress{Table: "workspaces"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), url, Options{}); refusal(t, err) != parley.CodeConflict {
		t.Errorf("a server opened it: %v", err)
	}
	openedAt(t, url, Options{Copying: true})
	if err := archive.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	openedAt(t, url, Options{})
}

// TestCopyAsAnotherRole: a role that may only become Parley's roles may copy from a database, and is told which role
// may copy into it.
func TestCopyAsAnotherRole(t *testing.T) {
	t.Parallel()
	_, url := opened(t)
	cluster := databases.Cluster(t)
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		"postgres",
		"CREATE ROLE reader LOGIN NOINHERIT",
		"GRANT CONNECT ON DATABASE "+config.Database+" TO reader",
		"GRANT parley_tenant, parley_system TO reader",
	); err != nil {
		t.Fatal(err)
	}
	archive := archived(t, openedAt(t, cluster.URL("reader", config.Database), Options{}))
	for _, table := range transfer.Tables {
		if _, err := archive.Count(t.Context(), table); err != nil {
			t.Error(err)
		}
	}
	if err := archive.Begin(
		t.Context(),
		transfer.Progress{Table: "workspaces"},
	); refusal(
		t,
		err,
	) != parley.CodeForbidden {
		t.Errorf("got %v", err)
	}
}

// TestPurgeIsComplete: deleted sessions leave no row in any table.
func TestPurgeIsComplete(t *testing.T) {
	t.Parallel()
	store, _ := opened(t)
	archive := archived(t, store)
	storetest.Purge(t, store, func() map[string]int64 {
		rows := map[string]int64{}
		for _, table := range append(slices.Clone(transfer.Tables), tables.Table{Name: "search_logs"},
			tables.Table{Name: "search_rows"}) {
			n, err := archive.Count(t.Context(), table)
			if err != nil {
				t.Fatal(err)
			}
			rows[table.Name] = n
		}
		return rows
	})
}

// TestRedelivery repeats rows of the outbox.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	db, url := opened(t)
	conn := connected(t, url)
	run := func(statements ...string) func() {
		return func() {
			for _, statement := range statements {
				if _, err := conn.Exec(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	run("SET ROLE parley_system")()
	const columns = "workspace_id, kind, target_id, created_at, due_at, payload"
	storetest.Redelivery(t, db, storetest.OutboxRows{
		Keep: run("DROP TABLE IF EXISTS kept_errands",
			"CREATE TEMPORARY TABLE kept_errands AS SELECT "+columns+" FROM parley.outbox"),
		Repeat: run(
			"INSERT INTO parley.outbox (" + columns + ") SELECT workspace_id, kind, target_id, created_at, 0, " +
				"payload FROM kept_errands",
		),
		Age:   run("UPDATE parley.outbox SET payload = NULL"),
		Spoil: run("UPDATE parley.outbox SET payload = '{' WHERE payload IS NOT NULL"),
		Mend: run("UPDATE parley.outbox o SET payload = k.payload, due_at = 0 FROM kept_errands k " +
			"WHERE o.payload = '{' AND k.kind = o.kind AND k.target_id = o.target_id"),
		Hurry: func() (rest int64) {
			if err := conn.QueryRow(t.Context(), `WITH hurried AS (
 UPDATE parley.outbox SET due_at = 0 WHERE kind = 'deliver_delegation')
 SELECT max(due_at) - parley.now_ms() FROM parley.outbox WHERE kind = 'deliver_delegation'`).
				Scan(&rest); err != nil {
				t.Fatal(err)
			}
			return rest
		},
		Left: func(kind string, target parley.ID) (n int64) {
			if err := conn.QueryRow(
				t.Context(),
				"SELECT count(*) FROM parley.outbox WHERE kind = $1 AND target_id = $2",
				kind,
				target.String(),
			).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	})
}
