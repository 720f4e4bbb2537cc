package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// background returns the path of an agent's background session.
func (s *testServer) background(agent parley.Agent) string {
	s.Helper()
	opened, err := s.store.BackgroundSession(
		s.Context(), store.Scope{WorkspaceID: agent.WorkspaceID}, agent.ID, 0,
	)
	if err != nil {
		s.Fatal(err)
	}
	return "/v1/sessions/" + opened.Session.ID.String()
}

func (s *testServer) member(body string, headers ...string) parley.Agent {
	s.Helper()
	return want[parley.Agent](s, 201, "POST", "/v1/agents", body, headers...)
}

// handedOver returns a task that a subordinate works on, for as long as a test takes.
func (s *testServer) handedOver(headers ...string) parley.Delegation {
	s.Helper()
	lead := s.member(`{"name":"Lead","model":"sim/script"}`, headers...)
	s.member(
		fmt.Sprintf(`{"name":"Works","model":"sim/lorem-600-1000","lead_id":%q}`, lead.ID),
		headers...)
	at := s.background(lead)
	s.plays(at, []string{call("delegate_to_agent", map[string]string{"agent": "works", "task": "Look."}),
		`{"text":"It is at work."}`}, headers...)
	watch := s.stream("GET", at+"/events", "", headers...)
	defer func() { _ = watch.body.Close() }()
	watch.until("delegation.sent")
	return want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?agent="+lead.Slug, "", headers...).Data[0]
}

// ended waits until a session has had so many ends of turns, and no unfinished one.
func (s *testServer) ended(at string, turns int) {
	s.Helper()
	watch := s.stream("GET", at+"/events", "")
	defer func() { _ = watch.body.Close() }()
	for n := 0; n < turns; {
		next, err := watch.next()
		if err != nil {
			s.Fatal(err)
		}
		switch next.event {
		case "session.completed", "session.failed", "session.cancelled":
			n++
		}
	}
}

// call is a step of a script that calls one tool.
func call(name string, arguments any) string {
	encoded, _ := json.Marshal(arguments) //nolint:errchkjson // of a test
	return fmt.Sprintf(`{"tool_call":{"name":%q,"arguments":%s}}`, name, encoded)
}

// plays posts a script.
func (s *testServer) plays(at string, steps []string, headers ...string) {
	s.Helper()
	text, _ := json.Marshal("[[" + strings.Join(steps, "],[") + "]]") //nolint:errchkjson // a string
	want[parley.Message](s, 201, "POST", at+"/messages", `{"content":{"text":`+string(text)+`}}`, headers...)
}

// TestALeadIsWokenByBothAnswers: a lead that hands tasks to two subordinates and says so ends its turn; each works by
// itself, and both answers come back, each saying who answers what.
func TestALeadIsWokenByBothAnswers(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	for _, name := range []string{"Scout", "Clerk"} {
		s.member(fmt.Sprintf(`{"name":%q,"description":"Helps.","model":"sim/echo","lead_id":%q}`, name, lead.ID))
	}
	at := s.background(lead)
	task := func(agent string) string {
		return call("delegate_to_agent", map[string]string{"agent": agent, "task": "Look for " + agent + "."})
	}
	s.plays(at, []string{task("scout") + "," + task("clerk"), `{"text":"Both are at work."}`, `{"text":"One answer."}`,
		`{"text":"Another answer."}`})
	// Answers that wait enter together; one that comes after the lead has woken has a turn of its own.
	got := map[string]string{}
	watch := s.stream("GET", at+"/events", "")
	defer func() { _ = watch.body.Close() }()
	for len(got) < 2 {
		watch.until("session.completed")
		for _, m := range s.recordOf(at) {
			var content parley.UserContent
			if m.Role != parley.RoleUser || m.Author.Kind != parley.AuthorAgent {
				continue
			}
			if err := json.Unmarshal(m.Content, &content); err != nil {
				t.Fatal(err)
			}
			got[m.Author.Name], _, _ = strings.Cut(content.Text, " [")
		}
	}
	if diff := cmp.Diff(map[string]string{
		"Scout": `Answer to your task to Scout (scout), "Look for scout."`,
		"Clerk": `Answer to your task to Clerk (clerk), "Look for clerk."`,
	}, got); diff != "" {
		t.Errorf("what came back (-want +got):\n%s", diff)
	}
}

