package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
)

// bouncerPool is how many connections a bouncer keeps to a database.
const bouncerPool = 10

// Bouncer is a PgBouncer in transaction mode in front of a cluster: a client's successive transactions may use
// different connections.
type Bouncer struct {
	dir    string
	server *guarded
}

// Bouncer starts a PgBouncer in front of the cluster and waits until it responds.
func (c *Cluster) Bouncer() (*Bouncer, error) {
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
		if _, err := os.Stat(program); err != nil {
			return nil, errors.New(
				"pgtest: this test needs PgBouncer: install the package pgbouncer (.ci/prepare does it)",
			)
		}
	}
	dir, err := os.MkdirTemp("", "parley-pgbouncer-")
	if err != nil {
		return nil, err
	}
	b := &Bouncer{dir: dir}
	if err := b.start(c, program); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *Bouncer) start(c *Cluster, program string) error {
	settings := fmt.Sprintf(
		"[databases]\n* = host=%s port=%s\n[pgbouncer]\nunix_socket_dir = %s\nlisten_port = %s\nlisten_addr "+
			"=\nauth_type = trust\n"+
			"auth_file = %s/users\npool_mode = transaction\ndefault_pool_size = %d\nmax_client_conn = 500\nlogfile = "+
			"%s/own-log\n",
		c.dir,
		port,
		b.dir,
		port,
		b.dir,
		bouncerPool,
		b.dir,
	)
	for name, text := range map[string]string{"settings": settings,
		"users": fmt.Sprintf("%q \"\"\n%q \"\"\n", Owner, Superuser)} {
		if err := os.WriteFile(
			filepath.Join(b.dir, name),
			[]byte(text),
			0o644,
		); err != nil { //nolint:gosec // a different user reads it
			return err
		}
	}
	if c.as != nil {
		if err := os.Chown(b.dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
			return err
		}
	}
	shell := c.command("sh", "-c", guarding, "TERM", program, filepath.Join(b.dir, "settings"))
	shell.Dir = b.dir
	var err error
	if b.server, err = guard(shell); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	for {
		connection, err := pgx.Connect(ctx, b.URL(Superuser, "postgres"))
		if err == nil {
			return connection.Close(ctx)
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(b.dir, logFile)) // may be missing; then there is nothing to add
			return fmt.Errorf("pgtest: PgBouncer does not respond: %w\n%s", err, log)
		case <-time.After(askAgain):
		}
	}
}

// URL returns the address of a database of the cluster, for a role, through the bouncer.
func (b *Bouncer) URL(role, database string) string {
	return "postgres://" + role + "@/" + database + "?host=" + b.dir + "&port=" + port
}

// Close ends the bouncer and removes its files.
func (b *Bouncer) Close() error {
	return errors.Join(b.server.stop(), os.RemoveAll(b.dir))
}
