package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"example.org/parley"
)

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSettingsEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "parley.yaml"), `
addr: 127.0.0.1:9000
model: sim/reason
flush_store: 300ms
workers: 7
drain: 5s
retention: {versions: 48h}
log_format: json
providers:
  - name: local
    base_url: http://127.0.0.1:8000/v1
    key_env: LOCAL_KEY
`)
	got, err := loadSettings(
		&flags{data: dir},
		environment(map[string]string{"PARLEY_MODEL": "sim/tool", "PARLEY_LEASE": "4s"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := settings{
		DataDir:      dir,
		Addr:         "127.0.0.1:9000",
		Role:         roleAll,
		Model:        "sim/tool",
		Workers:      7,
		Lease:        duration(4 * time.Second),
		Drain:        duration(5 * time.Second),
		DrainWait:    byDatabase,
		LogLevel:     "info",
		LogFormat:    logJSON,
		DatabaseWait: duration(defaultDatabaseWait),
		FlushLive: duration(
			defaultFlushLive,
		),
		FlushStore: duration(300 * time.Millisecond),
		Retention:  retentionSetting{Versions: duration(48 * time.Hour)},
		Providers:  []providerSetting{{Name: "local", BaseURL: "http://127.0.0.1:8000/v1", KeyEnv: "LOCAL_KEY"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		says string
	}{
		"unknown field":        {file: "adr: 127.0.0.1:9000\n", says: "adr"},
		"no duration":          {file: "lease: soon\n", says: "soon"},
		"bad environment":      {env: map[string]string{"PARLEY_FLUSH_LIVE": "fast"}, says: "PARLEY_FLUSH_LIVE"},
		"no wait":              {env: map[string]string{"PARLEY_DRAIN_WAIT": "-1s"}, says: "PARLEY_DRAIN_WAIT"},
		"misspelt tool server": {file: "mcp: [{name: fs, comand: npx}]\n", says: "comand"},
		"a field twice":        {file: "addr: 127.0.0.1:9000\naddr: 0.0.0.0:9000\n", says: "addr"},
		"twice, further in":    {file: "mcp: [{name: fs, command: npx, command: sh}]\n", says: "command"},
		"no number":            {env: map[string]string{"PARLEY_WORKERS": "many"}, says: "PARLEY_WORKERS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "parley.yaml"), c.file)
			_, err := loadSettings(&flags{data: dir}, environment(c.env))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want an error that names %q", err, c.says)
			}
		})
	}
}

// Origins are exactly what browsers send: anything else would allow nothing, or too much.
func TestOrigins(t *testing.T) {
	t.Parallel()
	s, err := loadSettings(&flags{data: t.TempDir()}, environment(map[string]string{
		"PARLEY_ALLOWED_ORIGINS": "https://Chat.example.org, http://localhost:3000",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"https://chat.example.org", "http://localhost:3000"}
	if got, err := s.origins(); err != nil || !slices.Equal(got, want) {
		t.Errorf("origins %q, want %q: %v", got, want, err)
	}
	for _, wrong := range []string{
		"*", "https://*.example.org", "https://example.org/", "https://example.org/chat", "example.org", "null",
		"file:///chat", "https://me@example.org", "https://", "",
	} {
		s.AllowedOrigins = []string{wrong}
		if got, err := s.origins(); parley.ErrorCode(err) != parley.CodeInvalid {
			t.Errorf("%q: %q, %v; want a refusal", wrong, got, err)
		}
	}
}

func TestSettingsOutOfBounds(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*settings){
		"workers":     func(s *settings) { s.Workers = 0 },
		"lease":       func(s *settings) { s.Lease = duration(time.Millisecond) },
		"flush_store": func(s *settings) { s.FlushStore = 0 },
		"flush_live":  func(s *settings) { s.FlushLive = duration(time.Hour) },
		"model":       func(s *settings) { s.Model = "no-slash" },
		"drain":       func(s *settings) { s.Drain = duration(2 * longestDrain) },
		"drain_wait":  func(s *settings) { s.DrainWait = duration(2 * longestDrain) },
		"retention":   func(s *settings) { s.Retention.Versions = duration(time.Second) },
		"max_conns":   func(s *settings) { s.MaxConns = -1 },
		"log_level":   func(s *settings) { s.LogLevel = "loud" },
		"log_format":  func(s *settings) { s.LogFormat = "xml" },
		"role":        func(s *settings) { s.DatabaseURL, s.Role = "postgres://h/d", "king" },
		"PostgreSQL":  func(s *settings) { s.DatabaseURL = "mysql://user:secret@h/d" },
		"SQLite":      func(s *settings) { s.Role = roleWorker },
		"listen_url":  func(s *settings) { s.ListenURL = "postgres://h/d" },
	} {
		s, err := loadSettings(&flags{data: t.TempDir()}, environment(nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.check(); err != nil {
			t.Fatalf("the defaults are refused: %v", err)
		}
		change(&s)
		if err := s.check(); parley.ErrorCode(err) != parley.CodeInvalid || !strings.Contains(err.Error(), name) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFlagsWin: over environment and file, and only those that were given.
func TestFlagsWin(t *testing.T) {
	t.Parallel()
	f := &flags{data: t.TempDir(), databaseURL: "postgres://flag/d"}
	env := map[string]string{
		"PARLEY_DATABASE_URL": "postgres://environment/d",
		"PARLEY_LISTEN_URL":   "postgres://direct/d",
		"PARLEY_ROLE":         "api",
		"PARLEY_DRAIN_WAIT":   "7s",
		"PARLEY_DRAIN":        "8s",
		"PARLEY_MAX_CONNS":    "9",
		"PARLEY_LOG_LEVEL":    "warn",
	}
	s, err := loadSettings(f, environment(env))
	if err != nil {
		t.Fatal(err)
	}
	var given serveFlags
	command := &cobra.Command{}
	given.declare(command)
	if err := command.ParseFlags([]string{"--drain", "0s", "--role=worker"}); err != nil {
		t.Fatal(err)
	}
	given.over(&s, command.Flags().Changed)
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	if s.DatabaseURL != f.databaseURL || s.ListenURL != env["PARLEY_LISTEN_URL"] || s.Role != roleWorker ||
		s.Drain != 0 ||
		s.drainWait() != 7*time.Second || s.MaxConns != 9 ||
		s.LogLevel != "warn" {
		t.Errorf("settings %+v", s)
	}
}

// TestDrainWaitFollowsTheDatabase: with SQLite nobody else could take a request.
func TestDrainWaitFollowsTheDatabase(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]time.Duration{"": 0, "postgres://h/d": defaultDrainWait} {
		s, err := loadSettings(&flags{data: t.TempDir(), databaseURL: url}, environment(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.drainWait(); got != want {
			t.Errorf("with the database %q a drain takes connections for %s; want %s", url, got, want)
		}
	}
}

// TestDatabaseNameHoldsNoSecret: what is printed of a database's address.
func TestDatabaseNameHoldsNoSecret(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://ada:secret@db.example:5432/parley?sslmode=require": "PostgreSQL db.example:5432/parley",
		"postgres:///parley?host=/run/postgresql&password=secret":      "PostgreSQL",
		"postgres://ada:sec%ret@db/parley":                             "PostgreSQL",
	} {
		if got := databaseName(address); got != want {
			t.Errorf("%s is shown as %q; want %q", address, got, want)
		}
	}
}

// TestDefaultModel is row A4's last steps: PARLEY_MODEL, else the first
// configured provider's, else the simulator's.
func TestDefaultModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want parley.ModelID
	}{
		"nothing":   {nil, "sim/echo"},
		"anthropic": {map[string]string{"ANTHROPIC_API_KEY": "x"}, "anthropic/claude-sonnet-5-5"},
		"both":      {map[string]string{"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"}, "openai/gpt-5-mini"},
		"set":       {map[string]string{"OPENAI_API_KEY": "x", "PARLEY_MODEL": "sim/tool"}, "sim/tool"},
	} {
		s, err := loadSettings(&flags{data: t.TempDir()}, environment(c.env))
		if err != nil {
			t.Fatal(err)
		}
		models, open, err := buildModels(s, environment(c.env))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, o := range open {
			o.Close()
		}
		if got := models.Default(); got != c.want {
			t.Errorf("%s: the default is %s, want %s", name, got, c.want)
		}
	}
}

func TestLocalTokenIsKeptAndPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := localToken(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, tokenFile), 0o644); err != nil { //nolint:gosec // what the test is about
		t.Fatal(err)
	}
	second, err := localToken(dir)
	if err != nil || second != first {
		t.Fatalf("the token changed: %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, tokenFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token file has mode %v, %v", info.Mode(), err)
	}
}
