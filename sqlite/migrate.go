package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"

	"parley"
)

//go:embed migrations/*.sql
var migrations embed.FS

// connectionPragmas are the settings of a connection. synchronous=FULL makes a
// commit durable before it is answered.
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

// The write-ahead log is moved into the database when it holds this many pages,
// and cut back to this many bytes when it starts over.
const (
	checkpointPages = 4000
	logBytes        = 32 << 20
)

// migrate brings the schema up to date, each migration in a transaction of its
// own: an interrupted one runs again. The caller holds the directory's lock. A
// schema that this binary does not know is CodeUnavailable.
func migrate(ctx context.Context, dsn string) (err error) {
	connector, err := driver.NewConnector(dsn)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, pragma := range []string{"PRAGMA busy_timeout = " + strconv.Itoa(busyTimeoutMS), "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"} {
		if _, err := db.ExecContext(ctx, pragma); err != nil {
			return fmt.Errorf("sqlite: %s: %w", pragma, err)
		}
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if current > target {
		return parley.Errorf(parley.CodeUnavailable,
			"this data was written by a newer Parley (schema %d; this one knows %d): install that version or a later one, or choose another directory with PARLEY_DATA",
			current, target)
	}
	if current == target {
		return nil
	}
	_, err = provider.Up(ctx)
	return err
}
