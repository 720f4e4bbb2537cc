// Package cluster runs several real Parley processes on one real database and exposes them to
// the faults of clusters: it kills them, freezes them past their lease, restarts them one after
// the other, and restarts the database, while clients post, watch, steer and cancel through any of
// them. At the end it checks the record.
//
// The binary is cmd/parley with two source files overlaid by the build: testdata/effect.go adds two
// built-in tools, one whose effect must not be repeated and one that ends its process, and
// testdata/skew.go a clock that can be set wrong.
package cluster

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// The deadlines of this package: an operation that takes longer hangs.
const (
	startDeadline = 20 * time.Second
	stopDeadline  = 40 * time.Second
)

// How often the trials run, and from which seed; a failure prints its seed.
var (
	size   = flag.Int("size", 1, "load in the chaos trials: 1 as in CI, 2 at about full size")
	trials = flag.Int("trials", 1, "how many times each trial runs")
	deaths = flag.Int("deaths", 6, "how many times processes die in the trials of poisoned turns")
	seed   = flag.Uint64("seed", 0, "seed of the first trial; 0 takes one of its own")
)

var binary string // built once for all tests

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "parley-cluster-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) // a temporary directory
		if binary, err = build(dir); err != nil {
			fmt.Fprintln(os.Stderr, "building parley:", err)
			return 1
		}
		return servers.Main(m).Run()
	}())
}
