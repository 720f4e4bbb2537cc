package e2e

import (
	"testing"
)

// anthropicClient is a program of the vendor's client, which says what it checked.
const anthropicClient = "clients/anthropic.mjs"

// The vendor's own client, unmodified, knows the server by address and key alone.
func TestAnthropicClient(t *testing.T) {
	onEach(t, func(t *testing.T, at place) {
		t.Helper()
		s := startAt(t, at)
		key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
		passed := s.clientChecks(t, anthropicClient, key, "ask")
		s.kill() // in the middle of an answer that nobody waits for any more
		s = startAt(t, at)
		passed = append(passed, s.clientChecks(t, anthropicClient, key, "reload")...)
		passes(t, "anthropic", map[string][]string{"@anthropic-ai/sdk": passed})
	})
}

// The program of docs/clients/anthropic.md is the one that runs here, and is short.
func TestAnthropicProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/anthropic.md", "clients/anthropic-program.mjs",
		"PARLEY_ANTHROPIC="+s.url+"/anthropic", "MODEL=sim/echo")
}

// The vendor's runners of tools answer the calls of agents that Parley runs.
func TestAnthropicAgentsClient(t *testing.T) {
	onEach(t, func(t *testing.T, at place) {
		t.Helper()
		const program = "clients/anthropic-agents.mjs"
		s := startAt(t, at)
		key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
		passed := s.clientChecks(t, program, key, "ask")
		s.kill() // while a call waits for its result
		s = startAt(t, at)
		passed = append(passed, s.clientChecks(t, program, key, "reload")...)
		passes(t, "anthropic-agents", map[string][]string{"@anthropic-ai/sdk": passed})
	})
}

// The program of docs/clients/anthropic-agents.md is the one that runs here, and is short.
func TestAnthropicAgentsProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	said := s.documentedRun(t, "../docs/clients/anthropic-agents.md", "clients/anthropic-agents-program.mjs",
		"PARLEY_ANTHROPIC="+s.url+"/anthropic", "MODEL=sim/script",
		`ASK=[[{"tool_call":{"name":"weather","arguments":{"city":"Oslo"}}}],[{"text":"Cold."}]]`)
	if said != "weather true\nCold.\n" {
		t.Errorf("the program said %q", said)
	}
}

// Parley is a provider like any other: one that another Parley asks continues its own sessions, and gets back the
// signatures of what it thought.
func TestMessagesOfAnotherParley(t *testing.T) { onEach(t, messagesOfAnotherParley) }

func messagesOfAnotherParley(t *testing.T, at place) {
	far := startAt(t, at)
	near := startProgram(t, binary, place{dir: t.TempDir()}, []string{
		"ANTHROPIC_BASE_URL=" + far.url + "/anthropic", "ANTHROPIC_API_KEY=" + far.key(),
	})
	const model = "anthropic/sim/reason"
	first := near.chat(model, said{user("one")}, nil)
	second := near.chat(model, said{user("one"), assistant(first.text()), user("two")}, nil)
	if first.text() == "" || second.text() == "" || second.session != first.session {
		t.Fatalf("the near server answered %+v and %+v", first, second)
	}
	var list struct {
		Data []struct {
			Statistics struct{ Messages int } `json:"statistics"`
		}
	}
	far.get("/v1/sessions", &list)
	if len(list.Data) != 1 || list.Data[0].Statistics.Messages != 4 {
		t.Errorf("the far server has %+v, want one session of four messages", list.Data)
	}
}