// TestTheBudgetOfAChain: the budget of a background session shows what all agents spent for one message. What has no
// room fails, and the lead is told why.
func TestTheBudgetOfAChain(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script","max_tokens":10,"limits":{"chain_tokens":1000000}}`)
	works := s.member(fmt.Sprintf(`{"name":"Works","model":"sim/echo","lead_id":%q}`, lead.ID))
	at, below := s.background(lead), s.background(works)
	steps := []string{
		call("delegate_to_agent", map[string]string{"agent": "works", "task": "Look."}),
		`{"text":"Asked."}`,
	}
	chain := func(at string) *engine.ChainSpending {
		t.Helper()
		return want[engine.SessionBudget](s, 200, "GET", at+"/budget", "").Chain
	}
	if got := chain(at); got != nil {
		t.Errorf("before any message the chain is %+v", got)
	}
	s.plays(at, steps)
	s.ended(at, 2)
	whole, same := chain(at), chain(below)
	if whole == nil || same == nil || *whole.ChainTokens != 1_000_000 || whole.Tokens == 0 ||
		whole.RootID != same.RootID || whole.Tokens != same.Tokens {
		t.Fatalf("the chain is %+v for the lead and %+v for the other", whole, same)
	}
	sent := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations", "").Data[0]
	detail := want[engine.DelegationDetail](s, 200, "GET", "/v1/delegations/"+sent.ID.String(), "")
	if diff := cmp.Diff(whole, detail.Chain); diff != "" || detail.Text != "Look." || detail.RootID != whole.RootID {
		t.Errorf("the delegation is %+v; its chain (-budget +delegation):\n%s", detail.Delegation, diff)
	}
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/works", `{"max_tokens":900000}`)
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/lead", `{"limits":{"chain_tokens":500000}}`)
	s.plays(at, steps)
	s.ended(at, 4)
	failed := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?status=failed", "").Data
	if len(failed) != 1 || !strings.Contains(failed[0].Reason, "chain_tokens") {
		t.Errorf("without room: %+v", failed)
	}
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/lead", `{"limits":null}`)
	detail = want[engine.DelegationDetail](s, 200, "GET", "/v1/delegations/"+sent.ID.String(), "")
	if detail.Chain != nil {
		t.Errorf("without limits the chain is %+v", detail.Chain)
	}
}

// TestAPersonGoesFirstInTheBackground: what a person writes into a background session runs before what waits there, and
// what a service writes does not.
func TestAPersonGoesFirstInTheBackground(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/lorem-600-1000"}`)
	s.member(fmt.Sprintf(`{"name":"Works","model":"sim/echo","lead_id":%q}`, lead.ID))
	at := s.background(lead)
	robot, person := s.key("default", "robot", parley.RoleAdmin), "Bearer "+testToken
	post := func(text, by string) {
		want[parley.Message](s, 201, "POST", at+"/messages", `{"content":{"text":"`+text+`"}}`, "Authorization", by)
	}
	post("running", robot)
	post("a robot's", robot)
	post("another robot's", robot)
	post("a person's", person)
	var queued []string
	waiting := want[page[parley.Message]](s, 200, "GET", at+"/messages?status=queued", "",
		"Authorization", person).Data
	slices.SortFunc(waiting, func(a, b parley.Message) int { return int(*a.Position - *b.Position) })
	for _, m := range waiting {
		var content parley.UserContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			t.Fatal(err)
		}
		queued = append(queued, content.Text)
	}
	if want := []string{"a person's", "a robot's", "another robot's"}; !slices.Equal(queued, want) {
		t.Errorf("in the order %q, want %q", queued, want)
	}
}

// TestTeamToolsAreOffered: the tools of teams are offered in the background session of a member, and in none of its
// other sessions.
func TestTeamToolsAreOffered(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	s.member(fmt.Sprintf(`{"name":"Works","model":"sim/echo","lead_id":%q}`, lead.ID))
	foreground := want[parley.Session](s, 201, "PUT", "/v1/agents/lead/foreground", "").ID.String()
	ordinary := s.session(`{"agent_id":"lead"}`).ID.String()
	for at, offered := range map[string]bool{
		s.background(lead): true, "/v1/sessions/" + foreground: false, "/v1/sessions/" + ordinary: false,
	} {
		request := s.do("GET", at+"/context", "")
		if got := strings.Contains(string(request.body), "delegate_to_agent"); request.status != 200 || got != offered {
			t.Errorf("%s: status %d, the tools are offered: %v; want %v", at, request.status, got, offered)
		}
	}
}
