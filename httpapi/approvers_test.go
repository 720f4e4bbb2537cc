package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
)

// TestTwoPeopleApprove: a rule names how many, none of whom may have asked; the
// session's grants lift it in nothing, and every answer is audited.
func TestTwoPeopleApprove(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(
		`{"name":"Careful","model":"sim/script","tools":["mcp__act"],"grants":[{"tool":"mcp__*","effect":"ask",`+
			`"approvers":2,"by_others":true}]}`,
		s.ada,
	)
	session := s.session(
		`{"agent_id":"`+agent.ID.String()+`","visibility":"workspace","grants":[{"tool":"mcp__act","effect":"allow"}]}`,
		"Authorization",
		s.ben,
	).ID.String()
	cleo := s.key("one", "cleo", parley.RoleMember)
	asked := s.asks("an allowing grant of the session's", session, cleo, parley.AskedByRule)
	path := "/v1/approvals/" + asked.ID.String()
	if asked.Approvers != 2 || asked.Missing != 2 || len(asked.RequesterIDs) != 2 {
		t.Errorf("asked on %+v", asked)
	}
	for who, bearer := range map[string]string{"the session's owner": s.ben, "whose message it was": cleo} {
		if got := s.do("POST", path, approveOnce, "Authorization", bearer); got.status != 403 {
			t.Errorf("a yes of %s: %d %s", who, got.status, got.body)
		}
	}
	if got := s.do("POST", path, approveSession, "Authorization", s.someone); got.status != 422 {
		t.Errorf("a yes for longer: %d %s", got.status, got.body)
	}
	one := want[parley.Approval](s.testServer, 200, "POST", path, approveOnce, "Authorization", s.ada)
	if one.State != parley.ApprovalPending || one.Missing != 1 || len(one.ApprovedBy) != 1 ||
		one.ApprovedBy[0].Name != "ada" {
		t.Errorf("1 of 2 is %+v", one)
	}
	if got := s.do(
		"POST",
		path,
		approveOnce,
		"Authorization",
		s.ada,
	); got.status != 409 ||
		!strings.Contains(string(got.body), `"state":"pending"`) {
		t.Errorf("a second yes of one person: %d %s", got.status, got.body)
	}
	if s.tool.ran() != 0 {
		t.Error("it ran after one of two")
	}
	s.answers(asked, approveOnce, s.someone)
	if s.tool.ran() != 1 {
		t.Errorf("%d runs after both", s.tool.ran())
	}
	asked = s.asks("again", session, s.ben, parley.AskedByRule)
	s.answers(asked, `{"decision":"deny"}`, s.ben)
	if s.tool.ran() != 1 {
		t.Error("one no is not enough")
	}
	s.audit.Close() // all of it is written then
	entries := want[page[parley.AuditEntry]](
		s.testServer,
		200,
		"GET",
		"/v1/audit?session="+session+"&limit=100",
		"",
		"Authorization",
		s.someone,
	).Data
	answers := map[string]int{}
	for _, entry := range entries {
		if entry.Action == "decideApproval" {
			answers[entry.PrincipalName]++
		}
	}
	if diff := cmp.Diff(map[string]int{"ada": 1, "someone": 1, "ben": 1}, answers); diff != "" {
		t.Errorf("answers in the audit (-want +got):\n%s", diff)
	}
}

// TestNamedApprovalsAreChecked: who approves belongs to asking, within a bound.
func TestNamedApprovalsAreChecked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, grant := range []string{`{"tool":"*","effect":"allow","approvers":2}`,
		`{"tool":"*","effect":"deny","by_others":true}`, `{"tool":"*","effect":"ask","approvers":9}`,
		`{"tool":"*","effect":"ask","approvers":-1}`} {
		if got := s.do("POST", "/v1/agents", `{"name":"x","grants":[`+grant+`]}`); got.status != 422 {
			t.Errorf("%s: %d %s", grant, got.status, got.body)
		}
	}
}

// TestAnotherPrincipalsIdempotencyKey: a key belongs to whoever used it first; the
// same request of another principal under it is 409, and makes nothing.
func TestAnotherPrincipalsIdempotencyKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada, ben := s.key("one", "ada", parley.RoleMember), s.key("one", "ben", parley.RoleMember)
	shared := s.session(`{"visibility":"workspace"}`, "Authorization", ada).ID.String()
	for path, body := range map[string]string{
		"/v1/sessions":                         `{"title":"x"}`,
		"/v1/agents":                           `{"name":"Twice"}`,
		"/v1/sessions/" + shared + "/messages": `{"content":{"text":"x"},"respond":false}`,
		"/v1/sessions/" + shared + "/fork":     `{}`,
	} {
		ask := func(bearer string) reply {
			return s.do("POST", path, body, "Authorization", bearer, "Idempotency-Key", "same")
		}
		if path == "/v1/sessions/"+shared+"/fork" {
			s.do(
				"POST",
				"/v1/sessions/"+shared+"/messages",
				`{"content":{"text":"to fork at"},"respond":false}`,
				"Authorization",
				ada,
			)
			ask = func(bearer string) reply {
				return s.do("POST", path, body, "Authorization", bearer, "Idempotency-Key", "fork")
			}
		}
		first := ask(ada)
		if first.status/100 != 2 {
			t.Fatalf("%s: %d %s", path, first.status, first.body)
		}
		if got := ask(ben); got.status != http.StatusConflict || got.problem(t).Code != parley.CodeKeyReused {
			t.Errorf("%s by another principal: %d %s", path, got.status, got.body)
		}
		if again := ask(ada); again.status != first.status {
			t.Errorf("%s again by the first: %d %s", path, again.status, again.body)
		}
	}
	if got := want[page[parley.Message]](
		s,
		200,
		"GET",
		fmt.Sprintf("/v1/sessions/%s/messages", shared),
		"",
		"Authorization",
		ada,
	).Data; len(
		got,
	) != 2 {
		t.Errorf("%d messages are there", len(got))
	}
}
