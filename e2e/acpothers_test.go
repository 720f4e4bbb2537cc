package e2e

import (
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/internal/acpwire"
)

// editing is an editor that started `parley acp` and offers it files and terminals. Its user rejects everything.
type editing struct {
	*acpwire.Conn
	asked chan string // methods of the requests that it got
}

func (s *server) editor(t *testing.T, key string) *editing {
	t.Helper()
	run := exec.CommandContext(t.Context(), binary, "acp", "--url", s.url, "--data", t.TempDir())
	run.Env = append(s.at.environment(), "PARLEY_KEY="+key)
	in, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	e := &editing{asked: make(chan string, 100)}
	e.Conn = acpwire.NewConn(func(line []byte) error {
		_, err := in.Write(line)
		return err
	})
	e.Told = func(string, json.RawMessage) {}
	e.Asked = func(id json.RawMessage, method string, _ json.RawMessage) {
		e.asked <- method
		answer := any(struct{}{})
		switch method {
		case acpwire.MethodPermission:
			answer = map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": "reject"}}
		case acpwire.MethodRead:
			answer = map[string]string{"content": "the user's secret"}
		}
		_ = e.Respond(id, answer) // the program may be gone
	}
	ended := make(chan struct{})
	go func() { // ends with the program
		defer close(ended)
		_ = e.Read(out)
	}()
	t.Cleanup(func() {
		_ = in.Close()
		<-ended
		_ = run.Wait()
	})
	e.does(t, acpwire.MethodInitialize, map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{
		"fs": map[string]bool{"readTextFile": true, "writeTextFile": true}, "terminal": true,
	}}, nil)
	return e
}

func (e *editing) does(t *testing.T, method string, params, into any) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnDeadline)
	defer stop()
	if err := e.Ask(ctx, method, params, into); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// TestSomebodyElsesConversationInAnEditor: an editor's files and terminals are its user's. No conversation that
// somebody else owns, points elsewhere, spoke in or approved in reaches them unasked.
func TestSomebodyElsesConversationInAnEditor(t *testing.T) { onEach(t, somebodyElsesConversation) }

func somebodyElsesConversation(t *testing.T, at place) {
	s := startAt(t, at)
	as := func(name string) (*client.Client, string) {
		t.Helper()
		key := s.at.newKey(t, "keys", "create", "--name", name, "--role", "member", "--json")
		c, err := client.New(client.Options{URL: s.url, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c, key
	}
	_, _ = as("first") // the first key of a workspace is made by its owner
	alice, key := as("alice")
	mallory, _ := as("mallory")
	tools := []parley.ToolRef{{Name: "editor_read_file", Definition: &parley.ToolDefinition{
		Name: "editor_read_file", Description: "Reads.", Parameters: json.RawMessage(`{"type":"object"}`),
	}}}
	opened := func(c *client.Client) parley.Session {
		t.Helper()
		made, err := c.CreateSession(t.Context(), client.SessionInput{
			Visibility: parley.VisibilityWorkspace, Settings: parley.Settings{Model: "sim/script", Tools: &tools},
		})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	const script = `[[{"tool_call":{"name":"editor_read_file","arguments":{"path":"/home/alice/.ssh/id"}}}],` +
		`[{"text":"Done."}]]`
	// waits posts a call of the editor's tool for mallory, approves it if that is asked, and returns its turn once it
	// waits for the result.
	waits := func(session parley.ID) parley.ID {
		t.Helper()
		posted, err := mallory.Post(t.Context(), session, client.UserMessage(script))
		if err != nil {
			t.Fatal(err)
		}
		for frame, err := range mallory.WatchSession(t.Context(), session, client.WatchSessionQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if frame.Type != parley.EventSessionWaiting {
				continue
			}
			of, err := mallory.Session(t.Context(), session)
			if err != nil {
				t.Fatal(err)
			}
			if of.WaitReason == parley.WaitToolResult {
				return posted.Message.TurnID
			}
			page, err := mallory.SessionApprovals(t.Context(), session, client.SessionApprovalsQuery{
				Status: []parley.ApprovalState{parley.ApprovalPending},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range page.Data {
				if _, err := mallory.DecideApproval(t.Context(), page.Data[i].ID, client.DecisionInput{
					Decision: parley.DecideApprove,
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		t.Fatal("the stream ended")
		return parley.ID{}
	}
	theirs, hers := opened(mallory), opened(alice)
	tools = nil
	moved := opened(alice)
	waits(theirs.ID)
	waits(hers.ID)

	// Her own conversation does not continue in theirs because they say so.
	for _, name := range []string{"acp", "ACP"} {
		_, err := mallory.UpdateSession(
			t.Context(),
			moved.ID,
			client.SessionPatch{Metadata: parley.Change[json.RawMessage]{
				Set: true, Value: json.RawMessage(`{"` + name + `":{"continued_in_id":"` + theirs.ID.String() + `"}}`),
			}},
		)
		if want := map[string]parley.Code{"acp": parley.CodeForbidden}[name]; parley.ErrorCode(err) != want {
			t.Errorf("somebody else's %s in the metadata: %v, want %q", name, err, want)
		}
	}

	e := s.editor(t, key)
	load := func(id parley.ID) {
		t.Helper()
		e.does(t, acpwire.MethodLoad, map[string]any{"sessionId": id, "cwd": "/", "mcpServers": []string{}}, nil)
	}
	load(theirs.ID)
	load(moved.ID)
	load(hers.ID)
	if method := <-e.asked; method != acpwire.MethodPermission {
		t.Fatalf("the editor was first asked for %s", method)
	}
	rows := ""
	for frame, err := range alice.WatchSession(t.Context(), hers.ID, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventSessionCompleted {
			rows = strings.Join(lines(t, alice, hers.ID), "\n")
			break
		}
	}
	if !strings.Contains(rows, "did not allow") || strings.Contains(rows, "the user's secret") {
		t.Errorf("the record is:\n%s", rows)
	}
	// Nor does a turn of her own read unasked what they may have asked for in an earlier one.
	before := opened(alice)
	if _, err := mallory.Post(t.Context(), before.ID, client.UserMessage(`[[{"text":"I will."}]]`)); err != nil {
		t.Fatal(err)
	}
	for frame, err := range alice.WatchSession(t.Context(), before.ID, client.WatchSessionQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		if frame.Type == parley.EventSessionCompleted {
			break
		}
	}
	load(before.ID)
	e.does(t, acpwire.MethodPrompt, map[string]any{"sessionId": before.ID, "prompt": []any{
		map[string]string{"type": "text", "text": script},
	}}, nil)
	if method := <-e.asked; method != acpwire.MethodPermission || len(e.asked) > 0 {
		t.Fatalf("after somebody else has spoken, the editor was asked for %s, and %d more", method, len(e.asked))
	}
	// What she says in theirs offers nothing of hers there.
	ended := map[string]string{}
	e.does(t, acpwire.MethodPrompt, map[string]any{"sessionId": moved.ID, "prompt": []any{
		map[string]string{"type": "text", "text": `[[{"text":"Hm."}]]`},
	}}, &ended)
	of, err := alice.Session(t.Context(), theirs.ID)
	if err != nil || ended["stopReason"] != acpwire.StopTurn ||
		of.Statistics.Messages != 3 { // a message, an answer and its call
		t.Errorf("%v, %v, and their session has %d messages", err, ended, of.Statistics.Messages)
	}
	if len(e.asked) > 0 {
		t.Errorf("the editor was also asked for %s", <-e.asked)
	}
}
