package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

// aisdkClient is a program of the package ai, which says what it checked.
const aisdkClient = "clients/aisdk.mjs"

// The package ai, unmodified and in each version, knows the server by address and key alone.
func TestAISDKClient(t *testing.T) { onEach(t, aisdkClients) }

func aisdkClients(t *testing.T, at place) {
	s := startAt(t, at)
	key := s.at.newKey(t, "keys", "create", "--name", "sdk", "--json")
	all := map[string][]string{}
	for _, version := range []string{"5", "6", "7"} { // 5 knows no approvals
		passed := s.clientChecks(t, aisdkClient, key, "ask", "AI="+version)
		s.kill() // in the middle of an answer that nobody waits for any more
		s = startAt(t, at)
		passed = append(passed, s.clientChecks(t, aisdkClient, key, "reload", "AI="+version)...)
		all["ai"+version] = passed
	}
	passes(t, "ai-sdk", all)
}

// The program of docs/clients/ai-sdk.md is the one that runs here, and is short.
func TestAISDKProgram(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir())
	s.documentedProgram(t, "../docs/clients/ai-sdk.md", "clients/aisdk-program.mjs",
		"PARLEY_AI_SDK="+s.url+"/ai-sdk/parley", "MODEL=sim/echo")
}

// A chat as long as it likes is read in bounds: what a client gets of it are its newest messages, not all the memory.
func TestAChatIsReadWithinBounds(t *testing.T) {
	t.Parallel()
	const each, most = 1_000_000, 2 * parley.MaxPageBytes
	s := start(t, t.TempDir())
	status, body := s.ask(t, http.MethodPost, "/v1/sessions", `{"agent_id":"parley"}`)
	var session parley.Session
	if err := json.Unmarshal([]byte(body), &session); err != nil {
		t.Fatalf("%d %v", status, err)
	}
	messages := "/v1/sessions/" + session.ID.String() + "/messages"
	said := `{"content":{"text":"` + strings.Repeat("x", each) + `"},"respond":false}`
	for range most/each + 8 {
		if status, body = s.ask(t, http.MethodPost, messages, said); status != 201 {
			t.Fatalf("%d %s", status, parley.Clip(body, 300))
		}
	}
	status, body = s.ask(t, http.MethodGet, "/ai-sdk/parley/"+session.ID.String()+"/messages", "")
	if status != 200 || !strings.HasSuffix(body, `"truncated":true}`) || len(body) < each || len(body) > most+2*each {
		t.Errorf("%d with %d bytes; want the newest of %d", status, len(body), most)
	}
}
