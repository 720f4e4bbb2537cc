package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/tool"
)

// changing is a server of tools whose tool does what its server says of it today.
type changing struct {
	mu    sync.Mutex // guards the rest
	about string
	of    parley.ToolAnnotations
	runs  int
}

func (c *changing) becomes(about string, of parley.ToolAnnotations) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.about, c.of = about, of
}

func (c *changing) ran() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runs
}

// Tool, Tools, Expects, Await and Faults implement tool.Source.
func (c *changing) Tool(name string) (tool.Tool, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return changed{c, c.about, c.of}, name == "mcp__act"
}

func (c *changing) Tools() []tool.Tool {
	one, _ := c.Tool("mcp__act")
	return []tool.Tool{one}
}
func (c *changing) For(parley.ID) tool.Source { return c }
func (c *changing) Expects(string) bool       { return false }
func (c *changing) Await(context.Context)     {}
func (c *changing) Faults() []tool.Fault      { return nil }

// changed is the tool as it was when it was found.
type changed struct {
	server *changing
	about  string
	of     parley.ToolAnnotations
}

func (c changed) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name:        "mcp__act",
		Description: c.about,
		Parameters:  json.RawMessage(`{"type":"object"}`),
	}
}
func (c changed) Annotations() parley.ToolAnnotations { return c.of }
func (c changed) Source() string                      { return "mcp/test" }
func (c changed) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(c.answer(ctx, call))
}

func (c changed) answer(context.Context, tool.Call) (json.RawMessage, error) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.runs++
	return json.RawMessage(`"done"`), nil
}

var (
	harmless = parley.ToolAnnotations{ReadOnly: true}
	harmful  = parley.ToolAnnotations{Destructive: true}
)

// agent makes an agent.
func (s *testServer) agent(body, bearer string) parley.Agent {
	s.Helper()
	return want[parley.Agent](s, http.StatusCreated, "POST", "/v1/agents", body, "Authorization", bearer)
}

// two are people who share a workspace and a server whose tool changes.
type two struct {
	*testServer
	tool              *changing
	ada, ben, someone string // ada makes agents, ben has sessions of them; bearers
}

func newTwo(t *testing.T) *two {
	t.Helper()
	tool := &changing{about: "Acts.", of: harmful}
	s := startServerWithTools(t, tool)
	return &two{
		s,
		tool,
		s.key("one", "ada", parley.RoleMember),
		s.key("one", "ben", parley.RoleMember),
		s.key("one", "someone", parley.RoleAdmin),
	}
}

// acts has an agent call the tool in a session, and tells the approval that it waits
// for; zero when it ran without asking.
func (s *two) acts(session, bearer string) parley.Approval {
	s.Helper()
	posted := s.do(
		"POST",
		"/v1/sessions/"+session+"/messages",
		fmt.Sprintf(
			`{"content":{"text":%q}}`,
			`[[{"tool_call":{"name":"mcp__act","arguments":{"n":1}}}],[{"text":"Done."}]]`,
		),
		"Authorization",
		bearer,
	)
	if posted.status/100 != 2 {
		s.Fatalf("the post: %d %s", posted.status, posted.body)
	}
	stream := s.stream(
		"GET",
		"/v1/sessions/"+session+"/events?after="+posted.header.Get(eventSequenceHeader),
		"",
		"Authorization",
		bearer,
	)
	for {
		frame, err := stream.next()
		if err != nil {
			s.Fatal(err)
		}
		switch frame.event {
		case "session.completed":
			return parley.Approval{}
		case "session.waiting":
			found := want[page[parley.Approval]](
				s.testServer,
				200,
				"GET",
				"/v1/sessions/"+session+"/approvals?status=pending",
				"",
				"Authorization",
				bearer,
			).Data
			if len(found) != 1 {
				s.Fatalf("%d approvals wait", len(found))
			}
			return found[0]
		case "session.failed", "session.cancelled":
			s.Fatalf("the turn ended with %s %s", frame.event, frame.data.Data)
		}
	}
}

