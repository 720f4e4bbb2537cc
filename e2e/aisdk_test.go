package e2e

import (
	"testing"
)

// aisdkClient is a program of the package ai, which says what it checked.
const aisdkClient = "clients/aisdk.mjs"

// aisdkChecks is how many checks pass for each major version of the package: version 5 knows no approvals.
var aisdkChecks = map[string]int{"5": 9, "6": 10, "7": 10}

// The package ai, unmodified and in each version, knows the server by address and key alone.
func TestAISDKClient(t *testing.T) { onEach(t, aisdkClients) }

func aisdkClients(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	for version, want := range aisdkChecks {
		passed := s.clientChecks(t, aisdkClient, key, "ask", "AI="+version)
		s.kill() // in the middle of an answer that nobody waits for any more
		s = startAt(t, at)
		passed = append(passed, s.clientChecks(t, aisdkClient, key, "reload", "AI="+version)...)
		if len(passed) != want {
			t.Errorf("version %s: %d checks passed, want %d: %q", version, len(passed), want, passed)
		}
	}
}

// The program of docs/clients/ai-sdk.md is the one that runs here, and is short.
func TestAISDKProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/ai-sdk.md", "clients/aisdk-program.mjs",
		"PARLEY_AI_SDK="+s.url+"/ai-sdk/parley", "MODEL=sim/echo")
}
