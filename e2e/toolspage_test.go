package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestToolsPage walks docs/tools.md from nothing to approved calls, in the
// terminal and through curl: its commands as they stand there, but for the port,
// and npx, which takes the installed server instead of fetching it.
func TestToolsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## From nothing")
	section, _, _ = strings.Cut(section, "\n## ")
	var commands strings.Builder
	blocks := shellBlock.FindAllStringSubmatch(section, -1)
	for _, block := range blocks {
		commands.WriteString(block[1])
	}
	if len(blocks) < 5 {
		t.Fatalf("the section has only %d blocks of commands", len(blocks))
	}
	home, programs := t.TempDir(), t.TempDir()
	npx := "#!/bin/sh\n[ \"$1\" = -y ] || exit 1\ncase \"$2\" in @modelcontextprotocol/server-filesystem@*) ;; *) exit 1 ;; esac\nshift 2\nexec '" +
		node(t) + "' '" + reference(t, "filesystem") + "' \"$@\"\n"
	for name, text := range map[string]string{"npx": npx} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(text), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	port := freePort(t)
	script := filepath.Join(home, "walk.sh")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(commands.String(), "7878", port)), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &lockedBuffer{}
	shell := exec.Command("bash", "-eux", "-o", "pipefail", script)
	shell.Env = append(cleanEnvironment(), "HOME="+home, "PARLEY_ADDR=127.0.0.1:"+port,
		"PATH="+filepath.Dir(binary)+":"+programs+":"+os.Getenv("PATH"))
	shell.Stdout, shell.Stderr = said, said
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.WaitDelay = time.Second // the server behind the shell holds its output open
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the server that the page leaves running, and so its own children
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGTERM)
	})
	ended := make(chan error, 1)
	go func() { ended <- shell.Wait() }() // ends with the shell
	select {
	case err = <-ended:
	case <-time.After(walkDeadline):
		t.Fatalf("walking the page takes longer than %s\n%s", walkDeadline, said)
	}
	if err != nil && shell.ProcessState.ExitCode() != 0 {
		t.Fatalf("walking the page: %v\n%s", err, said)
	}
	for _, want := range []string{"You want bread.", "Allow it?", "It is written.", `"state":"pending"`, `"state":"approved"`, "It is written too."} {
		if !strings.Contains(said.String(), want) {
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
