package e2e

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// pageBound is for all scenarios on one database.
const pageBound = 15 * time.Minute

// TestPage plays web/e2e in Chromium against servers of its own.
func TestPage(t *testing.T) { onEach(t, playPage) }

func playPage(t *testing.T, at place) {
	scenarios, err := filepath.Glob("../web/e2e/*.test.mjs")
	if err != nil || len(scenarios) == 0 {
		t.Fatalf("no scenarios of the page (%v)", err)
	}
	for i, scenario := range scenarios {
		if scenarios[i], err = filepath.Rel("../web", scenario); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), pageBound)
	defer cancel()
	atOnce := "--test-concurrency=2" // files: each starts servers and a browser of its own
	if at.database != "" {
		atOnce = "--test-concurrency=1" // they share a database
	}
	command := exec.CommandContext(
		ctx,
		"node",
		append([]string{"--test", atOnce, "--test-reporter=spec"}, scenarios...)...)
	command.Dir = "../web"
	command.Env = append(at.environment(), "PARLEY_E2E_BINARY="+binary)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("the page: %v\n%s", err, out)
	}
	t.Logf("%s", out)
}
