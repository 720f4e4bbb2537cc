// Package page plays the scenarios of web/e2e in Chromium against the real binary: each file by itself, with servers, a
// browser and, on PostgreSQL, a database of its own.
package page

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley/internal/pgtest"
)

// pageBound is for the scenarios of one file; a server that does not respond takes less.
const pageBound = 10 * time.Minute

var binary string // built once for all tests

// databases are migrated databases in one throwaway PostgreSQL.
var databases = pgtest.NewDatabases(pgtest.Options{}, func(ctx context.Context, url string) error {
	migrate := exec.CommandContext(ctx, binary, "migrate", "up")
	migrate.Env = environment(url)
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("parley migrate up: %w: %s", err, out)
	}
	return nil
})

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "parley-page-")
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
		return databases.Main(m).Run()
	}())
}

// environment is this process's environment without Parley's settings, and with a database unless it is "".
func environment(database string) []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "PARLEY_") || strings.HasSuffix(name, "_API_KEY") ||
			strings.HasSuffix(name, "_BASE_URL")
	})
	if database != "" {
		env = append(env, "PARLEY_DATABASE_URL="+database, "PARLEY_DRAIN_WAIT=0s")
	}
	return env
}

// everywhere finds the files that have scenarios for both databases: the others only call `once`.
var everywhere = regexp.MustCompile(`(?m)^import [^;]*\btest\b[^;]*from 'node:test'`)

// TestPage plays every file on SQLite, and on PostgreSQL the scenarios that depend on the database. The longest files
// start first, so that none is left alone at the end: Go resumes waiting tests mostly in reverse.
func TestPage(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../web/e2e/*.test.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios of the page (%v)", err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of this repository
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(len(texts[a]), len(texts[b])) })
	for _, file := range files {
		t.Run("PostgreSQL/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			if !everywhere.MatchString(texts[file]) {
				t.Skip("none of its scenarios depends on the database")
			}
			play(t, file, databases.New(t))
		})
	}
	for _, file := range files {
		t.Run("SQLite/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			play(t, file, "")
		})
	}
}

// play runs the scenarios of a file against servers on a database; "" is SQLite.
func play(t *testing.T, file, database string) {
	t.Helper()
	path, err := filepath.Rel("../../web", file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageBound)
	defer cancel()
	command := exec.CommandContext(ctx, "node", "--test", "--test-reporter=spec", path)
	command.Dir = "../../web"
	command.Env = append(environment(database), "PARLEY_E2E_BINARY="+binary)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the page: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
