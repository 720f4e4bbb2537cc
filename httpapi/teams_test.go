package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// TestTeamsThatCannotBe: a change that breaks a rule of teams is refused with the field that is wrong, and changes
// nothing.
func TestTeamsThatCannotBe(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := []string{"Authorization", s.key("one", "root", parley.RoleAdmin)}
	ada := []string{"Authorization", s.key("one", "ada", parley.RoleMember)}
	bob := []string{"Authorization", s.key("one", "bob", parley.RoleMember)}
	body := `{"name":"One"}`
	for level, name := range []string{"Two", "Three", "Four", "Five", ""} {
		made := s.member(body, ada...)
		if level+1 < parley.MaxTeamDepth {
			body = fmt.Sprintf(`{"name":%q,"lead_id":%q}`, name, made.ID)
		}
	}
	s.member(`{"name":"Alone"}`, ada...)
	bobs := s.member(`{"name":"Bobs"}`, bob...)
	const circle, deep, owner = "must not form a circle", "more than 5 levels", "a team has one owner"
	for _, try := range []struct {
		method, path, body, field, says string
		by                              []string
	}{
		{"PATCH", "/v1/agents/one", `{"lead_id":"one"}`, "lead_id", circle, ada},
		{"PATCH", "/v1/agents/one", `{"lead_id":"two"}`, "lead_id", circle, ada},
		{"PATCH", "/v1/agents/one", `{"lead_id":"five"}`, "lead_id", circle, ada},
		{"POST", "/v1/agents", `{"name":"Six","lead_id":"five"}`, "lead_id", deep, ada},
		{"PATCH", "/v1/agents/alone", `{"lead_id":"five"}`, "lead_id", deep, ada},
		{"PATCH", "/v1/agents/one", `{"lead_id":"alone"}`, "lead_id", deep, ada},
		{"POST", "/v1/agents", `{"name":"Another of Bob's","lead_id":"one"}`, "lead_id", owner, bob},
		{"PATCH", "/v1/agents/bobs", `{"lead_id":"one"}`, "lead_id", owner, bob},
		{"PATCH", "/v1/agents/alone", `{"lead_id":"bobs"}`, "lead_id", owner, ada},
		{"PATCH", "/v1/agents/two", fmt.Sprintf(`{"owner_id":%q}`, bobs.OwnerID), "owner_id", owner, admin},
	} {
		problem := want[Problem](s, 422, try.method, try.path, try.body, try.by...)
		if len(problem.Errors) != 1 || problem.Errors[0].Field != try.field ||
			!strings.Contains(problem.Errors[0].Message, try.says) {
			t.Errorf("%s %s %s: %+v; want %q about %s", try.method, try.path, try.body, problem, try.says, try.field)
		}
	}
	var levels []string
	for _, m := range want[parley.Team](s, 200, "GET", "/v1/teams/one", "", ada...).Members {
		levels = append(levels, fmt.Sprintf("%s %d", m.Slug, m.Depth))
	}
	if got := strings.Join(levels, ", "); got != "one 0, two 1, three 2, four 3, five 4" {
		t.Errorf("the team is %s", got)
	}
	if teams := want[page[parley.TeamLead]](s, 200, "GET", "/v1/teams", "", ada...).Data; len(teams) != 1 {
		t.Errorf("the teams are %+v", teams)
	}
}

// TestATeamHas64Members: neither a new agent nor one that exists is the 65th member; an archived one makes room.
func TestATeamHas64Members(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Lead"}`)
	for n := 2; n <= parley.MaxTeamMembers; n++ {
		s.member(fmt.Sprintf(`{"name":"Member %d","slug":"member-%d","lead_id":"lead"}`, n, n))
	}
	s.member(`{"name":"Waits"}`)
	for _, try := range [][3]string{
		{"POST", "/v1/agents", `{"name":"New","lead_id":"member-9"}`},
		{"PATCH", "/v1/agents/waits", `{"lead_id":"lead"}`},
	} {
		problem := want[Problem](s, 422, try[0], try[1], try[2])
		if len(problem.Errors) != 1 || problem.Errors[0].Field != "lead_id" ||
			!strings.HasSuffix(problem.Errors[0].Message, "would have 65 members, and 64 is the most") {
			t.Errorf("%s %s: %+v", try[0], try[1], problem)
		}
	}
	if got := s.do("DELETE", "/v1/agents/member-2", ""); got.status != 204 {
		t.Fatalf("archiving a member: status %d: %s", got.status, got.body)
	}
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/waits", `{"lead_id":"lead"}`)
	if team := want[parley.Team](s, 200, "GET", "/v1/teams/lead", ""); len(team.Members) != parley.MaxTeamMembers {
		t.Errorf("the team has %d members", len(team.Members))
	}
}

