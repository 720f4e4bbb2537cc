package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolsPage runs the commands of docs/tools.md from nothing to approved calls, in the
// terminal and through curl, as written except for the port and npx, which uses the
// installed server instead of fetching it.
func TestToolsPage(t *testing.T) {
	t.Parallel()
	home, programs := t.TempDir(), t.TempDir()
	npx := "#!/bin/sh\n[ \"$1\" = -y ] || exit 1\ncase \"$2\" in @modelcontextprotocol/server-filesystem@*) ;; *) " +
		"exit 1 ;; esac\nshift 2\nexec '" +
		node(
			t,
		) + "' '" + reference(
		t,
		"filesystem",
	) + "' \"$@\"\n"
	for name, text := range map[string]string{"npx": npx} {
		if err := os.WriteFile(
			filepath.Join(programs, name),
			[]byte(text),
			0o700,
		); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	port := freePort(t)
	said := runPage(t, home, "", strings.ReplaceAll(pageCommands(t, "../docs/tools.md", "From nothing"), "7878", port),
		"PARLEY_ADDR=127.0.0.1:"+port, "PATH="+filepath.Dir(binary)+":"+programs+":"+os.Getenv("PATH"))
	for _, want := range []string{"You want bread.", "Allow it?", "It is written.", `"state":"pending"`,
		`"state":"approved"`, "It is written too."} {
		if !strings.Contains(said, want) {
			t.Errorf("the walk does not show %q", want)
		}
	}
	for file, want := range map[string]string{"tuesday.txt": "Water the trees.", "wednesday.txt": "Rest."} {
		if got, err := os.ReadFile(filepath.Join(home, "notes", file)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v", file, got, err)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}
