package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// The environment variables that the overlaid sources read.
const (
	effectsVariable = "PARLEY_TRIAL_EFFECTS" // testdata/effect.go: the file to which the tool with an effect appends
	clockVariable   = "PARLEY_TRIAL_CLOCK"   // testdata/skew.go: how many seconds the clock is ahead
)

// overlay maps paths of sources to their replacements in one build.
type overlay struct {
	dir     string
	Replace map[string]string
}

// build builds the binary: cmd/parley with two more built-in tools, and with a clock that can
// be set wrong.
func build(dir string) (binary string, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	o := overlay{dir: dir, Replace: map[string]string{}}
	builtin, clock := filepath.Join(
		root,
		"tool",
		"builtin",
	), filepath.Join(
		strings.TrimSpace(string(goroot)),
		"src",
		"time",
	)
	own := filepath.Join(root, "e2e", "cluster", "testdata")
	o.Replace[filepath.Join(builtin, "effect.go")] = filepath.Join(own, "effect.go")
	o.Replace[filepath.Join(clock, "skew.go")] = filepath.Join(own, "skew.go")
	if err := o.rewrite(
		filepath.Join(builtin, "builtin.go"),
		`(func ToolsWithin\([^)]*\) Source \{\s*return sourceOf\()`,
		"${1}effect{}, poison{}, ",
	); err != nil {
		return "", err
	}
	if err := o.rewrite(
		filepath.Join(clock, "time.go"),
		`(func Now\(\) Time \{\n\tsec, nsec, mono := \w+\(\)\n)`,
		"${1}\tsec += skewed\n",
	); err != nil {
		return "", err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return "", err
	}
	binary = filepath.Join(dir, "parley")
	command := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", file, "-o", binary, "./cmd/parley")
	command.Dir, command.Stderr = root, os.Stderr
	return binary, command.Run()
}

// rewrite overlays a source with one place changed.
func (o *overlay) rewrite(path, place, by string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	expression := regexp.MustCompile(place)
	if !expression.Match(source) {
		return fmt.Errorf("%s no longer has the place that the trials change: %s", path, place)
	}
	changed := filepath.Join(o.dir, fmt.Sprintf("changed-%d.go", len(o.Replace)))
	o.Replace[path] = changed
	return os.WriteFile(changed, expression.ReplaceAll(source, []byte(by)), 0o600)
}
