package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// gate is a server tool that answers when the test allows it.
type gate struct {
	reached chan struct{} // gets one for each call
	release chan struct{} // each value lets one call answer
}

// newGate starts it and configures it as the tool hold of the server at a place.
func newGate(t *testing.T, at place) *gate {
	t.Helper()
	g := &gate{reached: make(chan struct{}, 64), release: make(chan struct{}, 64)}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		g.reached <- struct{}{}
		select {
		case <-g.release:
		case <-request.Context().Done():
		case <-over:
		}
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.Write([]byte(`{"held":true}`)) // the caller may be gone
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	settings := "http_tools:\n  - {name: hold, description: Holds., method: POST, url: " + server.URL +
		", allow_private: true, annotations: {read_only: true, destructive: false}}\n"
	if err := os.WriteFile(filepath.Join(at.dir, "parley.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gate) await(t *testing.T) {
	t.Helper()
	select {
	case <-g.reached:
	case <-time.After(turnDeadline):
		t.Fatal("the tool was not called")
	}
}

// ask sends one request as the machine's own user.
func (s *server) ask(t *testing.T, method, path, body string) (status int, answer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.key())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(raw)
}

// occupation is something that a turn may be doing when a message arrives.
type occupation struct {
	name  string
	begin func(t *testing.T) (parley.Session, client.Posted)
	goOn  func(t *testing.T, session parley.ID) // ends it well
	wakes bool                                  // the next turn needs goOn too
}

// occupations lists those of a server with a gate, an agent Holder that may use it, one
// that must ask first, and one that sends the Holder.
func occupations(s *server, g *gate) []occupation {
	begin := func(agent, settings, text string,
		ready func(*testing.T, parley.Session)) func(*testing.T) (parley.Session, client.Posted) {
		return func(t *testing.T) (parley.Session, client.Posted) {
			t.Helper()
			session, err := s.client.CreateSession(t.Context(), client.SessionInput{AgentID: agent})
			if err != nil {
				t.Fatal(err)
			}
			if status, answer := s.ask(
				t,
				"PATCH",
				"/v1/sessions/"+session.ID.String(),
				settings,
			); status != http.StatusOK {
				t.Fatalf("status %d: %s", status, answer)
			}
			posted, err := s.client.Post(t.Context(), session.ID, client.UserMessage(text))
			if err != nil {
				t.Fatal(err)
			}
			ready(t, session)
			return session, posted
		}
	}
	atTheGate := func(t *testing.T, _ parley.Session) {
		t.Helper()
		g.await(t)
	}
	parked := func(t *testing.T, session parley.Session) {
		t.Helper()
		awaitFrame(t, s.client, session.ID, 0, parley.EventSessionWaiting)
	}
	open := func(*testing.T, parley.ID) { g.release <- struct{}{} }
	approve := func(t *testing.T, session parley.ID) {
		t.Helper()
		page, err := s.client.Approvals(
			t.Context(),
			client.ApprovalsQuery{Session: []parley.ID{session}, Status: []parley.ApprovalState{"pending"}},
		)
		if err != nil || len(page.Data) != 1 {
			t.Fatalf("%d approvals wait, %v", len(page.Data), err)
		}
		g.release <- struct{}{}
		if _, err := s.client.DecideApproval(
			t.Context(),
			page.Data[0].ID,
			client.DecisionInput{Decision: parley.DecideApprove},
		); err != nil {
			t.Fatal(err)
		}
		g.await(t)
	}
	raise := func(t *testing.T, session parley.ID) {
		t.Helper()
		if status, answer := s.ask(
			t,
			"PATCH",
			"/v1/sessions/"+session.String(),
			`{"limits":{"session_tokens":1000000}}`,
		); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, answer)
		}
	}
	return []occupation{
		{"a tool", begin("holder", `{}`, callScript("hold"), atTheGate), open, false},
		{
			"an approval",
			begin("holder", `{"grants":[{"tool":"hold","effect":"ask"}]}`, callScript("hold"), parked),
			approve,
			false,
		},
		{
			"a child",
			begin(
				"sender",
				`{}`,
				`[[{"tool_call":{"name":"send","arguments":{"task":"[[{\"tool_call\":{\"name\":\"hold\",`+
					`\"arguments\":{}}}],[{\"text\":\"Held.\"}]]"}}}],[{"text":"Done."}]]`,
				func(t *testing.T, session parley.Session) { parked(t, session); g.await(t) },
			),
			open,
			false,
		},
		{"a budget", begin("holder", `{"limits":{"session_tokens":50}}`, `[[{"text":"Done."}]]`, parked), raise, true},
	}
}

// TestDuringEveryState: a message that arrives while a turn runs a tool, or waits for a
// person, a child or its budget, does what its during says, and leaves nothing unfinished.
func TestDuringEveryState(t *testing.T) { onEach(t, duringEveryState) }

