package e2e

import "testing"

// responsesClient is the vendor's package against Responses and Conversations.
const responsesClient = "clients/responses.mjs"

// The vendor's own client keeps conversations on the server, and finds them again after a kill.
func TestOpenAIResponsesClient(t *testing.T) { onEach(t, openaiResponses) }

func openaiResponses(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, responsesClient, key, "ask")
	s.kill() // in the middle of a background response
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, responsesClient, key, "reload")...)
	passes(t, "openai-responses", map[string][]string{"openai": passed})
}

// The program of docs/clients/openai-responses.md keeps one conversation.
func TestOpenAIResponsesProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/openai-responses.md", "clients/responses-program.mjs",
		"PARLEY_OPENAI="+s.url+"/openai/v1", "MODEL=sim/echo")
}

// The vendor's WebSocket keeps what is not stored for as long as it is open, and no longer.
func TestOpenAIResponsesSocketClient(t *testing.T) { onEach(t, openaiResponsesSocket) }

func openaiResponsesSocket(t *testing.T, at place) {
	const program = "clients/responsesocket.mjs"
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, program, key, "ask")
	s.kill() // in the middle of a response whose client has gone
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, program, key, "reload")...)
	passes(t, "openai-responses-websocket", map[string][]string{"openai": passed})
}

// openResponsesChecks is how many checks the Open Responses suite of 2026-04-24 has, seven of them over WebSocket.
const openResponsesChecks = 17

// Responses have the shapes and the behaviour that the Open Responses suite asks for.
func TestOpenResponses(t *testing.T) { onEach(t, openResponses) }

func openResponses(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "suite", "--json")
	passed := s.clientChecks(t, "clients/openresponses.mjs", key, "ask")
	if len(passed) != openResponsesChecks {
		t.Errorf("%d checks ran: %q; want %d", len(passed), passed, openResponsesChecks)
	}
	passes(t, "open-responses", map[string][]string{"ws": passed})
}
