package e2e

import "testing"

// agentsClient is the vendor's package against the Agents API.
const agentsClient = "clients/agents.mjs"

// The vendor's own client, with its runners of tools, knows the server by address and key alone.
func TestOpenAIAgentsClient(t *testing.T) { onEach(t, openaiAgents) }

func openaiAgents(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, agentsClient, key, "ask")
	s.kill() // in the middle of an answer
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, agentsClient, key, "reload")...)
	passes(t, "openai-agents", map[string][]string{"openai": passed})
}

// The program of docs/clients/openai-agents.md keeps one session.
func TestOpenAIAgentsProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/openai-agents.md", "clients/agents-program.mjs",
		"PARLEY_OPENAI="+s.url+"/openai/v1", "MODEL=sim/echo")
}