func duringEveryState(t *testing.T, at place) {
	g := newGate(t, at)
	s := startAt(t, at)
	for _, agent := range []client.AgentInput{
		{Name: "Holder", Settings: parley.Settings{Model: "sim/script", Tools: new(client.ToolNames("hold"))}},
		{Name: "Sender", Settings: parley.Settings{Model: "sim/script",
			Tools: &[]parley.ToolRef{{Agent: &parley.AgentTool{Name: "send", Description: "Sends one.",
				Agent: "holder"}}}}},
	} {
		if _, err := s.client.CreateAgent(t.Context(), agent); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range occupations(s, g) {
		for _, during := range []parley.During{parley.DuringQueue, parley.DuringSteer, parley.DuringInterrupt,
			parley.DuringReject} {
			t.Run(state.name+"/"+string(during), func(t *testing.T) { duringOne(t, s, state, during) })
		}
	}
	s.terminate()
}

func duringOne(t *testing.T, s *server, state occupation, during parley.During) {
	session, first := state.begin(t)
	message := client.UserMessage("And this.")
	message.Model, message.During = "sim/echo", during
	_, err := s.client.Post(t.Context(), session.ID, message)
	if during == parley.DuringReject {
		if parley.ErrorCode(err) != parley.CodeBusy {
			t.Errorf("the message's turn answered %v", err)
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if during != parley.DuringInterrupt || state.wakes {
		state.goOn(t, session.ID)
	}
	end := settled(t, s.client, session.ID, turnDeadline)
	turn, err := s.client.Turn(t.Context(), first.Message.TurnID)
	if err != nil {
		t.Fatal(err)
	}
	want := parley.TurnCompleted
	if during == parley.DuringInterrupt {
		want = parley.TurnCancelled
	}
	if turn.Status != want || end.Status != parley.SessionCompleted {
		t.Errorf("the turn is %s, the session %s", turn.Status, end.Status)
	}
	messages := record(t, s.client, session.ID)
	last := messages[len(messages)-1]
	var ran parley.ID // the turn that the message is part of
	if place := slices.IndexFunc(
		messages,
		func(m parley.Message) bool { return m.Role == parley.RoleUser && text(t, m) == "And this." },
	); place > 0 {
		ran = messages[place].TurnID
	}
	var ok bool
	switch during {
	case parley.DuringReject:
		ok = ran.IsZero() && end.Statistics.Turns == 1 && text(t, last) == "Done."
	case parley.DuringSteer:
		ok = ran == turn.ID && end.Statistics.Turns == 1 && last.TurnID == turn.ID
	default:
		ok = !ran.IsZero() && ran != turn.ID && end.Statistics.Turns == 2 && last.TurnID == ran &&
			text(t, last) == "And this."
	}
	if !ok {
		t.Errorf(
			"of turn %s the message ran in %q; after %d turns the record ends with %s %s",
			turn.ID,
			ran,
			end.Statistics.Turns,
			last.TurnID,
			last.Content,
		)
	}
	for _, child := range childrenOf(t, s.client, session.ID) {
		want := parley.SessionCompleted
		if during == parley.DuringInterrupt {
			want = parley.SessionCancelled
		}
		if over := settled(t, s.client, child.ID, turnDeadline); over.Status != want {
			t.Errorf("the child is %s", over.Status)
		}
	}
}

// TestALoopWaitsForItsBudget: a loop that has used up its session's budget continues where
// it was once the limit is raised, and loses and repeats no iteration.
func TestALoopWaitsForItsBudget(t *testing.T) { onEach(t, aLoopWaitsForItsBudget) }

func aLoopWaitsForItsBudget(t *testing.T, at place) {
	const iterations = 6
	s := startAt(t, at)
	session := newSession(t, s.client, "sim/lorem-40-0")
	limit := func(tokens int64) {
		t.Helper()
		if status, answer := s.ask(
			t,
			"PATCH",
			"/v1/sessions/"+session.ID.String(),
			fmt.Sprintf(`{"max_tokens":60,"limits":{"session_tokens":%d}}`, tokens),
		); status != http.StatusOK {
			t.Fatalf("status %d: %s", status, answer)
		}
	}
	limit(400) // room for some of them
	loop, err := s.client.StartLoop(
		t.Context(),
		session.ID,
		client.LoopInput{Prompt: "Once more.", Max: new(iterations)},
	)
	if err != nil {
		t.Fatal(err)
	}
	awaitFrame(t, s.client, session.ID, 0, parley.EventSessionWaiting)
	parked, err := s.client.Session(t.Context(), session.ID)
	if err != nil || parked.WaitReason != parley.WaitBudget {
		t.Fatalf("the session waits for %q, %v", parked.WaitReason, err)
	}
	loop, err = s.client.Loop(t.Context(), loop.ID)
	if err != nil || loop.State != parley.LoopRunning || loop.Iteration < 2 || loop.Iteration >= iterations {
		t.Fatalf("while it waits the loop is %+v, %v", loop, err)
	}
	limit(1_000_000)
	untilProgress(t, s.client, session.ID, 0, func(p event.LoopProgress) bool { return p.State != parley.LoopRunning })
	checkLoop(t, s.client, session.ID, loop.ID, iterations)
	s.terminate()
}
