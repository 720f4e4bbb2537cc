package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// a2aClient is a program of the protocol's own package, which says what it checked.
const a2aClient = "clients/a2a.mjs"

// The protocol's package, unmodified, knows the server by address and key alone.
func TestA2AClient(t *testing.T) { onEach(t, a2aChecks) }

func a2aChecks(t *testing.T, at place) {
	const settings = "webhooks: {allow_private: true}\n" // the receiver is on this machine
	if err := os.WriteFile(filepath.Join(at.dir, "parley.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, a2aClient, key, "ask")
	s.kill() // in the middle of an answer that nobody waits for any more
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, a2aClient, key, "reload")...)
	passes(t, "a2a", map[string][]string{"@a2a-js/sdk": passed})
}

// The program of docs/clients/a2a.md is the one that runs here, and is short.
func TestA2AProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/a2a.md", "clients/a2a-program.mjs", "PARLEY_A2A="+s.url+"/a2a/parley/",
		"MODEL=sim/echo")
}