// TestALeadIsArchivedWithItsTeam: a lead with active subordinates is archived with all below it or not at all, and only
// by the owner and admins. The members come back after it.
func TestALeadIsArchivedWithItsTeam(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada := []string{"Authorization", s.key("one", "ada", parley.RoleMember)}
	bob := []string{"Authorization", s.key("one", "bob", parley.RoleMember)}
	s.member(`{"name":"Top"}`, ada...)
	s.member(`{"name":"Middle","lead_id":"top"}`, ada...)
	s.member(`{"name":"Low","lead_id":"middle"}`, ada...)
	areAll := func(status parley.AgentStatus) {
		t.Helper()
		for _, slug := range []string{"top", "middle", "low"} {
			if got := want[parley.Agent](s, 200, "GET", "/v1/agents/"+slug, "", ada...); got.Status != status {
				t.Errorf("%s is %s, want %s", slug, got.Status, status)
			}
		}
	}
	for _, try := range [][3]string{
		{"DELETE", "/v1/agents/top", ""},
		{"DELETE", "/v1/agents/top?cascade=false", ""},
		{"DELETE", "/v1/agents/middle", ""},
		{"PATCH", "/v1/agents/top", `{"status":"archived"}`},
	} {
		problem := want[Problem](s, 409, try[0], try[1], try[2], ada...)
		if !strings.Contains(problem.Detail, "?cascade=true") {
			t.Errorf("%s %s: %s", try[0], try[1], problem.Detail)
		}
	}
	want[Problem](s, 403, "DELETE", "/v1/agents/top?cascade=true", "", bob...)
	areAll(parley.AgentActive)
	for range 2 { // it may be repeated
		if got := s.do("DELETE", "/v1/agents/top?cascade=true", "", ada...); got.status != 204 {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
	}
	areAll(parley.AgentArchived)
	if teams := want[page[parley.TeamLead]](s, 200, "GET", "/v1/teams", "", ada...).Data; len(teams) != 0 {
		t.Errorf("the teams are %+v", teams)
	}
	want[Problem](s, 422, "PATCH", "/v1/agents/middle", `{"status":"active"}`, ada...)
	for _, slug := range []string{"top", "middle", "low"} {
		want[parley.Agent](s, 200, "PATCH", "/v1/agents/"+slug, `{"status":"active"}`, ada...)
	}
	areAll(parley.AgentActive)
}

// stops waits until a turn has been cancelled.
func (s *testServer) stops(session, turn parley.ID) {
	s.Helper()
	watch := s.stream("GET", "/v1/sessions/"+session.String()+"/events", "")
	defer func() { _ = watch.body.Close() }()
	watch.until("session.cancelled")
	if got := want[parley.Turn](s, 200, "GET", "/v1/turns/"+turn.String(), ""); got.Status != parley.TurnCancelled {
		s.Errorf("the turn is %s", got.Status)
	}
}

// TestWhoLeavesATeamLeavesNothingOpen: what an agent was asked, and what it has asked, is cancelled when it leaves its
// team or is archived. Whoever waits for it is told in its own background session, and the work stops.
func TestWhoLeavesATeamLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	for what, leaves := range map[string]func(*testServer){
		"it gets no lead": func(s *testServer) {
			want[parley.Agent](s, 200, "PATCH", "/v1/agents/works", `{"lead_id":null}`)
		},
		"it is archived": func(s *testServer) { s.do("DELETE", "/v1/agents/works", "") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := startServer(t)
			task := s.handedOver()
			s.runs(task)
			leaves(s)
			ended, told := s.ends(task, parley.DelegationCancelled)
			if told != `No answer to your task to Works (works), "Look.": it was cancelled: an agent left the team.` {
				t.Errorf("the lead was told %q", told)
			}
			s.stops(ended.ToSessionID, ended.TurnID)
		})
	}
	t.Run("what it has asked", func(t *testing.T) {
		t.Parallel()
		s := startServer(t)
		lead := s.member(`{"name":"Lead","model":"sim/lorem-600-1000"}`)
		works := s.member(fmt.Sprintf(`{"name":"Works","model":"sim/script","lead_id":%q}`, lead.ID))
		at := s.background(works)
		s.plays(at, []string{call("request_input", map[string]string{"question": "Which field?"}),
			`{"text":"I have asked."}`, `{"text":"Pity."}`})
		s.ended(at, 1)
		question := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?kind=question", "").Data[0]
		s.runs(question)
		want[parley.Agent](s, 200, "PATCH", "/v1/agents/works", `{"lead_id":null}`)
		ended, told := s.ends(question, parley.DelegationCancelled)
		const says = `No answer to your question to Lead (lead), "Which field?": it was cancelled: ` +
			`an agent left the team.`
		if told != says {
			t.Errorf("the agent was told %q", told)
		}
		s.stops(ended.ToSessionID, ended.TurnID)
	})
}
