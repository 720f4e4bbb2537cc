// Package attack sends the real binary requests that it must refuse: to every route, with
// foreign ids in every position, as every role, on both databases. It reads the server's own
// table of routes, so a new route is attacked too, or fails here until its ids are described.
package attack

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/parley/internal/pgtest"
)

// The bounds of this package: an operation that takes longer hangs.
const (
	startDeadline   = 20 * time.Second
	requestDeadline = 20 * time.Second
	mostBytes       = 4 << 20 // of an answer
)

// The server's secrets: the credentials of every provider and tool.
const (
	secretName = "HOSTILE_CREDENTIAL"
	secret     = "sk-attacked-0123456789abcdef"
)

var binary string // built once for all tests

var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	out, err := command(ctx, "", url, "migrate", "up").CombinedOutput()
	if err != nil {
		return fmt.Errorf("parley migrate up: %w: %s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "parley-attack-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir) // a temporary directory
		binary = filepath.Join(dir, "parley")
		build := exec.Command("go", "build", "-ldflags=-s -w", "-o", binary, "../../cmd/parley")
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

// command is the program without any of this machine's configuration.
func command(ctx context.Context, dir, database string, args ...string) *exec.Cmd {
	if dir != "" {
		args = append([]string{"--data", dir}, args...)
	}
	c := exec.CommandContext(ctx, binary, args...)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "PARLEY_") && !strings.HasSuffix(name, "_API_KEY") &&
			!strings.HasSuffix(name, "_BASE_URL") {
			c.Env = append(c.Env, entry)
		}
	}
	c.Env = append(c.Env, secretName+"="+secret)
	if database != "" {
		c.Env = append(c.Env, "PARLEY_DATABASE_URL="+database, "PARLEY_DRAIN_WAIT=0s")
	}
	return c
}

// target is a running server.
type target struct {
	*testing.T
	url, dir, database, projects string
	log                          string // file with the server's log
	http                         *http.Client
}

// onEach runs an attack on both databases.
func onEach(t *testing.T, attack func(t *testing.T, s *target)) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		attack(t, serve(t, "", nil))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		attack(t, serve(t, databases.New(t), nil))
	})
}

// serve runs a server, with or without a configuration, until the end of the test, which
// kills it.
func serve(t *testing.T, database string, settings map[string]any) *target {
	t.Helper()
	s := &target{
		T:        t,
		dir:      t.TempDir(),
		database: database,
		projects: t.TempDir(),
		http:     &http.Client{Timeout: requestDeadline},
	}
	if settings != nil {
		text, err := json.Marshal(settings) // which is YAML too
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, "parley.yaml"), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	server := command(
		context.Background(),
		s.dir,
		database,
		"serve",
		"--addr",
		"127.0.0.1:0",
		"--project-root",
		s.projects,
		"--trusted-proxy",
		"127.0.0.1",
	) // so that an attack may come from many addresses
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	server.Stderr, s.log = said, said.Name()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait() // killed
		s.http.CloseIdleConnections()
		_ = said.Close()
		if text, err := os.ReadFile(said.Name()); err == nil && strings.Contains(string(text), "panic") {
			t.Errorf("the server panicked:\n%s", text)
		}
	})
	first := make(chan string, 1)
	go func() { // ends with the process
		reader := bufio.NewReader(out)
		line, _ := reader.ReadString('\n')
		first <- line
		_, _ = io.Copy(io.Discard, reader)
	}()
	select {
	case line := <-first:
		_, url, ok := strings.Cut(strings.TrimSpace(line), "listens on ")
		if !ok {
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("the server said %q and %s", line, text)
		}
		s.url = url
	case <-time.After(startDeadline):
		t.Fatal("the server did not start")
	}
	return s
}

// key creates a principal with a key of its own.
func (s *target) key(workspace, name, role string) string {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), requestDeadline)
	defer cancel()
	out, err := command(
		ctx,
		s.dir,
		s.database,
		"keys",
		"create",
		"--workspace",
		workspace,
		"--name",
		name,
		"--role",
		role,
		"--json",
	).Output()
	var made struct{ Key string }
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil || made.Key == "" {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			s.Fatalf("keys create: %s", exit.Stderr)
		}
		s.Fatalf("keys create: %v %s", err, out)
	}
	return made.Key
}

// answer is the outcome of a request.
type answer struct {
	status int
	header http.Header
	body   string // empty for a stream
}

// ask sends one request with a key; "" means without one.
func (s *target) ask(key, method, path, body string, headers ...string) answer {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.http.Do(request)
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close()
	got := answer{status: response.StatusCode, header: response.Header}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return got
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, mostBytes))
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
	got.body = string(text)
	return got
}

// made is the id in the response of a request that must succeed.
func (s *target) made(key, method, path, body string) string {
	s.Helper()
	got := s.ask(key, method, path, body)
	var row struct{ ID string }
	if err := json.Unmarshal([]byte(got.body), &row); got.status/100 != 2 || err != nil || row.ID == "" {
		s.Fatalf("%s %s: status %d: %s", method, path, got.status, got.body)
	}
	return row.ID
}
