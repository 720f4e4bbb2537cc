package postgres

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"

	"example.org/parley"
)

// Bounds of a diagnosis.
const (
	oldestServer   = 150000          // as server_version_num
	listenPatience = 2 * time.Second // how long to wait for a notification
	probeChannel   = "parley_probe"
)

// Condition describes a database before a server uses it.
type Condition struct {
	Server       string // version, as the server spells it
	TooOld       bool
	Role         string // role of the URL
	Superuser    bool
	BypassesRows bool
	Inherits     bool     // inherits the rights of Parley's roles, without SET ROLE
	Schema       Schema   // Missing lists statements for somebody with more rights
	Open         []string // statements that keep other roles of the server out of the database; empty: they are out
	ClockOffset  time.Duration
	Unheard      error // why notifications do not arrive through Options.ListenURL; nil: they do
}

// Diagnose examines a database without changing it. An error means that it cannot be reached or read.
func Diagnose(ctx context.Context, url string, options Options) (Condition, error) {
	direct := options.ListenURL
	if direct == "" {
		direct = url
	}
	files, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return Condition{}, err
	}
	m, err := newMigrator(direct, files, slog.New(slog.DiscardHandler))
	if err != nil {
		return Condition{}, err
	}
	c, err := m.diagnose(ctx)
	if err = errors.Join(err, m.db.Close()); err != nil {
		return c, mapError(err)
	}
	conn, err := dial(ctx, url)
	if err != nil {
		return c, err
	}
	err = c.ask(ctx, conn, direct)
	return c, errors.Join(mapError(err), conn.Close(context.WithoutCancel(ctx)))
}

func (m *migrator) diagnose(ctx context.Context) (c Condition, err error) {
	if c.Schema, err = m.inspect(ctx); err != nil {
		return c, err
	}
	role, err := m.role(ctx)
	c.Role, c.Superuser, c.BypassesRows, c.TooOld = role.name, role.superuser, role.bypassesRows,
		role.version < oldestServer
	c.Open = role.closing()
	c.Inherits = role.inherits && role.version < inheritOption
	return c, err
}

func dial(ctx context.Context, url string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, errNoURL()
	}
	settle(config)
	conn, err := connect(ctx, config)
	return conn, mapError(err)
}

// ask finds out what only a connection through the URL itself can tell.
func (c *Condition) ask(ctx context.Context, conn *pgx.Conn, direct string) error {
	asked := time.Now()
	var now int64
	if err := conn.QueryRow(ctx,
		"SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint").
		Scan(&c.Server, &now); err != nil {
		return err
	}
	c.ClockOffset = time.UnixMilli(now).Sub(asked.Add(time.Since(asked) / 2)).Round(time.Millisecond)
	c.Unheard = hears(ctx, conn, direct)
	return nil
}

// hears reports whether a notification sent through one connection arrives at another. A pooler in transaction mode
// accepts LISTEN but delivers nothing.
func hears(ctx context.Context, sender *pgx.Conn, direct string) (err error) {
	ctx, stop := context.WithTimeout(ctx, listenPatience)
	defer stop()
	listener, err := dial(ctx, direct)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listener.Close(context.WithoutCancel(ctx))) }()
	if _, err := listener.Exec(ctx, "LISTEN "+probeChannel); err != nil {
		return mapError(err)
	}
	token := parley.NewID().String()
	if _, err := sender.Exec(ctx, "SELECT pg_notify($1, $2)", probeChannel, token); err != nil {
		return mapError(err)
	}
	for {
		heard, err := listener.WaitForNotification(ctx)
		switch {
		case ctx.Err() != nil:
			return parley.Errorf(
				parley.CodeUnavailable,
				"no notification arrived within %s: LISTEN does not work through a pooler in transaction mode",
				listenPatience,
			)
		case err != nil:
			return mapError(err)
		case heard.Payload == token:
			return nil
		}
	}
}
