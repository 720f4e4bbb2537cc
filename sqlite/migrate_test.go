package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pressly/goose/v3"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/store/storetest"
)

// TestOrdinals: a migration numbers existing turns and calls in the order of their creation.
func TestOrdinals(t *testing.T) {
	w := newWorld(t, Options{})
	sessions := []parley.ID{w.session(nil).ID, w.session(nil).ID}
	for range 3 {
		for _, session := range sessions {
			w.plainTurn(session, "answer")
		}
	}
	list := func() (listed []parley.ID) {
		for _, session := range sessions {
			turns, err := w.store.Turns(context.Background(), w.scope, session, store.TurnQuery{Ascending: true})
			if err != nil {
				t.Fatal(err)
			}
			calls, err := w.store.Calls(context.Background(), w.scope, session, store.CallQuery{Ascending: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range turns {
				listed = append(listed, turns[i].ID, calls[i].ID)
			}
		}
		return listed
	}
	before := list()
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.dir, DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(Options{})
	if after := list(); len(before) != 12 || !slices.Equal(before, after) {
		t.Errorf("%d turns and calls were listed as %v, and after the migration as %v", len(before), before, after)
	}
	// Migrating down forgets each row's version of the hash chain.
	if db, err = sql.Open("sqlite", filepath.Join(w.dir, DatabaseFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(
		context.Background(),
		"UPDATE messages SET chain_version = ?",
		parley.ChainVersion,
	); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	w.register()
	w.plainTurn(sessions[0], "one more")
	w.invariants()
}

// TestToolSessionsOfPrivateSessionsBecomePrivate: a directory of the previous release may have tool sessions that are
// more visible than their parents.
func TestToolSessionsOfPrivateSessionsBecomePrivate(t *testing.T) {
	w := newWorld(t, Options{})
	below := func(parent parley.ID, kind parley.SessionKind) parley.ID {
		return w.session(func(s *parley.Session) { s.ParentSessionID, s.Kind = parent, kind }).ID
	}
	root := w.session(nil).ID
	child := below(root, parley.KindTool)
	grandchild := below(child, parley.KindTool)
	fork := below(root, parley.KindAgent)
	shared := w.session(func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace }).ID
	helper := below(shared, parley.KindTool)
	if err := w.store.write(t.Context(), func(tx *txn) error {
		for _, id := range []parley.ID{child, grandchild, fork, helper} {
			if _, err := tx.exec("UPDATE sessions SET visibility = 'workspace' WHERE id = ?", id); err != nil {
				return err
			}
		}
		_, err := tx.exec("DELETE FROM goose_db_version WHERE version_id = 30")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(Options{})
	for id, want := range map[parley.ID]parley.Visibility{
		root: parley.VisibilityPrivate, child: parley.VisibilityPrivate, grandchild: parley.VisibilityPrivate,
		fork: parley.VisibilityWorkspace, shared: parley.VisibilityWorkspace, helper: parley.VisibilityWorkspace,
	} {
		if session, err := w.store.Session(t.Context(), w.scope, id); err != nil || session.Visibility != want {
			t.Errorf("%s is %s, want %s: %v", id, session.Visibility, want, err)
		}
	}
}

// TestKeysOfTheFormerForm: both kinds of keys find their sessions after the migration that separates them.
func TestKeysOfTheFormerForm(t *testing.T) {
	w := newWorld(t, Options{})
	keyed := func(key, kind, feature, task string) parley.ID {
		return w.session(func(s *parley.Session) { s.Key, s.Type, s.Feature, s.Task = key, kind, feature, task }).ID
	}
	odd := "a \"b\" \\ \t \x01 é \u2028 🚀"
	want := map[string]parley.ID{
		parley.KeyFor("dev", "login", ""):    keyed(parley.KeyFor("dev", "login", ""), "dev", "login", ""),
		parley.KeyFor("dev", odd, odd):       keyed(parley.KeyFor("dev", odd, odd), "dev", odd, odd),
		parley.OpaqueKey(`["col","x"]`):      keyed(`["col","x"]`, "", "", ""),
		parley.OpaqueKey(`\["col","x"]`):     keyed(`\["col","x"]`, "", "", ""),
		parley.OpaqueKey(`["dev","logout"]`): keyed(`["dev","logout"]`, "dev", "login", ""),
		parley.OpaqueKey(`[1]`):              keyed(`[1]`, "", "", ""),
		parley.OpaqueKey("plain"):            keyed("plain", "", "", ""),
	}
	if err := w.store.write(t.Context(), func(tx *txn) error {
		_, err := tx.exec("DELETE FROM goose_db_version WHERE version_id = 38")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(Options{})
	for key, id := range want {
		if session, err := w.store.SessionByKey(t.Context(), w.scope, key); err != nil || session.ID != id {
			t.Errorf("%q finds %s, want %s: %v", key, session.ID, id, err)
		}
	}
}

// TestTransformsFromBeforeEdits: the migration that makes room for edits keeps every transform as it was, and its
// versions without an edit; the way back leaves no edits.
func TestTransformsFromBeforeEdits(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	open := func() *Store {
		db, err := Open(ctx, dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	s := open()
	scope := storetest.Fill(t, s, 1).Scope
	list := func(s *Store) (found map[parley.TransformKind][]parley.Transform) {
		found = map[parley.TransformKind][]parley.Transform{}
		page, err := s.Transforms(ctx, scope, store.TransformQuery{Limit: parley.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			found[page[i].Kind] = append(found[page[i].Kind], page[i])
		}
		return found
	}
	before := list(s)
	if len(before[parley.TransformEdit]) == 0 || len(before[parley.TransformGeneration]) == 0 {
		t.Fatalf("the store holds %v", before)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.DownTo(ctx, 66); err != nil {
		t.Fatal(err)
	}
	var edits, outputs, named int
	if err := errors.Join(
		db.QueryRowContext(ctx, "SELECT count(*) FROM transforms WHERE session_id IS NULL").Scan(&edits),
		db.QueryRowContext(ctx, "SELECT count(*) FROM transform_outputs WHERE transform_id NOT IN "+
			"(SELECT id FROM transforms)").Scan(&outputs),
		db.QueryRowContext(ctx, "SELECT count(*) FROM artifact_versions WHERE transform_id NOT IN "+
			"(SELECT id FROM transforms)").Scan(&named),
		db.Close(),
	); err != nil || edits+outputs+named != 0 {
		t.Errorf("on the way back %d edits, %d of their outputs and %d versions are left: %v", edits, outputs, named,
			err)
	}
	s = open()
	delete(before, parley.TransformEdit)
	if diff := cmp.Diff(before, list(s)); diff != "" {
		t.Errorf("the transforms (-before +after):\n%s", diff)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedMigration: a directory opens even if a process died between creating the version table and the first
// migration.
func TestInterruptedMigration(t *testing.T) {
	dir := t.TempDir()
	store := &Store{path: filepath.Join(dir, DatabaseFile)}
	connection, err := store.connect(context.Background(), readCacheKiB)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, " +
			"is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		"INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)",
		"BEGIN", "CREATE TABLE workspaces (id BLOB PRIMARY KEY)", // and here it died
	} {
		if _, err := connection.run(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := connection.close(); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir}
	w.open(Options{})
	if _, err := w.store.Workspace(context.Background(), "default"); err != nil {
		t.Fatal(err)
	}
}

// TestLateMigration: a migration added after a later one is applied to a directory that already has the later one.
func TestLateMigration(t *testing.T) {
	w := newWorld(t, Options{})
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(w.dir, DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.ApplyVersion(t.Context(), 4, false); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	store, err := Open(t.Context(), w.dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Loop(t.Context(), w.scope, parley.NewID()); parley.ErrorCode(err) != parley.CodeNotFound {
		t.Errorf("reading from the late table: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestNewDatabasesEqualMigratedOnes: a new database is created from one text, and equals what goose would have created
// with one migration after the other.
func TestNewDatabasesEqualMigratedOnes(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), DatabaseFile)
	if err := migrate(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	migrated := filepath.Join(t.TempDir(), DatabaseFile)
	db, err := sql.Open("sqlite", migrated)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := migrationTexts()
	if err != nil {
		t.Fatal(err)
	}
	steps := make([]*goose.Migration, len(texts))
	for i, text := range texts { // goose itself would cut triggers in pieces
		steps[i] = goose.NewGoMigration(text.version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, text.up)
			return err
		}}, nil)
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithGoMigrations(steps...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everythingIn(t, migrated), everythingIn(t, fresh)); diff != "" {
		t.Errorf("by migrations (-), new (+):\n%s", diff)
	}
}

// everythingIn returns the schema of a database and the rows of all tables, as SQL literals, without the times of the
// migrations.
func everythingIn(t *testing.T, path string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	lines := func(query string) (lines []string) {
		found, err := db.QueryContext(t.Context(), query)
		if err != nil {
			t.Fatal(query, err)
		}
		defer found.Close()
		for found.Next() {
			var line string
			if err := found.Scan(&line); err != nil {
				t.Fatal(query, err)
			}
			lines = append(lines, line)
		}
		if err := found.Err(); err != nil {
			t.Fatal(query, err)
		}
		return lines
	}
	all := map[string][]string{
		"sqlite_schema": lines("SELECT type || ' ' || name || ' ' || tbl_name || ' ' || ifnull(sql, '') " +
			"FROM sqlite_schema ORDER BY type, name"),
		"goose_db_version": lines("SELECT version_id || ' ' || is_applied FROM goose_db_version ORDER BY id"),
	}
	for _, table := range lines("SELECT name FROM sqlite_schema WHERE type = 'table'") {
		if all[table] != nil || table == "sqlite_sequence" || table == "search_words" {
			continue
		}
		columns := lines("SELECT 'quote(\"' || name || '\")' FROM pragma_table_info('" + table + "') ORDER BY cid")
		all[table] = lines("SELECT " + strings.Join(columns, " || ', ' || ") + " FROM \"" + table + "\" ORDER BY 1")
	}
	return all
}
