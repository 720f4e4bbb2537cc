package e2e

import "testing"

// aguiClient is a program of the package @ag-ui/client, which says what it checked.
const aguiClient = "clients/agui.mjs"

// HttpAgent of the package @ag-ui/client, unmodified, knows the server by address and key alone. It checks each event
// against the protocol's schema and rules of order.
func TestAGUIClient(t *testing.T) { onEach(t, aguiClients) }

func aguiClients(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	passed := s.clientChecks(t, aguiClient, key, "ask")
	s.kill() // in the middle of an answer that nobody waits for any more
	s = startAt(t, at)
	passed = append(passed, s.clientChecks(t, aguiClient, key, "reload")...)
	passes(t, "ag-ui", map[string][]string{"@ag-ui/client": passed})
}

// The program of docs/clients/ag-ui.md is the one that runs here, and is short.
func TestAGUIProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/ag-ui.md", "clients/agui-program.mjs",
		"PARLEY_AGUI="+s.url+"/agui/parley", "MODEL=sim/echo")
}
