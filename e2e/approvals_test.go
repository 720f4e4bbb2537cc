package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// world is an HTTP server that counts the effects of tools.
type world struct {
	url     string
	effects atomic.Int32
	stalls  atomic.Int32  // how many of the next requests have their effect but never answer
	reached chan struct{} // one of those has had it
}

// newWorld starts it and configures its endpoints as tools of the server at a place: act
// may not be repeated, put may, look only reads.
func newWorld(t *testing.T, at place) *world {
	t.Helper()
	w := &world{reached: make(chan struct{}, 16)}
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		w.effects.Add(1)
		if w.stalls.Add(-1) >= 0 {
			w.reached <- struct{}{}
			select {
			case <-request.Context().Done():
			case <-over:
			}
			return
		}
		answer.Header().Set("Content-Type", "application/json")
		_, _ = answer.Write([]byte(`{"done":true}`))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	w.url = server.URL
	settings := "http_tools:\n"
	for name, annotations := range map[string]string{"act": "{destructive: true}",
		"put": "{destructive: true, idempotent: true}", "look": "{read_only: true, destructive: false}"} {
		settings += "  - {name: " + name + ", description: Does it., method: POST, url: " + w.url + "/" + name +
			", allow_private: true, annotations: " + annotations + "}\n"
	}
	if err := os.WriteFile(filepath.Join(at.dir, "parley.yaml"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// await waits for an effect whose response will never come.
func (w *world) await(t *testing.T) {
	t.Helper()
	select {
	case <-w.reached:
	case <-time.After(turnDeadline):
		t.Fatal("the tool was not called")
	}
}

// agent creates an agent that may use the tools, under rules.
func (w *world) agent(t *testing.T, s *server, name string, grants ...parley.Grant) {
	t.Helper()
	if _, err := s.client.CreateAgent(
		t.Context(),
		client.AgentInput{
			Name: name,
			Settings: parley.Settings{
				Model:  "sim/script",
				Tools:  new(client.ToolNames("act", "put", "look", "ask_user")),
				Grants: new(grants),
			},
		},
	); err != nil {
		t.Fatal(err)
	}
}

// callScript is a script that calls tools in one step and then ends.
func callScript(tools ...string) string {
	var calls []string
	for _, tool := range tools {
		calls = append(calls, `{"tool_call":{"name":"`+tool+`","arguments":{}}}`)
	}
	return "[[" + strings.Join(calls, ",") + `],[{"text":"Done."}]]`
}

// post opens a session of an agent with a message.
func (s *server) post(t *testing.T, agent, text string) parley.Session {
	t.Helper()
	session, err := s.client.CreateSession(t.Context(), client.SessionInput{AgentID: agent})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage(text)); err != nil {
		t.Fatal(err)
	}
	return session
}

// waiting waits until a session waits, and returns its pending approvals.
func waiting(t *testing.T, c *client.Client, session parley.ID) []parley.Approval {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	for frame, err := range c.WatchSession(ctx, session, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventSessionWaiting {
			break
		}
	}
	page, err := c.Approvals(
		t.Context(),
		client.ApprovalsQuery{Session: []parley.ID{session}, Status: []parley.ApprovalState{"pending"}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// results returns a session's tool results in order: "" for a success, else the error.
func results(t *testing.T, c *client.Client, session parley.ID) (found []string) {
	t.Helper()
	for _, m := range record(t, c, session) {
		if m.Role != parley.RoleToolResult {
			continue
		}
		var content parley.ToolResultContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			t.Fatal(err)
		}
		if content.Error == nil {
			found = append(found, "")
		} else {
			found = append(found, *content.Error)
		}
	}
	return found
}

func allowAll() parley.Grant { return parley.Grant{Tool: "*", Effect: parley.GrantAllow} }

// TestKilledBetweenEffectAndResult is failure 31: repeatable calls run again; the others do
// not, and the model is told.
func TestKilledBetweenEffectAndResult(t *testing.T) { onEach(t, killedBetweenEffectAndResult) }

func killedBetweenEffectAndResult(t *testing.T, at place) {
	for _, c := range []struct {
		tool    string
		asked   bool
		effects int32
		result  string
	}{
		{"act", false, 1, parley.EffectUnknown},
		{"act", true, 1, parley.EffectUnknown},
		{"put", false, 2, ""},
		{"put", true, 2, ""},
	} {
		name := c.tool
		if c.asked {
			name += " approved"
		}
		t.Run(name, func(t *testing.T) {
			here := at.beside(t)
			w := newWorld(t, here)
			s := startAt(t, here, "--lease", shortLease.String())
			if c.asked {
				w.agent(t, s, "Actor "+name)
			} else {
				w.agent(t, s, "Actor "+name, allowAll())
			}
			w.stalls.Store(1)
			session := s.post(t, parley.Slugify("Actor "+name), callScript(c.tool))
			if c.asked {
				asked := waiting(t, s.client, session.ID)
				if len(asked) != 1 || w.effects.Load() != 0 {
					t.Fatalf("%d approvals wait after %d effects", len(asked), w.effects.Load())
				}
				if _, err := s.client.DecideApproval(
					t.Context(),
					asked[0].ID,
					client.DecisionInput{Decision: parley.DecideApprove},
				); err != nil {
					t.Fatal(err)
				}
			}
			w.await(t)
			s.kill()
			again := startAt(t, here, "--lease", shortLease.String())
			if end := settled(t, again.client, session.ID, turnDeadline); end.Status != parley.SessionCompleted {
				t.Errorf("the session is %s", end.Status)
			}
			if got := results(t, again.client, session.ID); len(got) != 1 || got[0] != c.result {
				t.Errorf("results %q, want %q", got, c.result)
			}
			if got := w.effects.Load(); got != c.effects {
				t.Errorf("%d effects, want %d", got, c.effects)
			}
			again.terminate()
		})
	}
}

// TestKilledWhileAnApprovalWaits: every process is killed and restarted; the question is
// still there, and its answer works, once.
func TestKilledWhileAnApprovalWaits(t *testing.T) { onEach(t, killedWhileAnApprovalWaits) }

func killedWhileAnApprovalWaits(t *testing.T, at place) {
	w := newWorld(t, at)
	s := startAt(t, at, "--lease", shortLease.String())
	w.agent(t, s, "Actor")
	session := s.post(t, "actor", callScript("act", "look"))
	asked := waiting(t, s.client, session.ID)
	if len(asked) != 1 || asked[0].ToolName != "act" || w.effects.Load() != 1 { // the look
		t.Fatalf("asked %+v after %d effects", asked, w.effects.Load())
	}
	s.kill()

	again := startAt(t, at, "--lease", shortLease.String())
	still, err := again.client.Session(t.Context(), session.ID)
	if err != nil || still.Status != parley.SessionWaiting || still.WaitReason != parley.WaitApproval {
		t.Fatalf("after the restart the session is %s for %s, %v", still.Status, still.WaitReason, err)
	}
	id := asked[0].ID.String()
	if out, errOut, err := again.at.parley(t, "approvals", "list"); err != nil || !strings.Contains(out, id) {
		t.Errorf("approvals list: %v %s\n%s", err, errOut, out)
	}
	if out, errOut, err := again.at.parley(
		t,
		"approvals",
		"approve",
		id,
		"--comment",
		"go on",
	); err != nil ||
		!strings.Contains(out, "approved") {
		t.Errorf("approvals approve: %v %s\n%s", err, errOut, out)
	}
	if end := settled(t, again.client, session.ID, turnDeadline); end.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", end.Status)
	}
	if got := results(t, again.client, session.ID); strings.Join(got, "|") != "|" || w.effects.Load() != 2 {
		t.Errorf("results %q after %d effects", got, w.effects.Load())
	}
	if _, errOut, err := again.at.parley(
		t,
		"approvals",
		"deny",
		id,
	); exitCode(err) != 1 ||
		!strings.Contains(errOut, "approved") {
		t.Errorf("a second answer: %v %q", err, errOut)
	}
	again.terminate()
}

// TestKilledDuringParallelCalls: read-only calls run in parallel, are cut off together, and
// each has one result in the end.
func TestKilledDuringParallelCalls(t *testing.T) { onEach(t, killedDuringParallelCalls) }

func killedDuringParallelCalls(t *testing.T, at place) {
	w := newWorld(t, at)
	s := startAt(t, at, "--lease", shortLease.String())
	w.agent(t, s, "Actor", allowAll())
	w.stalls.Store(3)
	session := s.post(t, "actor", callScript("look", "look", "look", "act"))
	for range 3 {
		w.await(t)
	}
	s.kill()
	again := startAt(t, at, "--lease", shortLease.String())
	if end := settled(t, again.client, session.ID, turnDeadline); end.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", end.Status)
	}
	// The last one was durable and may have run; nobody knows.
	if got := results(
		t,
		again.client,
		session.ID,
	); len(got) != 4 || strings.Join(got, "") != parley.EffectUnknown ||
		w.effects.Load() != 6 {
		t.Errorf("results %q after %d effects", got, w.effects.Load())
	}
	again.terminate()
}

// typed runs a command with text typed into its input.
func (p place) typed(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), turnDeadline)
	defer cancel()
	var out, errOut bytes.Buffer
	command := exec.CommandContext(ctx, binary, append([]string{"--data", p.dir}, args...)...)
	command.Env = p.environment()
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(input), &out, &errOut
	err = command.Run()
	return out.String(), errOut.String(), err
}

