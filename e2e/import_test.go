package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImportOnTheCommandLine imports a session's export and an older file. A dry run leaves nothing, a second import
// changes nothing, and the database verifies.
func TestImportOnTheCommandLine(t *testing.T) {
	t.Parallel()
	one, two := place{dir: t.TempDir()}, place{dir: t.TempDir()}
	from, to := startAt(t, one), startAt(t, two)
	session := newSession(t, from.client, "sim/tool")
	say(t, from, session.ID, "carried over")
	text, errOut, err := one.parley(t, "sessions", "export", session.ID.String())
	if err != nil {
		t.Fatalf("export: %v %s", err, errOut)
	}
	dir := t.TempDir()
	export := filepath.Join(dir, "session-export.json")
	chat := filepath.Join(dir, ".dagent-worktrees", "login", ".dagent", "chat.json")
	if err := os.MkdirAll(filepath.Dir(chat), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		export: text,
		chat:   `{"entries":[{"role":"user","content":"\u001b[2JPlan","timestamp":"2025-01-02T10:00:00Z"}]}`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ flag, says string }{
		{"--dry-run", "would be created"}, {"", ": created"}, {"", ": unchanged"},
	} {
		args := []string{"import", export, chat}
		if step.flag != "" {
			args = append(args, step.flag)
		}
		out, errOut, err := two.parley(t, args...)
		if err != nil || strings.Count(out, step.says) != 2 || strings.Contains(out, "\x1b") {
			t.Fatalf("%v: %v\n%s\n%s", args, err, out, errOut)
		}
	}
	found, errOut, err := two.parley(t, "sessions", "list", "--json")
	if err != nil || strings.Count(found, `"last_sequence"`) != 2 {
		t.Errorf("the list: %v %s\n%s", err, errOut, found)
	}
	to.kill()
	if out, errOut, err := two.parley(t, "verify"); err != nil {
		t.Errorf("verify: %v\n%s\n%s", err, out, errOut)
	}
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"entries":[{"role":"root"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	startAt(t, two)
	if _, errOut, err := two.parley(t, "import", bad); err == nil ||
		!strings.Contains(errOut, "bad.json") || !strings.Contains(errOut, "/entries/0/role") {
		t.Errorf("a bad file: %v %s", err, errOut)
	}
}
