package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.org/parley"
)

// TestArtifactsOnTheCommandLine: files become artifacts and versions, are restored, saved and written to a project, and
// nothing of this machine's files is overwritten.
func TestArtifactsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	dir, log := t.TempDir(), &lockedLog{}
	site, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	srv, c := opened(t, dir, map[string]string{"PARLEY_PROJECT_ROOTS": site}, log)
	defer func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	}()
	at := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		name = filepath.Join(at, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	ask := func(args ...string) (out, complaint string, code int) {
		var said, complained bytes.Buffer
		code = run(t.Context(), append([]string{"--data", dir}, args...),
			terminal{in: strings.NewReader(""), out: &said, exact: &said, err: &complained})
		return said.String(), complained.String(), code
	}
	say := func(args ...string) string {
		t.Helper()
		out, complaint, code := ask(args...)
		if code != 0 {
			t.Fatalf("parley %s: %s", strings.Join(args, " "), complaint)
		}
		return out
	}
	made := func(args ...string) (a parley.Artifact) {
		t.Helper()
		if err := json.Unmarshal([]byte(say(append(args, "--json")...)), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	refused := func(args ...string) {
		t.Helper()
		if out, _, code := ask(args...); code == 0 {
			t.Errorf("parley %s: %s", strings.Join(args, " "), out)
		}
	}
	outline := put("outline.md", "# One\n")
	text := made("artifacts", "create", outline)
	id := text.ID.String()
	if text.Kind != parley.ArtifactMarkdown || text.Name != "outline.md" {
		t.Errorf("made %+v", text)
	}
	put("outline.md", "# Two\n")
	if got := say("artifacts", "write", id, outline, "--base", "1"); got != "version 2\n" {
		t.Errorf("written: %q", got)
	}
	if got := say("artifacts", "restore", id, "1"); got != "version 3\n" {
		t.Errorf("restored: %q", got)
	}
	if got := say("artifacts", "cat", id); got != "# One\n" {
		t.Errorf("the newest is %q", got)
	}
	bytesOf := "%PDF-1.7\n\x00\xff"
	file := made("artifacts", "upload", put("r.pdf", bytesOf))
	if file.Kind != parley.ArtifactFile || file.MediaType != "application/pdf" {
		t.Errorf("uploaded %+v", file)
	}
	saved := filepath.Join(at, "saved.pdf")
	say("artifacts", "download", file.ID.String(), saved)
	if data, err := os.ReadFile(saved); err != nil || string(data) != bytesOf { //nolint:gosec // of this test
		t.Errorf("saved: %q, %v", data, err)
	}
	refused("artifacts", "download", id, saved) // there is a file
	say("artifacts", "write", file.ID.String(), outline, "--base", "1")
	if got := say("artifacts", "diff", file.ID.String()); !strings.Contains(got, "version 1: application/pdf, "+
		strconv.Itoa(len(bytesOf))+" bytes, SHA-256 "+file.ContentHash.String()) {
		t.Errorf("the difference: %s", got)
	}
	var project parley.Project
	if err := json.Unmarshal([]byte(say("projects", "create", site, "--json")), &project); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(site, "plan.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := made("artifacts", "import", project.ID.String(), "plan.txt", "--label", "l")
	if plan.ProjectID != project.ID || plan.Kind != parley.ArtifactText || len(plan.Labels) != 1 {
		t.Errorf("imported %+v", plan)
	}
	if got := say("artifacts", "export", plan.ID.String(), "docs/plan.txt"); got != "version 1 is in docs/plan.txt\n" {
		t.Errorf("exported: %q", got)
	}
	if err := os.WriteFile(filepath.Join(site, "docs/plan.txt"), []byte("b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("artifacts", "export", plan.ID.String(), "docs/plan.txt")
	say("artifacts", "import", project.ID.String(), "docs/plan.txt", "--artifact", plan.ID.String(), "--base", "1")
	if got := say("artifacts", "cat", plan.ID.String()); got != "b\n" {
		t.Errorf("the plan is %q", got)
	}
}
