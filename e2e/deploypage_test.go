package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.org/parley/client"
	"example.org/parley/internal/pgtest"
)

var portOfPage = regexp.MustCompile(`\b(7871|7872|7873|8080)\b`)

// TestDeployPage runs the commands of docs/deploy.md, from a laptop's SQLite to three
// processes on PostgreSQL and back, as written except for addresses. Afterwards the record
// is the same, message by message.
func TestDeployPage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	laptop := start(t, filepath.Join(home, ".local/share/parley"))
	session := newSession(t, laptop.client, "sim/tool")
	if _, err := laptop.client.Post(t.Context(), session.ID, client.UserMessage("What time is it?")); err != nil {
		t.Fatal(err)
	}
	settled(t, laptop.client, session.ID, turnDeadline)
	before := record(t, laptop.client, session.ID)
	laptop.terminate()

	walked := walk(t, home, pageCommands(t, "../docs/deploy.md", "The move"))
	t.Log(walked)

	back := start(t, filepath.Join(home, "parley/back"))
	after := record(t, back.client, session.ID)
	if len(after) != len(before) || len(before) < 4 {
		t.Fatalf("%d messages were copied and %d came back", len(before), len(after))
	}
	for i, m := range after {
		if m.ID != before[i].ID || m.ContentHash != before[i].ContentHash {
			t.Errorf("message %d differs after the restore", m.Sequence)
		}
	}
	for _, want := range []string{"What time is it?", "Parley was interrupted in the middle of this answer."} {
		if !strings.Contains(walked, want) {
			t.Errorf("the walk does not show %q", want)
		}
	}
}

// walk runs the page's commands and returns their output.
func walk(t *testing.T, home, commands string) string {
	t.Helper()
	cluster, err := pgtest.Start(pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := cluster.Run(
		t.Context(),
		pgtest.Superuser,
		"postgres",
		"DROP ROLE "+pgtest.Owner,
	); err != nil { // the page creates it
		t.Fatal(err)
	}
	commands = strings.ReplaceAll(commands, "postgres://parley@127.0.0.1:5432/parley", cluster.URL("parley", "parley"))
	ports := map[string]string{}
	commands = portOfPage.ReplaceAllStringFunc(commands, func(port string) string {
		if ports[port] == "" {
			ports[port] = freePort(t)
		}
		return ports[port]
	})
	return runPage(t, home, "..", commands, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH")+":/usr/sbin",
		"PGHOST="+cluster.Dir(), "PGUSER="+pgtest.Superuser, "PROXY_BIND=127.0.0.1:"+ports["8080"])
}
