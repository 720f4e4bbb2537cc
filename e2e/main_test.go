// Package e2e tests the real binary as users run it: started, killed, drained, out of disk
// space. Each test has its own server and data directory.
package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.org/parley/client"
)

// The deadlines of this package: an operation that takes longer hangs.
const (
	startDeadline = 20 * time.Second
	stopDeadline  = 40 * time.Second
	turnDeadline  = 60 * time.Second
)

var binary string // built once for all tests

func TestMain(m *testing.M) {
	if scenario := os.Getenv(conformanceScenario); scenario != "" { // the suite has started this binary
		if err := conformanceClient(scenario, os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if home := os.Getenv(scriptedAgent); home != "" { // a server has started this binary
		runScriptedAgent(home)
		return
	}
	if address := os.Getenv(squattedAddress); address != "" { // a test has started this binary
		squat(address)
		return
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "parley-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) // a temporary directory
		binary = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../cmd/parley")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building parley:", err)
			return 1
		}
		code := m.Run()
		if err := databases.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return code
	}())
}

// server is a running `parley serve`.
type server struct {
	t       *testing.T
	at      place
	url     string
	client  *client.Client
	command *exec.Cmd
	exited  chan error
	stderr  *lockedBuffer
}

// start runs a server on a data directory with SQLite; if it still runs at the end of the
// test, it is killed.
func start(t *testing.T, dir string, args ...string) *server {
	t.Helper()
	return startAt(t, place{dir: dir}, args...)
}

// startWith is start at an address and with further variables.
func startWith(t *testing.T, dir, addr string, environment []string, args ...string) *server {
	t.Helper()
	return startProgram(t, binary, place{dir: dir}, environment, append([]string{"--addr", addr}, args...)...)
}

// startAt runs a server at a place.
func startAt(t *testing.T, at place, args ...string) *server {
	t.Helper()
	return startProgram(t, binary, at, nil, args...)
}

// startProgram runs a build of the program with additional environment variables.
func startProgram(t *testing.T, program string, at place, environment []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, at: at, exited: make(chan error, 1), stderr: &lockedBuffer{}}
	s.command = exec.Command(program, append([]string{"serve", "--data", at.dir, "--addr", "127.0.0.1:0"}, args...)...)
	s.command.Env = append(at.environment(), environment...)
	s.command.Stderr = s.stderr
	if at.user != 0 {
		s.command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: at.user, Gid: at.user}}
	}
	out, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1)
	go func() { // ends with the process
		reader := bufio.NewReader(out)
		line, _ := reader.ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, reader)
		s.exited <- s.command.Wait()
	}()
	t.Cleanup(s.kill)
	select {
	case line := <-lines:
		_, url, ok := strings.Cut(strings.TrimSpace(line), "listens on ")
		if !ok {
			t.Fatalf("the server said %q and %s", line, s.stderr)
		}
		s.url = url
	case <-time.After(startDeadline):
		t.Fatalf("the server did not start: %s", s.stderr)
	}
	s.client = s.connect()
	return s
}

// connect creates a client with connections of its own, as the machine's own user.
func (s *server) connect() *client.Client {
	c, err := client.New(client.Options{URL: s.url, Key: s.key()})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}

// key admits the machine's own user; "" for a process that only runs turns.
func (s *server) key() string {
	token, err := os.ReadFile(filepath.Join(s.at.dir, "token"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

// kill ends the process at once, as a crash would.
func (s *server) kill() {
	if s.command.ProcessState != nil {
		return
	}
	_ = s.command.Process.Kill()
	select {
	case <-s.exited:
	case <-time.After(stopDeadline):
		s.t.Error("the server survived its kill")
	}
}

// terminate asks the process to end and waits until it has.
func (s *server) terminate() {
	s.t.Helper()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.exited:
		if err != nil {
			s.t.Fatalf("after SIGTERM: %v\n%s", err, s.stderr)
		}
	case <-time.After(stopDeadline):
		s.t.Fatalf("the server did not end %s after SIGTERM\n%s", stopDeadline, s.stderr)
	}
}

// parley runs a command of the command line against this data directory.
func parleyCommand(t *testing.T, dir string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return place{dir: dir}.parley(t, args...)
}

// parley runs a command of the command line at a place, within a deadline.
func (p place) parley(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	return p.command(ctx, args...)
}

// command runs a command of the command line at a place.
func (p place) command(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errOut bytes.Buffer
	command := exec.CommandContext(ctx, binary, append([]string{"--data", p.dir}, args...)...)
	command.Env = p.environment()
	command.Stdout, command.Stderr = &out, &errOut
	err = command.Run()
	return out.String(), errOut.String(), err
}

// cleanEnvironment is this process's environment without Parley's settings.
func cleanEnvironment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PARLEY_") || strings.HasSuffix(name, "_API_KEY") ||
			strings.HasSuffix(name, "_BASE_URL") {
			continue
		}
		env = append(env, entry)
	}
	return env
}

// lockedBuffer keeps a process's output.
type lockedBuffer struct {
	mu     sync.Mutex // guards buffer
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// exitCode is the exit code of a finished command.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return 0
}