// unasked fails unless the tool runs without a question.
func (s *two) unasked(why, session, bearer string) {
	s.Helper()
	before := s.tool.ran()
	if asked := s.acts(session, bearer); !asked.ID.IsZero() || s.tool.ran() != before+1 {
		s.Fatalf("%s: asked because of %s, %d runs", why, asked.Reason, s.tool.ran()-before)
	}
}

// asks fails unless the call waits, for a reason, and gives the approval.
func (s *two) asks(why, session, bearer string, reason parley.ApprovalReason) parley.Approval {
	s.Helper()
	before := s.tool.ran()
	asked := s.acts(session, bearer)
	if asked.ID.IsZero() || asked.Reason != reason || s.tool.ran() != before {
		s.Fatalf("%s: reason %q and %d runs; want %q and none", why, asked.Reason, s.tool.ran()-before, reason)
	}
	return asked
}

// answers answers an approval and waits for the end of its turn.
func (s *two) answers(asked parley.Approval, body, bearer string) {
	s.Helper()
	session := "/v1/sessions/" + asked.SessionID.String()
	at := want[parley.Session](s.testServer, 200, "GET", session, "", "Authorization", bearer).LastEvent
	want[parley.Approval](s.testServer, 200, "POST", "/v1/approvals/"+asked.ID.String(), body, "Authorization", bearer)
	s.stream("GET", fmt.Sprintf("%s/events?after=%d", session, at), "", "Authorization", bearer).
		until("session.completed")
}

// patch changes an agent.
func (s *two) patch(agent parley.Agent, body, bearer string) {
	s.Helper()
	want[parley.Agent](s.testServer, 200, "PATCH", "/v1/agents/"+agent.ID.String(), body, "Authorization", bearer)
}

// open makes a session of an agent.
func (s *two) open(agent parley.Agent, bearer string) string {
	s.Helper()
	return s.session(`{"agent_id":"`+agent.ID.String()+`"}`, "Authorization", bearer).ID.String()
}

const (
	actor = `{"name":"Actor","model":"sim/script","tools":["mcp__*"]}`
	freed = `{"grants":[{"tool":"mcp__act","effect":"allow"}]}`
	held  = `{"grants":[{"tool":"mcp__act","effect":"deny"}]}`

	approveOnce    = `{"decision":"approve"}`
	acceptChange   = `{"decision":"approve","scope":"change"}`
	approveSession = `{"decision":"approve","scope":"session","covers":"tool"}`
)

// TestAChangedAgentWidensNothingElsewhere (failure 69): whoever changes an agent, what
// it newly lets run is asked about in the sessions of others until they accept it.
func TestAChangedAgentWidensNothingElsewhere(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"its owner", "an admin"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			s := newTwo(t)
			changer := map[string]string{"its owner": s.ada, "an admin": s.someone}[who]
			agent := s.agent(actor, s.ada)
			session := s.open(agent, s.ben)
			s.answers(s.asks("before any change", session, s.ben, parley.AskedByRule), approveOnce, s.ben)
			s.patch(agent, freed, changer)
			asked := s.asks("widened", session, s.ben, parley.AskedAgentChange)
			if !strings.Contains(asked.Explanation, "mcp__act") {
				t.Errorf("it explains itself with %q", asked.Explanation)
			}
			s.answers(asked, approveOnce, s.ben)
			asked = s.asks("approved once", session, s.ben, parley.AskedAgentChange)
			s.answers(asked, acceptChange, s.ben)
			s.unasked("accepted", session, s.ben)
			s.unasked("a session that was opened since", s.open(agent, s.ben), s.ben)

			s.tool.becomes("Acts otherwise.", harmful)
			s.answers(s.asks("another definition", session, s.ben, parley.AskedToolChange), acceptChange, s.ben)
			s.unasked("the definition accepted", session, s.ben)
			s.patch(agent, `{"grants":[{"tool":"mcp__*","effect":"allow"}]}`, changer)
			s.answers(s.asks("another rule", session, s.ben, parley.AskedToolChange), acceptChange, s.ben)

			s.patch(agent, held, changer)
			before := s.tool.ran()
			if narrowed := s.acts(session, s.ben); !narrowed.ID.IsZero() || s.tool.ran() != before {
				t.Errorf("a denial is asked about, or let by: %+v", narrowed)
			}
		})
	}
}

