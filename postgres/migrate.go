package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"example.org/parley"
)

//go:embed migrations/*.sql
var embedded embed.FS

const (
	versionTable = "parley.goose_db_version"
	lockID       = 0x7061726c6579 // "parley": the advisory lock of migrations
	lockSeconds  = 600            // how long a process waits for another one that migrates
	// how long a migration waits for a table in use, and everybody behind it; then it lets them pass
	lockPatience = "'2s'"
	lockTries    = 30          // and comes again this often
	lockPause    = time.Second // after this
	stateNoLock  = "55P03"
)

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string    // of its file
	AppliedAt time.Time // zero: pending
	SQL       string    // what it runs
}

// Schema is where a database stands.
type Schema struct {
	Version        int64       // of the database; 0: it has none of Parley's
	CompatibleFrom int64       // programs that know this version, or a later one, work on it
	Known          int64       // the newest version of this program
	Migrations     []Migration // of this program, in order
	// Missing are statements that somebody with more rights than the URL's role
	// has to run before the schema can be made.
	Missing []string
}

// Pending are the migrations that the database lacks, also those that came to the
// program behind later ones.
func (s *Schema) Pending() (pending []Migration) {
	for _, m := range s.Migrations {
		if m.AppliedAt.IsZero() {
			pending = append(pending, m)
		}
	}
	return pending
}

// Migrations reads where the schema of a database stands. It changes nothing.
func Migrations(ctx context.Context, url string) (Schema, error) {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return Schema{}, err
	}
	m, err := newMigrator(url, files, slog.New(slog.DiscardHandler))
	if err != nil {
		return Schema{}, err
	}
	schema, err := m.inspect(ctx)
	return schema, errors.Join(mapError(err), m.db.Close())
}

// Migrate brings the schema of a database up to date and returns what it
// applied: each migration in a transaction of its own, so that an interrupted one
// runs again; one process at a time, the others wait. A newer schema that this
// program may work on is left as it is; another one is CodeUnavailable, as is a
// role that may do too little. The URL must reach the database without a pooler.
func Migrate(ctx context.Context, url string, log *slog.Logger) ([]Migration, error) {
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, err
	}
	return migrate(ctx, url, files, log)
}

func migrate(ctx context.Context, url string, files fs.FS, log *slog.Logger) ([]Migration, error) {
	m, err := newMigrator(url, files, log)
	if err != nil {
		return nil, err
	}
	applied, err := m.up(ctx)
	return applied, errors.Join(mapError(err), m.db.Close())
}

// migrator brings one database to the state that its files describe.
type migrator struct {
	db       *sql.DB
	files    fs.FS
	provider *goose.Provider
	locker   lock.SessionLocker
	log      *slog.Logger
}

func newMigrator(url string, files fs.FS, log *slog.Logger) (*migrator, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errNoURL()
	}
	settle(config)
	m := &migrator{
		files: files,
		log:   log,
		db: stdlib.OpenDB(*config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(
				ctx,
				"SET lock_timeout = "+lockPatience,
			) // behind a migration that waits, everybody waits
			return err
		})),
	}
	m.locker, err = lock.NewPostgresSessionLocker(
		lock.WithLockID(lockID),
		lock.WithLockTimeout(1, lockSeconds),
		lock.WithUnlockTimeout(1, 1),
	)
	if err == nil {
		m.provider, err = goose.NewProvider(
			goose.DialectPostgres,
			m.db,
			files,
			goose.WithTableName(versionTable),
			goose.WithDisableGlobalRegistry(true),
			goose.WithAllowOutofOrder(true),
		)
	}
	if err != nil {
		return nil, errors.Join(err, m.db.Close())
	}
	return m, nil
}

// locked runs something while no other process migrates, after seeing to what has
// to be there before the first migration: the roles and the schema. goose would
// make its table before it takes the lock, so that the lock is taken here.
func (m *migrator) locked(ctx context.Context, run func() error) (err error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if err := m.locker.SessionLock(ctx, conn); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.locker.SessionUnlock(context.WithoutCancel(ctx), conn)) }()
	if err := makeRoles(ctx, conn); err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "CREATE SCHEMA IF NOT EXISTS parley"); err != nil {
		return err
	}
	return run()
}

