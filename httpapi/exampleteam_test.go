package httpapi

import (
	"net/http"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// TestTheExampleTeamIsMadeOnce: however often it is asked for, at once too, there is one team with one schedule and one
// first task, whose briefing comes to the inbox of the person who asked.
func TestTheExampleTeamIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	watch := s.stream("GET", "/v1/events", "")
	defer func() { _ = watch.body.Close() }()
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			if got := s.do("POST", "/v1/teams/example", ""); got.status != 201 && got.status != 200 {
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	asking.Wait()
	watch.until("inbox.created")
	team := want[parley.Team](s, http.StatusOK, "POST", "/v1/teams/example", "")
	if team.Slug != engine.ExampleTeamLead || len(team.Members) != 5 {
		t.Fatalf("the team is %+v", team)
	}
	at := "/v1/sessions/" + team.Members[0].Background.SessionID.String()
	tasks := 0
	for _, m := range s.recordOf(at) {
		if m.Role == parley.RoleUser && m.Author.Kind != parley.AuthorAgent {
			tasks++
		}
	}
	schedules := want[page[parley.Schedule]](s, 200, "GET", "/v1/schedules", "").Data
	briefings := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?type=briefing", "").Data
	if tasks != 1 || len(schedules) != 1 || len(briefings) != 1 {
		t.Errorf("there are %d tasks, %d schedules, %d briefings; want one each", tasks, len(schedules), len(briefings))
	}
	if len(briefings) == 1 && len(briefings[0].Citations) != 4 {
		t.Errorf("the briefing cites %+v, want a message of each subordinate", briefings[0].Citations)
	}
}

// TestTheExampleTeamIsCompleted: what an interrupted request has not made is made by the next.
func TestTheExampleTeamIsCompleted(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Editor","slug":"example-editor","model":"sim/team"}`)
	s.member(`{"name":"Scout","slug":"example-scout","model":"sim/team","lead_id":"` + lead.ID.String() + `"}`)
	if team := want[parley.Team](s, 201, "POST", "/v1/teams/example", ""); len(team.Members) != 5 {
		t.Errorf("the team is %+v", team)
	}
}

// TestTheExampleTeamOfSomebodyElse: a reader may not make it, a colleague's is not touched, and an archived one stays.
func TestTheExampleTeamOfSomebodyElse(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ada, ben := s.key("one", "ada", parley.RoleMember), s.key("one", "ben", parley.RoleMember)
	reader := s.key("one", "reader", parley.RoleReader)
	want[Problem](s, 403, "POST", "/v1/teams/example", "", "Authorization", reader)
	want[parley.Team](s, 201, "POST", "/v1/teams/example", "", "Authorization", ada)
	want[Problem](s, 409, "POST", "/v1/teams/example", "", "Authorization", ben)
	if got := s.do("DELETE", "/v1/agents/example-editor?cascade=true", "", "Authorization", ada); got.status != 204 {
		t.Fatalf("archiving the team: %d %s", got.status, got.body)
	}
	want[Problem](s, 409, "POST", "/v1/teams/example", "", "Authorization", ada)
}