// TestAServerOfToolsWidensNothing (failure 69): a tool that says it became harmless is
// asked about in every session that began before, the agent's owner's too.
func TestAServerOfToolsWidensNothing(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(actor, s.ada)
	sessions := map[string]string{s.ada: s.open(agent, s.ada), s.ben: s.open(agent, s.ben)}
	builtin := s.session(`{"model":"sim/script","tools":["mcp__act"]}`, "Authorization", s.ben).ID.String()
	s.answers(s.asks("of the built-in agent", builtin, s.ben, parley.AskedByRule), approveOnce, s.ben)
	s.tool.becomes("Acts.", harmless)
	for bearer, session := range sessions {
		s.answers(s.asks("harmless all at once", session, bearer, parley.AskedToolChange), acceptChange, bearer)
		s.unasked("accepted", session, bearer)
	}
	s.asks("of the built-in agent", builtin, s.ben, parley.AskedToolChange)
	s.unasked("a session that was opened since", s.open(agent, s.ben), s.ben)
}

// TestOnesOwnChangesAskNothing: who changes an agent has accepted the change in the
// sessions of their own.
func TestOnesOwnChangesAskNothing(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(`{"name":"Own","model":"sim/script"}`, s.ada)
	session := s.open(agent, s.ada)
	s.patch(agent, `{"tools":["mcp__act"],"grants":[{"tool":"mcp__act","effect":"allow"}]}`, s.ada)
	s.unasked("by the owner", session, s.ada)
	s.patch(agent, `{"grants":[]}`, s.ada)
	s.asks("narrowed", session, s.ada, parley.AskedByRule)
}

// TestAnotherChangeOfOnesOwnAcceptsNothing (failure 69): who mends a description, or
// names the tools, has not accepted the rules that somebody else changed meanwhile.
func TestAnotherChangeOfOnesOwnAcceptsNothing(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(actor, s.ada)
	session := s.open(agent, s.someone)
	s.patch(agent, freed, s.ada)
	s.patch(agent, `{"description":"mended"}`, s.someone)
	s.answers(s.asks("after the description", session, s.someone, parley.AskedAgentChange), approveOnce, s.someone)
	s.patch(agent, `{"tools":["mcp__act"]}`, s.someone)
	s.answers(s.asks("after the tools", session, s.someone, parley.AskedAgentChange), approveOnce, s.someone)
	s.patch(agent, freed, s.someone)
	s.unasked("after the rules", session, s.someone)
}

// TestAChangeIsItsSessionsOwnersToAccept: others who see the session approve once.
func TestAChangeIsItsSessionsOwnersToAccept(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(actor, s.ada)
	session := s.session(
		`{"agent_id":"`+agent.ID.String()+`","visibility":"workspace"}`,
		"Authorization",
		s.ben,
	).ID.String()
	s.patch(agent, freed, s.ada)
	asked := s.asks("widened", session, s.ben, parley.AskedAgentChange)
	for _, body := range []string{acceptChange, approveSession} {
		for _, bearer := range []string{s.ada, s.someone} {
			if got := s.do(
				"POST",
				"/v1/approvals/"+asked.ID.String(),
				body,
				"Authorization",
				bearer,
			); got.status != 403 {
				t.Errorf("%s of another: %d %s", body, got.status, got.body)
			}
		}
	}
	s.answers(asked, approveOnce, s.ada)
	s.answers(s.asks("once is once", session, s.ben, parley.AskedAgentChange), approveSession, s.ben)
	s.unasked("a grant of the owner's", session, s.ben)
	s.patch(agent, `{"grants":[]}`, s.ada)
	s.unasked("a session's own grant holds by itself", session, s.ben)
	s.tool.becomes("Acts otherwise.", harmful)
	s.asks("and for the tool as it was", session, s.ben, parley.AskedToolChange)
}

