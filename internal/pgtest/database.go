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

// Databases makes databases in one cluster, started with the first of them.
type Databases struct {
	options Options
	prepare Prepare
	made    atomic.Int64

	once    sync.Once // guards cluster and failed
	cluster *Cluster
	failed  error
}

// NewDatabases are copies of what prepare makes, in a cluster with these options
// that Close ends.
func NewDatabases(options Options, prepare Prepare) *Databases {
	return &Databases{options: options, prepare: prepare}
}

// Cluster is where the databases are.
func (d *Databases) Cluster(tb testing.TB) *Cluster {
	tb.Helper()
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

// New is the URL of a fresh prepared database, which is dropped at the end of the test.
func (d *Databases) New(tb testing.TB) string {
	tb.Helper()
	return d.copyOf(tb, template)
}

// Empty is New for a database that nobody has prepared.
func (d *Databases) Empty(tb testing.TB) string {
	tb.Helper()
	return d.copyOf(tb, "template0")
}

func (d *Databases) copyOf(tb testing.TB, original string) string {
	tb.Helper()
	cluster := d.Cluster(tb)
	name := fmt.Sprintf("test_%d", d.made.Add(1))
	ctx := context.Background()
	if err := cluster.Run(ctx, Superuser, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+original+" OWNER "+Owner); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := cluster.Run(ctx, Superuser, "postgres", "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Error(err)
		}
	})
	return cluster.URL(Owner, name)
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
