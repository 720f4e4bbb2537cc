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
	lockSeconds  = 600            // how long a process waits while another one migrates
	// how long a migration, and everybody behind it, waits for a table in use before it lets them pass
	lockPatience = "'2s'"
	lockTries    = 30          // attempts of a migration
	lockPause    = time.Second // pause between attempts
	stateNoLock  = "55P03"
)

// Migration is one step of the schema.
type Migration struct {
	Version   int64
	Name      string    // of the file
	AppliedAt time.Time // zero: pending
	SQL       string    // statements that it runs
}

// Schema is the state of a database's schema.
type Schema struct {
	Version        int64       // of the database; 0: none of Parley's schema
	CompatibleFrom int64       // programs that know this version or a later one can use it
	Known          int64       // the newest version of this program
	Migrations     []Migration // of this program, in order
	// Missing are statements that somebody with more rights than the URL's role must run before the schema can be
	// created.
	Missing []string
}

// Pending returns the migrations that the database lacks, including those added after later ones.
func (s *Schema) Pending() (pending []Migration) {
	for _, m := range s.Migrations {
		if m.AppliedAt.IsZero() {
			pending = append(pending, m)
		}
	}
	return pending
}

// Migrations reads the state of a database's schema. It changes nothing.
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

// Migrate brings the schema of a database up to date and returns what it applied. Each migration has its own
// transaction, so an interrupted one runs again; one process migrates at a time, others wait. It leaves a newer schema
// unchanged if this program may use it. CodeUnavailable if it may not, or if the role lacks rights. The URL must reach
// the database without a pooler.
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

// migrator migrates one database.
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
			register(conn)
			_, err := conn.Exec(
				ctx,
				"SET lock_timeout = "+lockPatience,
			) // everybody waits behind a waiting migration
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

// locked runs something while no other process migrates, after creating what the first migration needs: the roles and
// the schema. goose would create its table before taking the lock, so the lock is taken here.
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
		before, err := m.inspect(ctx) // another process may have migrated first
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

// apply runs the pending migrations, and repeats those that gave way to running transactions because a table was in use
// too long or locks collided.
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

// readVersions reads the applied migrations, in a transaction that may change its role.
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

// upPart returns the upward part of a migration's file.
func upPart(text string) string {
	_, text, _ = strings.Cut(text, "-- +goose Up\n")
	text, _, _ = strings.Cut(text, "-- +goose Down")
	return strings.TrimSpace(text) + "\n"
}

// role finds out what the URL's role is.
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
