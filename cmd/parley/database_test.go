package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley/internal/pgtest"
)

// databases are empty ones, in one throwaway cluster.
var databases = pgtest.NewDatabases(pgtest.Options{}, func(context.Context, string) error { return nil })

// command runs the program with arguments and returns what it said.
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

// checks are doctor's findings by what they look at.
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

// TestMigrate: what status and plan say is what up does, and doctor sees it.
func TestMigrate(t *testing.T) {
	t.Parallel()
	url := databases.New(t)
	before := checks(t, url)
	if before["database"].State != "ok" || before["schema"].State != "note" || before["notifications"].State != "ok" ||
		before["database role"].State != "ok" {
		t.Errorf("doctor of an empty database: %+v", before)
	}
	plan, errOut, code := command(t, "--database-url", url, "migrate", "plan")
	if code != 0 || !strings.Contains(plan, "CREATE TABLE parley.heads") {
		t.Fatalf("migrate plan: %d, %s\n%s", code, errOut, plan)
	}
	if out, _, code := command(
		t,
		"--database-url",
		url,
		"migrate",
		"status",
	); code != 0 ||
		!strings.Contains(out, "pending") {
		t.Errorf("migrate status before: %d, %s", code, out)
	}
	if out, errOut, code := command(
		t,
		"--database-url",
		url,
		"migrate",
		"up",
	); code != 0 ||
		!strings.Contains(out, "00001") {
		t.Fatalf("migrate up: %d, %s\n%s", code, errOut, out)
	}
	if out, _, code := command(
		t,
		"--database-url",
		url,
		"migrate",
		"up",
	); code != 0 ||
		!strings.Contains(out, "nothing to do") {
		t.Errorf("migrate up again: %d, %s", code, out)
	}
	if out, _, code := command(
		t,
		"--database-url",
		url,
		"migrate",
		"status",
	); code != 0 ||
		strings.Contains(out, "pending") {
		t.Errorf("migrate status after: %d, %s", code, out)
	}
	if out, _, code := command(
		t,
		"--database-url",
		url,
		"migrate",
		"plan",
	); code != 0 ||
		strings.Contains(out, "CREATE") {
		t.Errorf("migrate plan after: %d, %s", code, out)
	}
	if after := checks(t, url); after["schema"].State != "ok" {
		t.Errorf("doctor of a migrated database: %+v", after["schema"])
	}
	super := checks(t, databases.Cluster(t).URL(pgtest.Superuser, "postgres"))
	if super["database role"].State != "note" {
		t.Errorf("doctor of a superuser: %+v", super["database role"])
	}
}

// TestDatabaseThatIsNotThere: what is said of it holds no password.
func TestDatabaseThatIsNotThere(t *testing.T) {
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

// TestMigrateNeedsADatabase: with SQLite there is nothing to do by hand.
func TestMigrateNeedsADatabase(t *testing.T) {
	t.Parallel()
	if _, errOut, code := command(
		t,
		"migrate",
		"status",
	); code != 1 ||
		!strings.Contains(errOut, "PARLEY_DATABASE_URL") {
		t.Errorf("migrate status without a database: %d, %s", code, errOut)
	}
}
