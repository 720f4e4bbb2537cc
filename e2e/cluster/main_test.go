// Package cluster puts several real Parley processes over one real database
// through what happens to clusters: they are killed, frozen past their lease,
// restarted one after the other; the database restarts under them; and all the
// while clients post, watch, steer and cancel through any of them. What is
// checked at the end is the record.
//
// The binary is cmd/parley as it is, with one more built-in tool whose effect
// must not be repeated (testdata/effect.go, laid over the source by the build).
package cluster

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// The deadlines of this package: whatever takes longer hangs.
const (
	startDeadline = 20 * time.Second
	stopDeadline  = 40 * time.Second
)

// How often and from which seed the trials run; a failure prints its seed.
var (
	trials = flag.Int("trials", 1, "how many times each trial runs")
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
		if err := build(dir); err != nil {
			fmt.Fprintln(os.Stderr, "building parley:", err)
			return 1
		}
		return m.Run()
	}())
}

// build makes the binary, with the tool of testdata among the built-in ones.
func build(dir string) error {
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	list := filepath.Join(root, "tool", "builtin", "builtin.go")
	source, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	end := regexp.MustCompile(`(func Tools\(\) Source \{ return sourceOf\(.*)\) \}`)
	if !end.Match(source) {
		return errors.New("tool/builtin/builtin.go does not list its tools in the line that this trial extends")
	}
	extended := filepath.Join(dir, "builtin.go")
	if err := os.WriteFile(extended, end.ReplaceAll(source, []byte("$1, effect{}) }")), 0o600); err != nil {
		return err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		list: extended,
		filepath.Join(root, "tool", "builtin", "effect.go"): filepath.Join(root, "e2e", "cluster", "testdata", "effect.go"),
	}})
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return err
	}
	binary = filepath.Join(dir, "parley")
	command := exec.Command("go", "build", "-overlay", file, "-o", binary, "./cmd/parley")
	command.Dir, command.Stderr = root, os.Stderr
	return command.Run()
}
