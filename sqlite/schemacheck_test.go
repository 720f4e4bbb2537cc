package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/sqlschema"
)

// TestSchemaHash: the constant matches what the migrations create.
func TestSchemaHash(t *testing.T) {
	objects, err := migratedSchema(t.Context(), func(int64) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	if hash := sqlschema.Hash(objects); hash != schemaHash {
		t.Errorf("the migrations create a schema of %d objects with the hash\n%s; run make generate",
			len(objects), hash)
	}
}

// foreign are changes of a schema, with the words that must name each.
var foreign = map[string]struct{ statement, names string }{
	"a trigger": {"CREATE TRIGGER t AFTER INSERT ON audit BEGIN UPDATE principals SET role = 'admin'; END",
		`the trigger "t" on "audit" was not made by Parley`},
	// Reading it would run what it says: forever, or so long that nobody waits for the check.
	"a view of versions": {"ALTER TABLE goose_db_version RENAME TO kept; CREATE VIEW goose_db_version AS " +
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) " +
		"SELECT i AS id, 1 AS version_id, 1 AS is_applied, 0 AS tstamp FROM n",
		`the view "goose_db_version" was not made by Parley`},
	"virtual versions": {"DROP TABLE goose_db_version; CREATE VIRTUAL TABLE goose_db_version USING " +
		"fts5(id, version_id, is_applied, tstamp)", `the table "goose_db_version" was not made by Parley`},
	"computed versions": {"ALTER TABLE goose_db_version ADD COLUMN more AS (zeroblob(1000000000))",
		`the table "goose_db_version" is not as Parley made it`},
	"a virtual table of a name left out": {"CREATE VIRTUAL TABLE _litestream_seq USING fts5(id)",
		`the table "_litestream_seq" was not made by Parley`},
	"a trigger on a table left out": {
		"CREATE TRIGGER goose_db_version AFTER INSERT ON goose_db_version BEGIN SELECT 1; END",
		`the trigger "goose_db_version" was not made`,
	},
	"a trigger of the same name": {
		"DROP TRIGGER audit_waits; CREATE TRIGGER audit_waits AFTER INSERT ON audit BEGIN SELECT 1; END",
		`the trigger "audit_waits" on "audit" is not as Parley made it`,
	},
	"no trigger": {"DROP TRIGGER audit_stays", `the trigger "audit_stays" on "audit" is missing`},
	"a view":     {"CREATE VIEW v AS SELECT * FROM keys", `the view "v" was not made by Parley`},
	"a view for a table": {"ALTER TABLE rates RENAME TO kept; CREATE VIEW rates AS SELECT * FROM kept",
		`"kept" was not made by Parley`},
	"a column": {
		"ALTER TABLE principals ADD COLUMN more AS ('admin')",
		`the table "principals" is not as Parley made it`,
	},
	"an index": {
		"CREATE UNIQUE INDEX one ON sessions (workspace_id)",
		`the index "one" on "sessions" was not made by Parley`,
	},
	"a table": {"CREATE TABLE mine (n INTEGER)", `the table "mine" was not made by Parley`},
	"a hidden comma": {"PRAGMA writable_schema = 1; " +
		"UPDATE sqlite_schema SET sql = replace(sql, 'role ', '\"ro,le\" TEXT, role ') WHERE name = 'principals'",
		`the table "principals" is not as Parley made it`},
}

// TestAForeignSchemaIsRefused: a backup, a restore and a start refuse it; a running store reports it when checking its
// pages.
func TestAForeignSchemaIsRefused(t *testing.T) {
	w := newWorld(t, Options{})
	w.plainTurn(w.session(nil).ID, "the answer")
	good := w.backedUp()
	for name, change := range foreign {
		t.Run(name, func(t *testing.T) {
			told := func(how string, err error) {
				t.Helper()
				if parley.ErrorCode(err) != parley.CodeUnavailable || !strings.Contains(err.Error(), change.names) {
					t.Errorf("%s: %v; want %s", how, err, change.names)
				}
			}
			dir := t.TempDir()
			if _, err := Restore(t.Context(), good, dir, RestoreOptions{}); err != nil {
				t.Fatal(err)
			}
			store, err := Open(t.Context(), dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if table, findings, err := store.CheckPages(
				t.Context(),
				"",
			); err != nil || table == "" ||
				len(findings) > 0 {
				t.Errorf("before: %q, %+v, %v", table, findings, err)
			}
			path := filepath.Join(dir, DatabaseFile)
			changedBySQL(t, path, change.statement)
			_, findings, err := store.CheckPages(t.Context(), "")
			named := func(f parley.Finding) bool { return strings.Contains(f.Says, change.names) }
			if err != nil || !slices.ContainsFunc(findings, named) {
				t.Errorf("while it runs: %+v, %v", findings, err)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), dir, Options{})
			told("starting", err)
			_, err = Backup(t.Context(), dir, filepath.Join(t.TempDir(), "backup.db"), nil)
			told("backup", err)
			elsewhere := t.TempDir()
			_, err = Restore(t.Context(), path, elsewhere, RestoreOptions{})
			told("restore", err)
			if _, err := os.Lstat(filepath.Join(elsewhere, DatabaseFile)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("restored nevertheless: %v", err)
			}
		})
	}
}

// TestAForeignTriggerDoesNotRunInAMigration: the schema is also compared before pending migrations.
func TestAForeignTriggerDoesNotRunInAMigration(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, DatabaseFile)
	old := []string{
		"CREATE TRIGGER t AFTER INSERT ON goose_db_version BEGIN UPDATE workspaces SET name = 'Eve'; END",
		"DROP INDEX sessions_owner; DROP INDEX blobs_size; DROP INDEX files_owner",
		"ALTER TABLE keys DROP COLUMN max_sessions", "ALTER TABLE keys DROP COLUMN max_storage",
		"DELETE FROM goose_db_version WHERE version_id = 27",
	}
	changedBySQL(t, path, strings.Join(old, ";"))
	if _, err := Open(t.Context(), w.dir, Options{}); err == nil || !strings.Contains(err.Error(), `the trigger "t"`) {
		t.Errorf("opened: %v", err)
	}
	c, err := openConn(t.Context(), dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	if ran, err := c.has("SELECT 1 FROM workspaces WHERE name = 'Eve'"); err != nil || ran {
		t.Errorf("the trigger ran: %v, %v", ran, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}

// changedBySQL changes a database like a person with sqlite3.
func changedBySQL(t *testing.T, path, statements string) {
	t.Helper()
	c, err := openConn(t.Context(), dsn(path), "PRAGMA busy_timeout = 5000")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.run(statements); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
}
