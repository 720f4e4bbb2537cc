package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/client"
	"parley/internal/pgtest"
)

// walkDeadline bounds the whole page: a lease that runs out is most of it.
const walkDeadline = 3 * time.Minute

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	portOfPage = regexp.MustCompile(`\b(7871|7872|7873|8080)\b`)
)

// TestDeployPage walks docs/deploy.md from a laptop's SQLite to three processes
// on PostgreSQL and back: its commands as they stand there, but for addresses.
// What was in the record is in it afterwards, message by message.
func TestDeployPage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	laptop := start(t, filepath.Join(home, ".local/share/parley"))
	session := newSession(t, laptop.client, "sim/tool")
	if _, err := laptop.client.PostMessage(t.Context(), session.ID, client.UserMessage("What time is it?"), ""); err != nil {
		t.Fatal(err)
	}
	settled(t, laptop.client, session.ID, turnDeadline)
	before := record(t, laptop.client, session.ID)
	laptop.terminate()

	walked := walk(t, home, pageCommands(t))
	t.Log(walked)

	back := start(t, filepath.Join(home, "parley/back"))
	after := record(t, back.client, session.ID)
	if len(after) != len(before) || len(before) < 4 {
		t.Fatalf("%d messages went and %d came back", len(before), len(after))
	}
	for i, m := range after {
		if m.ID != before[i].ID || m.ContentHash != before[i].ContentHash {
			t.Errorf("message %d came back as another one", m.Sequence)
		}
	}
	for _, want := range []string{"What time is it?", "Parley was interrupted in the middle of this answer."} {
		if !strings.Contains(walked, want) {
			t.Errorf("the walk does not show %q", want)
		}
	}
}

// pageCommands are the shell blocks of the page's section about the move.
func pageCommands(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/deploy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The move")
	section, _, _ = strings.Cut(section, "\n## ")
	var commands strings.Builder
	blocks := shellBlock.FindAllStringSubmatch(section, -1)
	for _, block := range blocks {
		commands.WriteString(block[1])
	}
	if len(blocks) < 5 {
		t.Fatalf("the section has only %d blocks of commands", len(blocks))
	}
	return commands.String()
}

// walk runs the page's commands in one shell and answers what they printed.
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
	if err := cluster.Run(t.Context(), pgtest.Superuser, "postgres", "DROP ROLE "+pgtest.Owner); err != nil { // the page makes it
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
	script := filepath.Join(home, "walk.sh")
	if err := os.WriteFile(script, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &lockedBuffer{}
	shell := exec.Command("bash", "-eux", "-o", "pipefail", script)
	shell.Dir = ".."
	shell.Env = append(cleanEnvironment(), "HOME="+home, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH")+":/usr/sbin",
		"PGHOST="+cluster.Dir(), "PGUSER="+pgtest.Superuser, "PROXY_BIND=127.0.0.1:"+ports["8080"])
	shell.Stdout, shell.Stderr = said, said
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.WaitDelay = time.Second // what runs behind the shell holds its output open
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }) // the proxy, and what else is left
	ended := make(chan error, 1)
	go func() { ended <- shell.Wait() }() // ends with the shell
	select {
	case err = <-ended:
	case <-time.After(walkDeadline):
		err = fmt.Errorf("it takes longer than %s", walkDeadline)
	}
	if err != nil && shell.ProcessState.ExitCode() != 0 {
		t.Fatalf("walking the page: %v\n%s", err, said)
	}
	return said.String()
}
