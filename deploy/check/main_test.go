package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	root   = "../.." // the repository
	folder = ".."    // deploy/
)

var binary string // the released parley, built once for all tests

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "parley-deploy-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) // a temporary directory
		binary = filepath.Join(dir, "parley")
		build := exec.Command("make", release, "PROGRAM="+binary)
		build.Dir, build.Stderr = root, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building parley:", err)
			return 1
		}
		return m.Run()
	}())
}

// read returns a file of deploy/.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// files returns the files of deploy/ that match a pattern, by their path in it.
func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no file of deploy/ matches %s (%v)", pattern, err)
	}
	for i, name := range found {
		found[i] = strings.TrimPrefix(name, folder+"/")
	}
	return found
}

// sources returns files of the program, without tests, in one text.
func sources(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no file of the program matches %s (%v)", pattern, err)
	}
	var all strings.Builder
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// help returns the binary's help for a command; the test fails if there is no such command.
func help(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.Command(binary, append(slices.Clone(command), "--help")...).CombinedOutput()
	if err != nil {
		t.Fatalf("parley %s --help: %v\n%s", strings.Join(command, " "), err, out)
	}
	text := string(out)
	if !strings.Contains(text, "parley "+strings.Join(command, " ")) {
		t.Fatalf("there is no command `parley %s`; the binary says\n%s", strings.Join(command, " "), text)
	}
	return text
}

// checkCommand compares an argument list of the binary with its help: commands first, then flags.
func checkCommand(t *testing.T, where string, args []string) {
	t.Helper()
	flags := len(args)
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") }); i >= 0 {
		flags = i
	}
	if flags == 0 {
		t.Errorf("%s: %v does not name a command", where, args)
		return
	}
	says := help(t, args[:flags]...)
	for _, arg := range args[flags:] {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			continue // a flag's value
		}
		name, _, _ = strings.Cut(name, "=")
		if !regexp.MustCompile(`(?m)--` + regexp.QuoteMeta(name) + `\s`).MatchString(says) {
			t.Errorf("%s: parley %s has no flag --%s", where, strings.Join(args[:flags], " "), name)
		}
	}
}

var parleyVariable = regexp.MustCompile(`\bPARLEY_[A-Z0-9_]+\b`)

// notTheBinarys are variables of deploy/ that its own files read.
var notTheBinarys = []string{"PARLEY_DB_PASSWORD", "PARLEY_1", "PARLEY_2", "PARLEY_3"}

// TestVariablesExist: the program reads every PARLEY_ variable that a file of deploy/ sets.
func TestVariablesExist(t *testing.T) {
	t.Parallel()
	var known []string
	for _, literal := range regexp.MustCompile(`"(PARLEY_[A-Z_]+)"`).FindAllStringSubmatch(sources(t,
		"cmd/parley/*.go"), -1) {
		known = append(known, literal[1])
	}
	if !slices.Contains(known, "PARLEY_ADDR") {
		t.Fatalf("the sources of cmd/parley name no variables: %v", known)
	}
	for _, pattern := range []string{"Dockerfile", "compose.*", "haproxy.cfg", "nginx.conf", "postgres.sh", "systemd/*",
		"kubernetes/*.yaml"} {
		for _, name := range files(t, pattern) {
			for _, variable := range parleyVariable.FindAllString(read(t, name), -1) {
				if !slices.Contains(known, variable) && !slices.Contains(notTheBinarys, variable) {
					t.Errorf("%s names %s, which the program does not read", name, variable)
				}
			}
		}
	}
}
