package httpapi

import (
	"fmt"
	"testing"

	"example.org/parley"
)

// TestAToolSessionOfSomebodyElseWidensNothing: whoever opens a tool session below somebody else's session approves for
// their own session alone; nothing runs unasked in the other one.
func TestAToolSessionOfSomebodyElseWidensNothing(t *testing.T) {
	t.Parallel()
	server := &changing{of: harmful}
	p := startServerWithTools(t, server)
	s := &people{p, p.key("one", "vera", parley.RoleMember), p.key("one", "mallory", parley.RoleMember), ""}
	s.agent(`{"name":"hand","model":"sim/script","tools":["mcp__act"]}`, s.vera)
	root := s.session(`{"agent_id":"hand","visibility":"workspace"}`, "Authorization", s.vera).ID.String()
	below := s.session(`{"agent_id":"hand","visibility":"workspace","kind":"tool","parent_session_id":"`+root+`"}`,
		"Authorization", s.mallory)
	if below.RootID.String() != root {
		t.Fatalf("the tool session's root is %s", below.RootID)
	}
	act := fmt.Sprintf(`{"content":{"text":%q}}`,
		`[[{"tool_call":{"name":"mcp__act","arguments":{}}}],[{"text":"Acted."}]]`)
	asks := func(session, bearer string) {
		t.Helper()
		s.as(bearer, 201, "POST", "/v1/sessions/"+session+"/messages", act)
		stream := s.stream("GET", "/v1/sessions/"+session+"/events", "", "Authorization", bearer)
		stream.until("session.waiting")
	}
	asks(below.ID.String(), s.mallory)
	asked := want[page[parley.Approval]](s.testServer, 200, "GET",
		"/v1/sessions/"+below.ID.String()+"/approvals?status=pending", "", "Authorization", s.mallory).Data
	if len(asked) != 1 {
		t.Fatalf("%d approvals wait", len(asked))
	}
	s.as(s.mallory, 200, "POST", "/v1/approvals/"+asked[0].ID.String(), `{"decision":"approve","scope":"tree"}`)
	s.stream("GET", "/v1/sessions/"+root+"/events", "", "Authorization", s.vera).until("approval.resolved")
	if ran := server.ran(); ran > 1 {
		t.Fatalf("the tool ran %d times", ran)
	}
	asks(root, s.vera)
	asked = want[page[parley.Approval]](s.testServer, 200, "GET",
		"/v1/sessions/"+root+"/approvals?status=pending", "", "Authorization", s.vera).Data
	if len(asked) != 1 {
		t.Fatalf("at the root %d approvals wait", len(asked))
	}
	s.as(s.vera, 200, "POST", "/v1/approvals/"+asked[0].ID.String(), `{"decision":"approve","scope":"tree"}`)
	other := s.session(`{"agent_id":"hand","visibility":"workspace","kind":"tool","parent_session_id":"`+root+`"}`,
		"Authorization", s.mallory)
	asks(other.ID.String(), s.mallory) // nor does it the other way round
}
