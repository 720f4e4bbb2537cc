package confine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley/internal/confine"
)

func TestMain(m *testing.M) {
	confine.Main(os.Args)
	os.Exit(m.Run())
}

// A confined program, and what it starts, reaches nothing in a closed directory by any
// name, and everything beside it.
func TestClosedDirectoriesAreClosed(t *testing.T) {
	t.Parallel()
	if !confine.Supported() {
		t.Skip("this kernel has no Landlock")
	}
	root := t.TempDir()
	closed, beside := filepath.Join(root, "data"), filepath.Join(root, "work")
	for _, directory := range []string{closed, beside} {
		if err := os.MkdirAll(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "file"), []byte("said"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(closed, filepath.Join(beside, "link")); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]bool{
		"cat work/file":                true,
		"echo more > work/other":       true,
		"cat data/file":                false,
		"sh -c 'cat data/file'":        false,
		"cat work/link/file":           false,
		"cat /proc/self/cwd/data/file": false,
		"ls data":                      false,
		"echo more > data/other":       false,
		": > data/file":                false,
		"rm data/file":                 false,
		"mv data elsewhere":            false,
		"ln data/file work/hard":       false,
	}
	if confine.SignalsSupported() {
		scripts["kill -0 $PPID"] = false
		scripts["sleep 10 & kill $!"] = true
	}
	if os.Getuid() != 0 { // root reads it by a capability
		scripts["cat /proc/$PPID/environ"] = false
	}
	for script, allowed := range scripts {
		path, args := confine.Command(self, []string{closed}, "sh", []string{"-c", script})
		command := exec.Command(path, args...)
		command.Dir = root
		out, err := command.CombinedOutput()
		if (err == nil) != allowed {
			t.Errorf("%s: %v, %s", script, err, out)
		}
		if !allowed && strings.Contains(string(out), "said") {
			t.Errorf("%s says %s", script, out)
		}
	}
	if got, err := os.ReadFile(filepath.Join(closed, "file")); err != nil || string(got) != "said" {
		t.Errorf("the closed file has %q, %v", got, err)
	}
}

// A directory that cannot be closed lets nothing run.
func TestWhatCannotBeClosedRunsNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []string{"/", filepath.Join(t.TempDir(), "missing")} {
		path, args := confine.Command(self, []string{closed}, "echo", []string{"ran"})
		out, err := exec.Command(path, args...).CombinedOutput()
		if err == nil || strings.Contains(string(out), "ran\n") {
			t.Errorf("with %s closed it said %s", closed, out)
		}
	}
}
