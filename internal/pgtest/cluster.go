// Package pgtest starts throwaway PostgreSQL servers for tests and benchmarks: from the installed
// binaries, each in its own directory and reachable only through a Unix socket, so nothing has to
// be configured and nothing is left behind. It knows nothing about Parley's schema.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// Superuser is the role that created the cluster. Owner is an ordinary role that may create roles and owns every
	// database of Database, as Parley requires.
	Superuser = "postgres"
	Owner     = "parley"

	port       = "5432"           // part of the socket's name
	startBound = 60 * time.Second // to respond, even after an immediate stop
	askAgain   = 20 * time.Millisecond

	sharedMemory = "/dev/shm"
	roomInMemory = 6 << 30 // bytes; several clusters run concurrently
)

// Options of a cluster; the zero value is fast and loses everything when the machine stops.
type Options struct {
	// Bin is the directory of initdb and postgres. Empty: PARLEY_PG_BIN, or else the newest of
	// /usr/lib/postgresql/*/bin.
	Bin string
	// Durable keeps the protections of a real server's data: fsync and full page writes.
	Durable bool
	// Settings are further settings of postgresql.conf.
	Settings map[string]string
}

// Cluster is one PostgreSQL server and its data. Close ends it, and so does the death of the process that started it.
type Cluster struct {
	dir     string // has data and, beside it, the socket
	bin     string
	as      *syscall.Credential // nil: this process's own user
	options Options
	server  *guarded // nil while it is stopped
}

// Start creates a cluster and waits until it responds.
func Start(options Options) (*Cluster, error) {
	bin, err := binaries(options.Bin)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(place(options), "parley-pg-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, bin: bin, options: options}
	if err := c.make(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// place returns where a cluster's data goes: into memory if there is room and nothing has to last, otherwise into the
// system's directory for temporary files ("").
func place(options Options) string {
	var memory syscall.Statfs_t
	if options.Durable || syscall.Statfs(sharedMemory, &memory) != nil ||
		memory.Bavail*uint64(memory.Bsize) < roomInMemory { //nolint:gosec // a size of blocks is positive
		return ""
	}
	return sharedMemory
}

func (c *Cluster) make() error {
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		credential, err := unprivileged()
		if err != nil {
			return err
		}
		c.as = credential
		if err := os.Chown(c.dir, int(credential.Uid), int(credential.Gid)); err != nil {
			return err
		}
	}
	initdb := c.command(
		"initdb",
		"-D",
		c.data(),
		"-U",
		Superuser,
		"-A",
		"trust",
		"-E",
		"UTF8",
		"--locale=C",
		"--no-sync",
	)
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	if err := c.configure(); err != nil {
		return err
	}
	if err := c.Resume(); err != nil {
		return err
	}
	return c.Run(context.Background(), Superuser, "postgres", "CREATE ROLE "+Owner+" LOGIN NOINHERIT CREATEROLE")
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *Cluster) configure() error {
	settings := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": c.dir,
		"port":                    port,
		"max_connections":         "300",
		"shared_buffers":          "128MB",
		"max_wal_size":            "2GB",
		"autovacuum_naptime":      "5s",
		"log_min_messages":        "fatal",
	}
	if !c.options.Durable {
		settings["fsync"], settings["full_page_writes"], settings["synchronous_commit"] = "off", "off", "off"
	}
	for name, value := range c.options.Settings {
		settings[name] = value
	}
	var text strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&text, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text.String())
	return errors.Join(err, file.Close())
}

// Resume restarts a stopped server and waits until it responds.
func (c *Cluster) Resume() (err error) {
	c.server, err = guard(c.command("sh", "-c", guarding, "QUIT", filepath.Join(c.bin, "postgres"), "-D", c.data()))
	if err != nil {
		return err
	}
	return c.await()
}

// await returns when the server responds.
func (c *Cluster) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startBound)
	defer cancel()
	for {
		err := c.Run(ctx, Superuser, "postgres", "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(c.dir, logFile)) // may be missing; then there is nothing to add
			return fmt.Errorf("pgtest: the server does not respond: %w\n%s", err, log)
		case <-time.After(askAgain):
		}
	}
}

// Stop ends the server immediately, as if its machine had been killed, except for the disk's cache: durable commits
// exist after Resume.
func (c *Cluster) Stop() error {
	server := c.server
	c.server = nil
	return server.stop()
}

// Close ends the server and removes its data.
func (c *Cluster) Close() error {
	return errors.Join(c.Stop(), os.RemoveAll(c.dir))
}

// URL returns the address of a database of this cluster for a role.
func (c *Cluster) URL(role, database string) string {
	return "postgres://" + role + "@/" + database + "?host=" + c.dir + "&port=" + port
}

// Dir returns the directory of the server's socket.
func (c *Cluster) Dir() string { return c.dir }

// Programs returns the directory of the server's own programs.
func (c *Cluster) Programs() string { return c.bin }

// Run runs statements as a role in a database.
func (c *Cluster) Run(ctx context.Context, role, database string, statements ...string) error {
	connection, err := pgx.Connect(ctx, c.URL(role, database))
	if err != nil {
		return err
	}
	for _, statement := range statements {
		if _, err = connection.Exec(ctx, statement); err != nil {
			err = fmt.Errorf("pgtest: %s: %w", statement, err)
			break
		}
	}
	return errors.Join(err, connection.Close(ctx))
}

// command prepares one of the server's programs, or of the system's, to run as a user who may run servers.
func (c *Cluster) command(name string, args ...string) *exec.Cmd {
	if own := filepath.Join(c.bin, name); name != "sh" {
		name = own
	}
	command := exec.Command( //nolint:gosec,noctx // its standard input ends it; initdb ends on its own
		name,
		args...)
	command.Dir = c.dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	command.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:    true,
		Credential: c.as,
	} // keep signals to the tests' group from the server
	return command
}

// unprivileged returns a user who may run PostgreSQL when the tests run as root.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New(
		"pgtest: PostgreSQL does not run as root, and there is neither a user postgres nor a user nobody to run it as",
	)
}

// binaries finds the directory of the server's programs.
func binaries(dir string) (string, error) {
	if dir == "" {
		dir = os.Getenv("PARLEY_PG_BIN")
	}
	if dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil {
			return "", fmt.Errorf("pgtest: no PostgreSQL server in %s: %w", dir, err)
		}
		return filepath.Abs(dir)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(found) == 0 {
		return "", errors.New(
			"pgtest: these tests need a PostgreSQL server: install the package postgresql (.ci/prepare does it), or " +
				"name its directory of programs in PARLEY_PG_BIN",
		)
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) })
	return filepath.Dir(newest), nil
}

// major returns the version in /usr/lib/postgresql/<version>/bin/postgres.
func major(path string) int {
	version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path)))) // 0 if it is not a version
	return version
}