// TestASessionIsItsOwnersToWiden (failure 69): whoever else sees a session answers its
// questions once; neither a yes that lasts nor a patch lets its tools run unasked.
func TestASessionIsItsOwnersToWiden(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		who    func(*two) string
		status int
	}{
		"the agent's owner": {func(s *two) string { return s.ada }, 403},
		"another member":    {func(s *two) string { return s.key("one", "carl", parley.RoleMember) }, 403},
		"a reader":          {func(s *two) string { return s.key("one", "rea", parley.RoleReader) }, 403},
		"the owner":         {func(s *two) string { return s.ben }, 200},
		"an admin":          {func(s *two) string { return s.someone }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTwo(t)
			who, agent := c.who(s), s.agent(actor, s.ada)
			shared := `{"agent_id":"` + agent.ID.String() + `","visibility":"workspace"}`
			session := s.session(shared, "Authorization", s.ben).ID.String()
			for _, body := range []string{freed, `{"tools":["mcp__act"]}`, `{"grants":null}`} {
				other := s.session(shared, "Authorization", s.ben).ID.String()
				if got := s.do("PATCH", "/v1/sessions/"+other, body, "Authorization", who); got.status != c.status {
					t.Errorf("%s: %d %s", body, got.status, got.body)
				}
			}
			asked := s.asks("asked by rule", session, s.ben, parley.AskedByRule)
			path := "/v1/approvals/" + asked.ID.String()
			if c.status == 200 {
				s.answers(asked, approveSession, who)
				s.unasked("allowed for the session", session, s.ben)
				return
			}
			for _, body := range []string{approveSession, `{"decision":"approve","scope":"session"}`} {
				if got := s.do("POST", path, body, "Authorization", who); got.status != 403 {
					t.Errorf("%s: %d %s", body, got.status, got.body)
				}
			}
			if name == "a reader" {
				return
			}
			s.answers(asked, approveOnce, who)
			s.asks("once is once", session, s.ben, parley.AskedByRule)
		})
	}
}

// TestAForkByAnotherAcceptsForItself: a fork of one's own goes on with what its
// session had accepted, one of somebody else's session with the agent as it is.
func TestAForkByAnotherAcceptsForItself(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(actor, s.ada)
	session := s.session(
		`{"agent_id":"`+agent.ID.String()+`","visibility":"workspace"}`,
		"Authorization",
		s.ben,
	).ID.String()
	s.answers(s.asks("before any change", session, s.ben, parley.AskedByRule), approveOnce, s.ben)
	s.patch(agent, freed, s.ada)
	fork := func(bearer string) string {
		return want[parley.Session](
			s.testServer,
			201,
			"POST",
			"/v1/sessions/"+session+"/fork",
			`{}`,
			"Authorization",
			bearer,
		).ID.String()
	}
	s.asks("one's own", fork(s.ben), s.ben, parley.AskedAgentChange)
	s.unasked("another's", fork(s.someone), s.someone)
}

