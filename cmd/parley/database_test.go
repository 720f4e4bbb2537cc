package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley/internal/pgtest"
)

// databases makes empty databases in one throwaway cluster.
var databases = pgtest.NewDatabases(pgtest.Options{}, func(context.Context, string) error { return nil })

// command runs the program with arguments and returns its output.
func command(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	var said, complained bytes.Buffer
	code = run(
		t.Context(),
		append([]string{"--data", t.TempDir()}, args...),
		terminal{in: strings.NewReader(""), out: &said, err: &complained},
	)
	return said.String(), complained.String(), code
}

// checks returns doctor's findings by their subject.
func checks(t *testing.T, url string) map[string]finding {
	t.Helper()
	out, errOut, _ := command(t, "--database-url", url, "--url", "http://127.0.0.1:1", "--json", "doctor")
	var findings []finding
	if err := json.Unmarshal([]byte(out), &findings); err != nil {
		t.Fatalf("doctor said %q and %q", out, errOut)
	}
	found := map[string]finding{}
	for _, f := range findings {
		found[f.Check] = f
	}
	return found
}

// status and plan announce what up does, and doctor notices it.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	before := checks(t, url)
	if before["database"].State != "ok" || before["schema"].State != "note" || before["notifications"].State != "ok" ||
		before["database role"].State != "ok" {
		t.Errorf("doctor of an empty database: %+v", before)
	}
	for _, step := range []struct {
		verb, says string // what it prints contains; a leading ! means that it does not
	}{
		{"plan", "CREATE TABLE parley.heads"}, {"status", "pending"},
		{"up", "00001"}, {"up", "nothing to do"},
		{"status", "!pending"}, {"plan", "!CREATE"},
	} {
		out, errOut, code := command(t, "--database-url", url, "migrate", step.verb)
		says, not := strings.CutPrefix(step.says, "!")
		if code != 0 || strings.Contains(out, says) == not {
			t.Fatalf("migrate %s exits with %d and %q; wanted %q\n%s", step.verb, code, errOut, step.says, out)
		}
	}
	if after := checks(t, url); after["schema"].State != "ok" {
		t.Errorf("doctor of a migrated database: %+v", after["schema"])
	}
	super := checks(t, databases.Cluster(t).URL(pgtest.Superuser, "postgres"))
	if super["database role"].State != "note" {
		t.Errorf("doctor of a superuser: %+v", super["database role"])
	}
}

// What is printed about a database that does not answer contains no password.
func TestDatabaseWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	const url = "postgres://ada:hunter2@127.0.0.1:1/parley?connect_timeout=2"
	found := checks(t, url)["database"]
	if found.State != "problem" || found.Do == "" {
		t.Errorf("doctor: %+v", found)
	}
	said := found.Says
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "status"},
		{"serve", "--addr", "127.0.0.1:0", "--database-wait", "1s"}} {
		out, errOut, code := command(t, append([]string{"--database-url", url}, args...)...)
		if code != 1 || errOut == "" {
			t.Errorf("parley %s: %d, %s", strings.Join(args, " "), code, errOut)
		}
		said += out + errOut
	}
	for _, mistaken := range []string{"ada:hunter2@127.0.0.1/parley", "postgres://ada:hunter2@[::1/parley"} {
		_, errOut, code := command(t, "--database-url", mistaken, "migrate", "status")
		if code != 1 || errOut == "" {
			t.Errorf("a mistaken address: %d, %s", code, errOut)
		}
		said += errOut
	}
	if strings.Contains(said, "hunter2") {
		t.Errorf("the password is shown: %s", said)
	}
}

// SQLite needs no migration by hand.
func TestMigrateNeedsADatabase(t *testing.T) {
	t.Parallel()
	_, errOut, code := command(t, "migrate", "status")
	if code != 1 || !strings.Contains(errOut, "PARLEY_DATABASE_URL") {
		t.Errorf("migrate status without a database: %d, %s", code, errOut)
	}
}
