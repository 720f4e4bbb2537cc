package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// walkDeadline bounds a whole page: the longest one mostly waits for a lease to expire.
const walkDeadline = 3 * time.Minute

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// pageCommands returns the shell blocks of a section of a page, unchanged.
func pageCommands(t *testing.T, path, heading string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## "+heading)
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

// runPage runs a page's commands in one shell, in a directory, and returns their output.
// Programs that they leave running end with the test.
func runPage(t *testing.T, home, dir, commands string, environment ...string) string {
	t.Helper()
	script := filepath.Join(home, "walk.sh")
	if err := os.WriteFile(script, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	said := &lockedBuffer{}
	shell := exec.Command("bash", "-eux", "-o", "pipefail", script)
	shell.Dir = dir
	shell.Env = append(append(cleanEnvironment(), "HOME="+home), environment...)
	shell.Stdout, shell.Stderr = said, said
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.WaitDelay = time.Second // background programs hold the shell's output open
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // servers end their own children
		_ = syscall.Kill(-shell.Process.Pid, syscall.SIGTERM)
	})
	ended := make(chan error, 1)
	go func() { ended <- shell.Wait() }() // ends with the shell
	var err error
	select {
	case err = <-ended:
	case <-time.After(walkDeadline):
		t.Fatalf("running the page's commands takes longer than %s\n%s", walkDeadline, said)
	}
	if err != nil && shell.ProcessState.ExitCode() != 0 {
		t.Fatalf("running the page's commands: %v\n%s", err, said)
	}
	return said.String()
}
