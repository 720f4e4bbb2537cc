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

// becomes waits until a delegation is as wanted, and returns it.
func (s *testServer) becomes(id parley.ID, wanted func(*parley.Delegation) bool) parley.Delegation {
	s.Helper()
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	var now parley.Delegation
	for {
		if _, err := feed.next(); err != nil {
			s.Fatalf("the %s stays as it is: %+v (%v)", now.Kind, now, err)
		}
		now = want[engine.DelegationDetail](s, 200, "GET", "/v1/delegations/"+id.String(), "").Delegation
		if wanted(&now) {
			return now
		}
	}
}

// runs waits until the receiver of a delegation works on it.
func (s *testServer) runs(d parley.Delegation) {
	s.Helper()
	s.becomes(d.ID, func(now *parley.Delegation) bool { return now.Status == parley.DelegationRunning })
}

// ends waits until a delegation has ended in a status and its sender was told, by a message that starts a turn.
func (s *testServer) ends(d parley.Delegation, as parley.DelegationStatus) (ended parley.Delegation, told string) {
	s.Helper()
	ended = s.becomes(d.ID, func(now *parley.Delegation) bool { return !now.ReturnMessageID.IsZero() })
	if ended.Status != as {
		s.Errorf("the %s is %s (%s), want %s", d.Kind, ended.Status, ended.Reason, as)
	}
	m := want[parley.Message](s, 200, "GET", "/v1/messages/"+ended.ReturnMessageID.String(), "")
	var content parley.UserContent
	if err := json.Unmarshal(m.Content, &content); err != nil || m.SessionID != d.FromSessionID || m.TurnID.IsZero() ||
		m.Author.Kind != parley.AuthorAgent {
		s.Errorf("the sender was told by %+v (%v)", m, err)
	}
	return ended, content.Text
}

// failuresIn returns the errors of tools that the model of a session has read.
func (s *testServer) failuresIn(at string) (failures []string) {
	s.Helper()
	for _, m := range s.recordOf(at) {
		var result parley.ToolResultContent
		if m.Role == parley.RoleToolResult && json.Unmarshal(m.Content, &result) == nil && result.Error != nil {
			failures = append(failures, *result.Error)
		}
	}
	return failures
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

// TestDelegationsAreFound: the list is filtered by agents, sessions, states, kinds and the root, and filters combine.
func TestDelegationsAreFound(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	scout := s.member(fmt.Sprintf(`{"name":"Scout","model":"sim/lorem-600-1000","lead_id":%q}`, lead.ID))
	clerk := s.member(fmt.Sprintf(`{"name":"Clerk","model":"sim/script","lead_id":%q}`, lead.ID))
	at, below := s.background(lead), s.background(clerk)
	task := func(agent string) string {
		return call("delegate_to_agent", map[string]string{"agent": agent, "task": "Look."})
	}
	s.plays(at, []string{task("scout") + "," + task("clerk") + "," + call("create_inbox_item", map[string]string{
		"title": "The harvest", "summary": "All is in.", "text": "Twelve carts.",
	}), `{"text":"Sent."}`, `{"text":"Pity."}`, `{"text":"The northern one."}`})
	names, found := map[parley.ID]string{}, map[string]parley.Delegation{}
	notes := func(name, query string, as parley.DelegationStatus) {
		t.Helper()
		list := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?"+query, "").Data
		if len(list) != 1 {
			t.Fatalf("%s: %+v", query, list)
		}
		names[list[0].ID] = name
		found[name] = s.becomes(list[0].ID, func(now *parley.Delegation) bool { return now.Status == as })
	}
	s.ended(at, 2) // the clerk plays no script, and the lead is told
	notes("failed", "agent=clerk", parley.DelegationFailed)
	notes("running", "agent=scout", parley.DelegationRunning)
	notes("briefing", "kind=briefing", parley.DelegationDelivered)
	s.plays(below, []string{call("request_input", map[string]string{"question": "Which field?"}),
		`{"text":"I have asked."}`, `{"text":"Thanks."}`})
	s.ended(at, 3)
	notes("question", "kind=question", parley.DelegationAnswered)
	path := parley.ID.String
	inSession := func(at string) string { return "session=" + strings.TrimPrefix(at, "/v1/sessions/") }
	for query, wanted := range map[string]string{
		"":                                       "briefing failed question running",
		"agent=lead":                             "briefing failed question running",
		"agent=clerk":                            "failed question",
		"agent=scout&agent=" + path(clerk.ID):    "failed question running",
		inSession(s.background(scout)):           "running",
		inSession(below):                         "failed question",
		"status=running":                         "running",
		"status=failed&status=answered":          "failed question",
		"kind=task":                              "failed running",
		"kind=question&kind=briefing":            "briefing question",
		"kind=report":                            "",
		"root=" + path(found["failed"].RootID):   "briefing failed running",
		"root=" + path(found["question"].RootID): "question",
		"root=" + path(found["failed"].RootID) + "&kind=question": "",
		"agent=clerk&kind=task&status=failed":                     "failed",
		"agent=clerk&status=running":                              "",
	} {
		var got []string
		for _, d := range want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?"+query, "").Data {
			got = append(got, names[d.ID])
		}
		slices.Sort(got)
		if all := strings.Join(got, " "); all != wanted {
			t.Errorf("%q finds %q, want %q", query, all, wanted)
		}
	}
	want[Problem](s, 422, "GET", "/v1/delegations?status=lost", "")
	want[Problem](s, 404, "GET", "/v1/delegations?agent=nobody", "")
}