// TestChatAsksInPlace: the person at the terminal sees the call and decides.
func TestChatAsksInPlace(t *testing.T) { onEach(t, chatAsksInPlace) }

func chatAsksInPlace(t *testing.T, at place) {
	w := newWorld(t, at)
	s := startAt(t, at)
	w.agent(t, s, "Actor")
	script := callScript("act")
	out, errOut, err := at.typed(t, "what?\ny\n", "chat", "--agent", "actor", script)
	if err != nil || strings.TrimSpace(out) != "Done." || !strings.Contains(errOut, "act {}") || w.effects.Load() != 1 {
		t.Errorf("with a yes: %v\n%s\n%s\n%d effects", err, out, errOut, w.effects.Load())
	}
	out, errOut, err = at.typed(t, "n not on Fridays\n", "chat", "--agent", "actor", script)
	if err != nil || strings.TrimSpace(out) != "Done." || w.effects.Load() != 1 {
		t.Errorf("with a no: %v\n%s\n%s\n%d effects", err, out, errOut, w.effects.Load())
	}
	denied, err := s.client.Approvals(t.Context(), client.ApprovalsQuery{Status: []parley.ApprovalState{"denied"}})
	if err != nil || len(denied.Data) != 1 || denied.Data[0].Comment != "not on Fridays" {
		t.Errorf("denied: %+v, %v", denied.Data, err)
	}
	_, errOut, err = at.typed(t, "", "chat", "--agent", "actor", script)
	if exitCode(err) != 1 || !strings.Contains(errOut, "parley approvals approve") {
		t.Errorf("with nobody there: %v\n%s", err, errOut)
	}
	pending, err := s.client.Approvals(t.Context(), client.ApprovalsQuery{Status: []parley.ApprovalState{"pending"}})
	if err != nil || len(pending.Data) != 1 {
		t.Fatalf("pending: %+v, %v", pending.Data, err)
	}
	out, errOut, err = at.typed(t, "t\n", "chat", "--session", pending.Data[0].SessionID.String(), script)
	if err != nil || strings.Count(out, "Done.") != 2 || w.effects.Load() != 3 {
		t.Errorf("taken up and allowed for the session: %v\n%s\n%s\n%d effects", err, out, errOut, w.effects.Load())
	}
	question := `[[{"tool_call":{"name":"ask_user","arguments":{"question":"Which?","options":["left","right"]}}}],` +
		`[{"text":"Thanks."}]]`
	out, errOut, err = at.typed(t, "2\n", "chat", "--agent", "actor", question)
	if err != nil || strings.TrimSpace(out) != "Thanks." || !strings.Contains(errOut, "? Which?") {
		t.Errorf("a question: %v\n%s\n%s", err, out, errOut)
	}
	sessions, err := s.client.Sessions(t.Context(), client.SessionsQuery{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range record(t, s.client, sessions.Data[0].ID) {
		if m.Role == parley.RoleToolResult && !strings.Contains(string(m.Content), `"result":"right"`) {
			t.Errorf("the answer is %s", m.Content)
		}
	}
	s.terminate()
}
