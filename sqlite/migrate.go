package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	driver "modernc.org/sqlite"

	"example.org/parley"
)

//go:embed migrations/*.sql
var migrations embed.FS

// newSchema creates the schema that the migrations create in an empty database; a test compares the two.
//
//go:embed schema.sql
var newSchema string

// connectionPragmas returns the settings of a connection. synchronous=FULL makes commits durable before they are
// reported.
func connectionPragmas(cache int) []string {
	return []string{
		"PRAGMA busy_timeout = " + strconv.Itoa(busyTimeoutMS),
		"PRAGMA synchronous = FULL",
		"PRAGMA temp_store = MEMORY",
		"PRAGMA cache_size = -" + strconv.Itoa(cache),
		"PRAGMA wal_autocheckpoint = " + strconv.Itoa(checkpointPages),
		"PRAGMA journal_size_limit = " + strconv.Itoa(logBytes),
	}
}

// The write-ahead log is moved into the database at this many pages, and truncated to this many bytes when it restarts.
const (
	checkpointPages = 4000
	logBytes        = 32 << 20
)

// migrate brings the schema up to date, each migration in its own transaction: an interrupted one runs again. The
// caller holds the directory's lock. CodeUnavailable for a schema that this binary does not know.
func migrate(ctx context.Context, path string) (err error) {
	dsn := dsn(path)
	connector, err := driver.NewConnector(dsn)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, pragma := range []string{"PRAGMA busy_timeout = " + strconv.Itoa(busyTimeoutMS), "PRAGMA journal_mode = WAL",
		"PRAGMA synchronous = FULL"} {
		if _, err := db.ExecContext(ctx, pragma); err != nil {
			return fmt.Errorf("sqlite: %s: %w", pragma, err)
		}
	}
	steps, err := upward()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(
		goose.DialectSQLite3,
		db,
		nil,
		goose.WithGoMigrations(steps...),
		goose.WithAllowOutofOrder(true),
	)
	if err != nil {
		return err
	}
	if made, err := makeSchema(ctx, db, steps); err != nil || made {
		return err
	}
	if err := checkVersionsAt(ctx, path); err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return parley.Errorf(
			parley.CodeUnavailable,
			"this data was written by a newer Parley (schema %d; this one knows %d): install that version or a later "+
				"one, or choose another directory with PARLEY_DATA",
			current,
			target,
		)
	}
	// Check them all, not just the last: an older one may have been added later.
	pending, err := provider.HasPending(ctx)
	if err != nil || !pending {
		return err
	}
	// Check the schema first: a foreign trigger would run when a migration changes rows.
	if err := checkSchemaAt(ctx, path); err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// makeSchema creates the schema of an empty database in one transaction and records the migrations as applied. It
// returns false if the database is not empty.
func makeSchema(ctx context.Context, db *sql.DB, steps []*goose.Migration) (bool, error) {
	var objects int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil || objects > 0 {
		return false, err
	}
	versions, err := database.NewStore(goose.DialectSQLite3, goose.DefaultTablename)
	if err != nil {
		return false, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback() }() // nothing after a commit
	if _, err := tx.ExecContext(ctx, newSchema); err != nil {
		return false, err
	}
	if err := versions.CreateVersionTable(ctx, tx); err != nil {
		return false, err
	}
	if err := versions.Insert(ctx, tx, database.InsertRequest{}); err != nil { // goose starts at version 0
		return false, err
	}
	for _, step := range steps {
		if err := versions.Insert(ctx, tx, database.InsertRequest{Version: step.Version}); err != nil {
			return false, err
		}
	}
	return true, tx.Commit()
}

// checkVersionsAt refuses a database whose table of versions is something else, before anybody reads it.
func checkVersionsAt(ctx context.Context, path string) error {
	return readAt(ctx, path, func(c *conn) error {
		_, err := versionsTable(c, path)
		return err
	})
}

// checkSchemaAt is checkSchema over its own connection.
func checkSchemaAt(ctx context.Context, path string) error {
	return readAt(ctx, path, func(c *conn) error { return checkSchema(ctx, c, path) })
}

// readAt reads over a connection of its own.
func readAt(ctx context.Context, path string, read func(c *conn) error) (err error) {
	c, err := openConn(ctx, dsn(path), "PRAGMA busy_timeout = "+strconv.Itoa(busyTimeoutMS), "PRAGMA query_only = 1")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return read(c)
}

// migrationText is the upward part of a migration.
type migrationText struct {
	version int64
	up      string
}

// migrationTexts returns the upward parts of the migrations, in order.
func migrationTexts() ([]migrationText, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	texts := make([]migrationText, len(names))
	for i, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		texts[i] = migrationText{version: version, up: up}
	}
	return texts, nil
}

// upward returns the migrations, each for one transaction. goose could read the files itself, but with a buffer of 4
// MiB for each direction: as much again as everything else that a starting server allocates, and counted as in use
// until the collector's second run. The driver takes the statements of a file as they are.
func upward() ([]*goose.Migration, error) {
	texts, err := migrationTexts()
	if err != nil {
		return nil, err
	}
	steps := make([]*goose.Migration, len(texts))
	for i, text := range texts {
		steps[i] = goose.NewGoMigration(text.version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, text.up)
			return err
		}}, nil)
	}
	return steps, nil
}