// TestASubordinateThatChangedWidensNothing (failures 64 and 69): the session of an
// agent's call begins with what the session above it had accepted.
func TestASubordinateThatChangedWidensNothing(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	below := s.agent(`{"name":"Below","model":"sim/script","tools":["mcp__act"]}`, s.ada)
	lead := s.agent(
		`{"name":"Above","model":"sim/script","tools":[{"name":"help","description":"Helps.","agent":"below"}]}`,
		s.ada,
	)
	session := s.open(lead, s.ben)
	s.patch(below, freed, s.ada)
	task := `[[{"tool_call":{"name":"mcp__act","arguments":{}}}],[{"text":"Helped."}]]`
	script, err := json.Marshal(
		[]any{
			[]any{
				map[string]any{"tool_call": map[string]any{"name": "help", "arguments": map[string]any{"task": task}}},
			},
			[]any{map[string]any{"text": "Done."}},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, asks := range []bool{true, false} {
		posted := s.do(
			"POST",
			"/v1/sessions/"+session+"/messages",
			fmt.Sprintf(`{"content":{"text":%q}}`, script),
			"Authorization",
			s.ben,
		)
		stream := s.stream(
			"GET",
			"/v1/sessions/"+session+"/events?after="+posted.header.Get(eventSequenceHeader),
			"",
			"Authorization",
			s.ben,
		)
		if asks {
			stream.until("approval.created")
			found := want[page[parley.Approval]](
				s.testServer,
				200,
				"GET",
				"/v1/sessions/"+session+"/approvals?status=pending",
				"",
				"Authorization",
				s.ben,
			).Data
			if len(found) != 1 || found[0].Reason != parley.AskedAgentChange || found[0].RootID.String() != session ||
				s.tool.ran() != 0 {
				t.Fatalf("the subordinate's call is asked about with %+v", found)
			}
			want[parley.Approval](
				s.testServer,
				200,
				"POST",
				"/v1/approvals/"+found[0].ID.String(),
				acceptChange,
				"Authorization",
				s.ben,
			)
		}
		for _, frame := range stream.until("session.completed") {
			if !asks && frame.event == "approval.created" {
				t.Error("what was accepted below is asked about again in the next call's session")
			}
		}
	}
	if s.tool.ran() != 2 {
		t.Errorf("%d runs", s.tool.ran())
	}
}

// TestAgentsHaveOwners: who makes an agent owns it; owner and admins change it.
func TestAgentsHaveOwners(t *testing.T) {
	t.Parallel()
	s := newTwo(t)
	agent := s.agent(`{"name":"Mine"}`, s.ada)
	path := "/v1/agents/" + agent.ID.String()
	if agent.OwnerID.IsZero() || agent.OwnerName != "ada" || agent.ChangedByID != agent.OwnerID {
		t.Errorf("the new agent is %+v", agent)
	}
	ben := want[parley.Principal](s.testServer, 200, "GET", "/v1/principal", "", "Authorization", s.ben)
	for _, request := range [][2]string{{"PATCH", `{"model":"sim/echo"}`}, {"PATCH", `{"grants":[]}`},
		{"PATCH", `{"owner_id":"` + ben.ID.String() + `"}`}, {"DELETE", ""}} {
		if got := s.do(request[0], path, request[1], "Authorization", s.ben); got.status != 403 {
			t.Errorf("%s %s by another member: %d %s", request[0], request[1], got.status, got.body)
		}
	}
	if got := s.do("PATCH", "/v1/agents/parley", `{"tools":["mcp__act"]}`, "Authorization", s.ada); got.status != 403 {
		t.Errorf("the built-in agent, by a member: %d", got.status)
	}
	if got := s.do("PATCH", path, `{"owner_id":"`+ben.ID.String()+`"}`, "Authorization", s.ada); got.status != 403 {
		t.Errorf("given away by its owner: %d", got.status)
	}
	if got := s.do(
		"PATCH",
		path,
		`{"owner_id":"`+parley.NewID().String()+`"}`,
		"Authorization",
		s.someone,
	); got.status != 422 {
		t.Errorf("to nobody: %d %s", got.status, got.body)
	}
	s.patch(agent, `{"owner_id":"`+ben.ID.String()+`"}`, s.someone)
	s.patch(agent, `{"description":"Ben's"}`, s.ben)
	if got := s.do("PATCH", path, `{"description":"Ada's"}`, "Authorization", s.ada); got.status != 403 {
		t.Errorf("by who had it: %d", got.status)
	}
	for query, wanted := range map[string]string{"me": "mine", ben.ID.String(): "mine"} {
		found := want[page[parley.Agent]](
			s.testServer,
			200,
			"GET",
			"/v1/agents?owner="+query,
			"",
			"Authorization",
			s.ben,
		).Data
		if len(found) != 1 || found[0].Slug != wanted || found[0].OwnerName != "ben" {
			t.Errorf("owned by %s: %+v", query, found)
		}
	}
	if none := want[page[parley.Agent]](
		s.testServer,
		200,
		"GET",
		"/v1/agents?owner=me",
		"",
		"Authorization",
		s.ada,
	).Data; len(
		none,
	) != 0 {
		t.Errorf("ada still owns %+v", none)
	}
}