// TestACancelledTaskStops: its turn stops, what was sent on for it is cancelled too, and the agent that gave it is
// told.
func TestACancelledTaskStops(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	middle := s.member(fmt.Sprintf(`{"name":"Middle","model":"sim/script","lead_id":%q}`, lead.ID))
	s.member(fmt.Sprintf(`{"name":"Works","model":"sim/lorem-600-1000","lead_id":%q}`, middle.ID))
	at, below := s.background(lead), s.background(middle)
	task := func(agent string) string {
		return call("delegate_to_agent", map[string]string{"agent": agent, "task": "Look."})
	}
	s.plays(below, []string{`{"text":"Ready."}`, task("works"), `{"text":"Sent on."}`})
	s.ended(below, 1)
	s.plays(at, []string{task("middle"), `{"text":"Sent."}`, `{"text":"Pity."}`})
	s.ended(at, 1)
	s.ended(below, 2)
	list := func(agent string) parley.Delegation {
		t.Helper()
		return want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations?order=asc&agent="+agent, "").Data[0]
	}
	upper, lower := list("lead"), list("works")
	s.runs(lower)
	if upper = s.becomes(upper.ID, func(*parley.Delegation) bool { return true }); upper.Finished() {
		t.Errorf("while its part is open the task is %+v", upper)
	}
	path := "/v1/delegations/" + upper.ID.String()
	for range 2 { // a cancelled one stays cancelled
		if d := want[parley.Delegation](s, 200, "POST", path+"/cancel", ""); d.Status != parley.DelegationCancelled {
			t.Errorf("cancelled: %+v", d)
		}
	}
	if _, told := s.ends(upper, parley.DelegationCancelled); told !=
		`No answer to your task to Middle (middle), "Look.": it was cancelled.` {
		t.Errorf("the lead was told %q", told)
	}
	cancelled := s.becomes(lower.ID, (*parley.Delegation).Finished)
	if cancelled.Status != parley.DelegationCancelled || cancelled.Reason != "the work that it was for has ended" {
		t.Errorf("what was sent on is %+v", cancelled)
	}
	s.stops(cancelled.ToSessionID, cancelled.TurnID)
}

// TestAnAnsweredTaskIsNotCancelled: what has ended otherwise cannot be cancelled, and the refusal says how it ended.
func TestAnAnsweredTaskIsNotCancelled(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	s.member(fmt.Sprintf(`{"name":"Works","model":"sim/echo","lead_id":%q}`, lead.ID))
	at := s.background(lead)
	s.plays(at, []string{call("delegate_to_agent", map[string]string{"agent": "works", "task": "Look."}),
		`{"text":"Sent."}`, `{"text":"Thanks."}`})
	s.ended(at, 2)
	task := want[page[parley.Delegation]](s, 200, "GET", "/v1/delegations", "").Data[0]
	problem := want[Problem](s, 409, "POST", "/v1/delegations/"+task.ID.String()+"/cancel", "")
	if problem.State == nil || *problem.State != string(parley.DelegationAnswered) {
		t.Errorf("the refusal is %+v", problem)
	}
}

// TestAChainEndsAfter16Hops: two agents that send each other on and on are stopped; the one that may not send reads why
// and goes on, and the person for whom they work is told.
func TestAChainEndsAfter16Hops(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script","context_policy":{"kind":"all"}}`)
	works := s.member(fmt.Sprintf(
		`{"name":"Works","model":"sim/script","context_policy":{"kind":"all"},"lead_id":%q}`, lead.ID))
	at, below := s.background(lead), s.background(works)
	down := call("delegate_to_agent", map[string]string{"agent": "works", "task": "Look."})
	up := call("request_input", map[string]string{"question": "Where?"})
	asks, hands := []string{`{"text":"Ready."}`}, []string{down, `{"text":"Sent."}`}
	for range parley.MaxDelegationHops / 2 {
		asks, hands = append(asks, up, `{"text":"Asked."}`), append(hands, down, `{"text":"Sent."}`)
	}
	s.plays(below, asks)
	s.ended(below, 1)
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	s.plays(at, hands)
	feed.until("inbox.created")
	const says = "this work has already been passed on 16 times, the maximum; do it yourself or end your turn"
	if got := s.failuresIn(at); len(got) != 1 || got[0] != says {
		t.Errorf("the lead read %q", got)
	}
	alerts := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?type=alert", "").Data
	if len(alerts) != 1 || alerts[0].Title != "Agents were stopped from passing work on" ||
		alerts[0].Summary != "Lead (lead) could not send a task: "+says+"." {
		t.Errorf("the alerts are %+v", alerts)
	}
	hops := map[int]int{}
	list := want[page[parley.Delegation]](
		s,
		200,
		"GET",
		"/v1/delegations?limit=100&root="+alerts[0].MessageID.String(),
		"",
	)
	for _, d := range list.Data {
		hops[d.Hop]++
	}
	if len(list.Data) != parley.MaxDelegationHops || len(hops) != parley.MaxDelegationHops {
		t.Errorf("the hops are %v", hops)
	}
}
