package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePageIsBuiltWithItsSources holds .ci/commits against histories: a commit may
// change web/dist with the page's sources, and a merge may, but none may do it alone.
func TestThePageIsBuiltWithItsSources(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("../../.ci/commits")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(name string, args ...string) (string, error) {
		command := exec.Command(name, args...)
		command.Dir = dir
		command.Env = append(
			os.Environ(),
			"GIT_CONFIG_GLOBAL=/dev/null",
			"GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a",
			"GIT_AUTHOR_EMAIL=a@example.org",
			"GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@example.org",
		)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	git := func(args ...string) {
		t.Helper()
		if out, err := run("git", args...); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	commit := func(says string, files ...string) {
		t.Helper()
		for _, name := range files {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(says), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		git("add", "-A")
		git("commit", "-q", "-m", says)
	}
	check := func(says string, want ...string) {
		t.Helper()
		out, err := run(script)
		if (err == nil) != (len(want) == 0) {
			t.Errorf("%s: %v: %s", says, err, out)
		}
		if lines := strings.Count(out, "\n"); lines != len(want) {
			t.Errorf("%s: %d commits are named: %s", says, lines, out)
		}
		for _, name := range want {
			if !strings.Contains(out, name) {
				t.Errorf("%s: %q is not named: %s", says, name, out)
			}
		}
	}
	git("init", "-q", "-b", "main")
	commit("the first one", "web/src/a", "web/dist/a")
	check("the first commit has none before")
	commit("sources and their build", "web/src/a", "web/dist/a")
	check("on main the last commit counts")
	commit("the build alone", "web/dist/a")
	check("on main", "the build alone")
	commit("documents", "README.md")
	check("on main, behind it")

	git("switch", "-q", "-c", "branch")
	commit("a package of the page", "web/package.json", "web/dist/b")
	check("another source of the build")
	commit("one more alone", "web/dist/b", "engine/a.go")
	commit("something else", "engine/a.go")
	check("every commit of a branch counts", "one more alone")
	git("reset", "-q", "--hard", "HEAD~2")
	git("switch", "-q", "main")
	commit("main goes on", "web/src/c", "web/dist/c")
	git("switch", "-q", "branch")
	git("merge", "-q", "--no-commit", "main")
	commit("a merge that builds the page", "web/dist/a")
	check("a merge")
}
