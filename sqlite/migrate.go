package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

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
func migrate(ctx context.Context, file string) (err error) {
	dsn := dsn(file)
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
	steps, err := migrationTexts()
	if err != nil {
		return err
	}
	if made, err := makeSchema(ctx, db, steps); err != nil || made {
		return err
	}
	if err := checkVersionsAt(ctx, file); err != nil {
		return err
	}
	pending, current, err := pendingOf(ctx, db, steps)
	if err != nil {
		return err
	}
	if target := steps[len(steps)-1].version; current > target {
		return parley.Errorf(
			parley.CodeUnavailable,
			"this data was written by a newer Parley (schema %d; this one knows %d): install that version or a later "+
				"one, or choose another directory with PARLEY_DATA",
			current,
			target,
		)
	}
	if len(pending) == 0 {
		return nil
	}
	// Check the schema first: a foreign trigger would run when a migration changes rows.
	if err := checkSchemaAt(ctx, file); err != nil {
		return err
	}
	for _, step := range pending {
		if err := within(ctx, db, func(tx *sql.Tx) error { return step.apply(ctx, tx, step.up) }); err != nil {
			return fmt.Errorf("sqlite: migration %d: %w", step.version, err)
		}
	}
	return nil
}

// makeVersions creates goose's table of versions, in goose's words.
const makeVersions = `CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	)`

// pendingOf returns the migrations that a database lacks, including those added after later ones, and its newest
// version. A database without goose's table lacks all of them and gets the table.
func pendingOf(
	ctx context.Context,
	db *sql.DB,
	steps []migrationText,
) (pending []migrationText, newest int64, err error) {
	var has bool
	if err := db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'goose_db_version'").
		Scan(&has); err != nil {
		return nil, 0, err
	}
	if !has {
		create := func(tx *sql.Tx) error { return migrationText{}.apply(ctx, tx, makeVersions) }
		if err := within(ctx, db, create); err != nil {
			return nil, 0, err
		}
	}
	rows, err := db.QueryContext(ctx, "SELECT version_id FROM goose_db_version")
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	applied := map[int64]bool{}
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return nil, 0, err
		}
		applied[version], newest = true, max(newest, version)
	}
	for _, step := range steps {
		if !applied[step.version] {
			pending = append(pending, step)
		}
	}
	return pending, newest, rows.Err()
}

// within runs something in a transaction.
func within(ctx context.Context, db *sql.DB, run func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := run(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// makeSchema creates the schema of an empty database in one transaction and records the migrations as applied. It
// returns false if the database is not empty.
func makeSchema(ctx context.Context, db *sql.DB, steps []migrationText) (bool, error) {
	var objects int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil || objects > 0 {
		return false, err
	}
	return true, within(ctx, db, func(tx *sql.Tx) error {
		if err := (migrationText{}).apply(ctx, tx, newSchema+makeVersions); err != nil { // goose starts at version 0
			return err
		}
		for _, step := range steps {
			if err := step.apply(ctx, tx, ""); err != nil {
				return err
			}
		}
		return nil
	})
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
		digits, _, _ := strings.Cut(path.Base(name), "_")
		version, err := strconv.ParseInt(digits, 10, 64)
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

// apply runs statements in a transaction and records the migration as applied. The driver takes the statements of a
// file as they are.
func (m migrationText) apply(ctx context.Context, tx *sql.Tx, statements string) error {
	record := fmt.Sprintf("; INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1)", m.version)
	_, err := tx.ExecContext(ctx, statements+record)
	return err
}
