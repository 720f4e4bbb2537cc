package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"example.org/parley/client"
	"example.org/parley/internal/pgtest"
)

// TestDocumentedDump runs pg_dump and pg_restore as written in docs/backup.md, and compares
// the result with the source.
func TestDocumentedDump(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	command := func(program string) string {
		t.Helper()
		found := regexp.MustCompile(`(?m)^`+program+` .*$`).FindAllString(string(page), -1)
		if len(found) != 1 {
			t.Fatalf("docs/backup.md has %d commands of %s", len(found), program)
		}
		return found[0]
	}
	dir, database, cluster := t.TempDir(), databases.New(t), databases.Cluster(t)
	restored := cluster.URL(pgtest.Owner, "restored")
	s := start(t, dir)
	session := newSession(t, s.client, "sim/echo")
	if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage("to be kept")); err != nil {
		t.Fatal(err)
	}
	settled(t, s.client, session.ID, turnDeadline)
	s.terminate()
	if _, errOut, err := parleyCommand(t, dir, "copy", "--from", "sqlite:"+dir, "--to", database); err != nil {
		t.Fatalf("%v\n%s", err, errOut)
	}
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		"postgres",
		"CREATE DATABASE restored OWNER "+pgtest.Owner,
	); err != nil {
		t.Fatal(err)
	}
	scratch := t.TempDir()
	run := func(text, url string) {
		t.Helper()
		shell := exec.CommandContext(t.Context(), "sh", "-c", text)
		shell.Dir = scratch
		shell.Env = append(
			cleanEnvironment(),
			"PARLEY_DATABASE_URL="+url,
			"PATH="+cluster.Programs()+":"+os.Getenv("PATH"),
		)
		if out, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", text, err, out)
		}
	}
	run(command("pg_dump"), database)
	run(command("pg_restore"), restored)
	out, errOut, err := parleyCommand(t, dir, "copy", "--from", "sqlite:"+dir, "--to", restored)
	if err != nil || !strings.Contains(out, "made before") {
		t.Errorf("the restored database: %v\n%s%s", err, out, errOut)
	}
}
