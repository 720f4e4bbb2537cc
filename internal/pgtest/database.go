package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// Prepare fills a new database once; tests get copies of it.
type Prepare func(ctx context.Context, url string) error

// template is the database that Database copies.
const template = "template_parley"

// Databases creates databases in one cluster, which starts with the first of them.
type Databases struct {
	options Options
	prepare Prepare
	empty   Prepare // nil: databases are not reused
	made    atomic.Int64

	mu   sync.Mutex // guards idle
	idle []string   // emptied, for the next test

	once    sync.Once // guards cluster and failed
	cluster *Cluster
	failed  error
}

// NewDatabases returns a source of copies of what prepare creates, in a cluster with these options. Close ends the
// cluster.
func NewDatabases(options Options, prepare Prepare) *Databases {
	return &Databases{options: options, prepare: prepare}
}

// Reusing lets tests reuse the databases of earlier ones, emptied: a copy takes many times as long. A database that
// empty fails on is dropped.
func (d *Databases) Reusing(empty Prepare) *Databases {
	d.empty = empty
	return d
}

// Cluster returns the cluster of the databases. Short tests run without a server and are skipped.
func (d *Databases) Cluster(tb testing.TB) *Cluster {
	tb.Helper()
	if testing.Short() {
		tb.Skip("needs a PostgreSQL server: not among the short tests")
	}
	d.once.Do(func() { d.failed = d.start() })
	if d.failed != nil {
		tb.Fatal(d.failed)
	}
	return d.cluster
}

func (d *Databases) start() error {
	cluster, err := Start(d.options)
	if err != nil {
		return err
	}
	d.cluster = cluster
	ctx := context.Background()
	if err := cluster.Run(ctx, Superuser, "postgres", "CREATE DATABASE "+template+" OWNER "+Owner); err != nil {
		return err
	}
	return d.prepare(ctx, cluster.URL(Owner, template))
}

// New returns the URL of a prepared database that no other test uses.
func (d *Databases) New(tb testing.TB) string {
	tb.Helper()
	name := d.reused()
	if name == "" {
		name = d.copyOf(tb, template)
	}
	tb.Cleanup(func() {
		if d.empty == nil || d.empty(context.Background(), d.cluster.URL(Owner, name)) != nil {
			d.drop(tb, name)
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.idle = append(d.idle, name)
	})
	return d.cluster.URL(Owner, name)
}

// reused returns an emptied database, or "".
func (d *Databases) reused() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.idle) == 0 {
		return ""
	}
	name := d.idle[len(d.idle)-1]
	d.idle = d.idle[:len(d.idle)-1]
	return name
}

// Empty returns the URL of a new, unprepared database that is dropped at the end of the test.
func (d *Databases) Empty(tb testing.TB) string {
	tb.Helper()
	name := d.copyOf(tb, "template0")
	tb.Cleanup(func() { d.drop(tb, name) })
	return d.cluster.URL(Owner, name)
}

func (d *Databases) copyOf(tb testing.TB, original string) string {
	tb.Helper()
	name := fmt.Sprintf("test_%d", d.made.Add(1))
	if err := d.Cluster(tb).
		Run(context.Background(), Superuser, "postgres",
			"CREATE DATABASE "+name+" TEMPLATE "+original+" OWNER "+Owner,
			"REVOKE CONNECT ON DATABASE "+name+" FROM PUBLIC"); err != nil {
		tb.Fatal(err)
	}
	return name
}

func (d *Databases) drop(tb testing.TB, name string) {
	tb.Helper()
	if err := d.cluster.Run(
		context.Background(),
		Superuser,
		"postgres",
		"DROP DATABASE "+name+" WITH (FORCE)",
	); err != nil {
		tb.Error(err)
	}
}

// Close ends the cluster, if one was started.
func (d *Databases) Close() error {
	d.once.Do(func() { d.failed = errors.New("pgtest: the databases are closed") })
	if d.cluster == nil {
		return nil
	}
	return d.cluster.Close()
}

// Main wraps a package's tests so that the cluster ends with them:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(databases.Main(m)) }
func (d *Databases) Main(m *testing.M) *Main { return &Main{tests: m, databases: d} }

// Main runs a package's tests, then closes their databases.
type Main struct {
	tests     *testing.M
	databases *Databases
}

// Run implements goleak.TestingM.
func (m *Main) Run() int {
	code := m.tests.Run()
	if err := m.databases.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}