func (m *migrator) up(ctx context.Context) ([]Migration, error) {
	schema, err := m.inspect(ctx)
	if err != nil {
		return nil, err
	}
	if schema.Version > schema.Known {
		if schema.CompatibleFrom > schema.Known {
			return nil, parley.Errorf(
				parley.CodeUnavailable,
				"this database was changed by a newer Parley (schema %d, for programs that know %d; this one knows "+
					"%d): install that version or a later one",
				schema.Version,
				schema.CompatibleFrom,
				schema.Known,
			)
		}
		m.log.Info(
			"the database's schema is newer than this program, and works with it",
			"schema",
			schema.Version,
			"known",
			schema.Known,
		)
	}
	role, err := m.role(ctx)
	if err != nil {
		return nil, err
	}
	if missing := role.missing(len(schema.Pending()) > 0); len(missing) > 0 {
		return nil, errMissing(role, missing)
	}
	role.warn(m.log)
	if len(schema.Pending()) == 0 {
		return nil, nil
	}
	var applied []Migration
	err = m.locked(ctx, func() error {
		before, err := m.inspect(ctx) // another process may have been first
		if err != nil {
			return err
		}
		if err := m.apply(ctx); err != nil {
			return err
		}
		applied = before.Pending()
		return nil
	})
	if stateOf(err) == statePrivilege {
		return nil, parley.WrapError(
			parley.CodeUnavailable,
			err,
			"the role "+role.name+" may not change the schema parley; migrate as the role that owns it: parley "+
				"migrate up",
		)
	}
	for i := range applied {
		applied[i].AppliedAt = time.Now()
		m.log.Info("migrated", "migration", applied[i].Name)
	}
	return applied, err
}

// apply runs what is pending, and again what had to give way to transactions at
// work: whose table was in use for long, or who stood in each other's way.
func (m *migrator) apply(ctx context.Context) error {
	for try := 1; ; try++ {
		_, err := m.provider.Up(ctx)
		if state := stateOf(err); state != stateNoLock && state != stateDeadlock || try == lockTries {
			return err
		}
		m.log.Info("a migration let others pass and tries again", "error", err)
		timer := time.NewTimer(lockPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// inspect reads the state of the schema without the lock.
func (m *migrator) inspect(ctx context.Context) (schema Schema, err error) {
	for _, source := range m.provider.ListSources() {
		text, err := fs.ReadFile(m.files, source.Path)
		if err != nil {
			return schema, err
		}
		schema.Known = max(schema.Known, source.Version)
		schema.Migrations = append(
			schema.Migrations,
			Migration{Version: source.Version, Name: path.Base(source.Path), SQL: upPart(string(text))},
		)
	}
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return schema, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	role, err := roleOf(ctx, conn)
	if err != nil {
		return schema, err
	}
	if err := readVersions(ctx, conn, &schema); err != nil {
		return schema, err
	}
	schema.Missing = role.missing(len(schema.Pending()) > 0)
	return schema, nil
}

// readVersions reads what was applied, in a transaction for the role that it may need.
func readVersions(ctx context.Context, conn *sql.Conn, schema *Schema) (err error) {
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() {
		if undone := tx.Rollback(); undone != nil && err == nil {
			err = undone
		}
	}()
	var there, own, compatible bool
	if err := tx.QueryRowContext(ctx, `SELECT to_regclass('parley.goose_db_version') IS NOT NULL,
 coalesce((SELECT tableowner = current_user FROM pg_tables WHERE schemaname = 'parley'
  AND tablename = 'goose_db_version'), false),
 to_regclass('parley.compatibility') IS NOT NULL`).Scan(&there, &own, &compatible); err != nil || !there {
		return err
	}
	if !own {
		if _, err := tx.ExecContext(ctx, "SET LOCAL ROLE "+systemRole); err != nil {
			return err
		}
	}
	if err := readApplied(ctx, tx, schema); err != nil || !compatible {
		return err
	}
	return tx.QueryRowContext(ctx, "SELECT compatible_from FROM parley.compatibility").Scan(&schema.CompatibleFrom)
}

func readApplied(ctx context.Context, tx *sql.Tx, schema *Schema) (err error) {
	rows, err := tx.QueryContext(
		ctx,
		"SELECT version_id, max(tstamp) FROM parley.goose_db_version WHERE is_applied AND version_id > 0 "+
			"GROUP BY version_id",
	)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int64
		var at time.Time
		if err := rows.Scan(&version, &at); err != nil {
			return err
		}
		schema.Version = max(schema.Version, version)
		for i := range schema.Migrations {
			if schema.Migrations[i].Version == version {
				schema.Migrations[i].AppliedAt = at
			}
		}
	}
	return rows.Err()
}

// upPart is what a migration's file runs on the way up.
func upPart(text string) string {
	_, text, _ = strings.Cut(text, "-- +goose Up\n")
	text, _, _ = strings.Cut(text, "-- +goose Down")
	return strings.TrimSpace(text) + "\n"
}

// role finds who the URL's role is.
func (m *migrator) role(ctx context.Context) (role loginRole, err error) {
	conn, err := m.db.Conn(ctx)
	if err != nil {
		return role, err
	}
	role, err = roleOf(ctx, conn)
	return role, errors.Join(err, conn.Close())
}

func errMissing(role loginRole, missing []string) error {
	return parley.Errorf(
		parley.CodeUnavailable,
		"the role %s may not make what Parley needs in this database. Have somebody who may run the following, then "+
			"start again:\n\n%s",
		role.name,
		strings.Join(missing, "\n"),
	)
}
