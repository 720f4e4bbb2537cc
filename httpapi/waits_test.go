package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"example.org/parley"
)

// said is the text of the last message of an answer.
func (a Answered) said() string {
	if len(a.Messages) == 0 {
		return ""
	}
	var content parley.TextContent
	_ = json.Unmarshal(a.Messages[len(a.Messages)-1].Content, &content)
	return content.Text
}

// One request posts a message and is answered with the turn that it began and what the agent said.
func TestARequestWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id := s.session(`{"model":"sim/echo"}`).ID.String()
	at := "/v1/sessions/" + id + "/messages"
	for _, asked := range []struct{ path, prefer string }{
		{at + "/wait", ""},
		{at + "?wait=30s", ""},
		{at + "?wait=30", ""},
		{at, `respond-async, Wait="30"; x`},
		{"/v1/agents/parley/sessions/" + id + "/messages/wait?wait=1m", ""},
	} {
		got := want[Answered](s, 200, "POST", asked.path, `{"content":{"text":"Hi"}}`, "Prefer", asked.prefer)
		if got.Turn == nil || got.Turn.Status != parley.TurnCompleted || len(got.Messages) != 2 ||
			got.Message.ID != got.Messages[0].ID || got.said() != "Hi" || got.Next != nil {
			t.Errorf("%+v: %+v", asked, got)
		}
	}
	session := want[Answered](s, 200, "POST", "/v1/sessions?wait=30s",
		`{"model":"sim/echo","message":{"content":{"text":"Hello"}}}`)
	if len(session.Messages) != 2 || session.said() != "Hello" {
		t.Errorf("a new session: %+v", session)
	}
	first := session.Message.ID.String()
	for path, body := range map[string]string{
		"/v1/messages/" + first + "/regenerate/wait": `{}`,
		"/v1/messages/" + first + "/edit/wait":       `{"content":{"text":"Hello"}}`,
		"/v1/sessions/" + session.Message.SessionID.String() + "/fork/wait": `{"at":"` + first +
			`","message":{"content":{"text":"Hello"}}}`,
	} {
		got := want[Answered](s, 200, "POST", path, body)
		if got.said() != "Hello" {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := want[Answered](s, 200, "POST", at+"/wait", `{"content":{"text":"Noted."},"respond":false}`); got.
		Turn != nil || got.Message == nil {
		t.Errorf("without a turn: %+v", got)
	}
	if got := want[Answered](s, 200, "POST", "/v1/sessions/wait", `{}`); got.Turn != nil || got.Message != nil {
		t.Errorf("without a message: %+v", got)
	}
	for _, wait := range []string{"6m", "-1", "1h", "soon", "99999999999999999999"} {
		if got := s.do("POST", at+"?wait="+wait, `{"content":{"text":"Hi"}}`); got.status != 422 {
			t.Errorf("wait=%s: status %d", wait, got.status)
		}
	}
}

// A wait that is over ends nothing: 202 says where the turn is, and a repeat with the same key waits for it again.
func TestAWaitThatIsOverLosesNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := "/v1/sessions/" + s.session(`{"model":"sim/lorem-100000-20"}`).ID.String()
	const body = `{"content":{"text":"Go"}}`
	got := s.do("POST", at+"/messages?wait=0", body, "Idempotency-Key", "one")
	var first Answered
	if err := json.Unmarshal(got.body, &first); err != nil || got.status != http.StatusAccepted ||
		first.Turn.Status.Finished() || got.header.Get("Location") != "/v1/turns/"+first.Turn.ID.String() {
		t.Fatalf("status %d at %q, %v: %s", got.status, got.header.Get("Location"), err, got.body)
	}
	s.do("POST", at+"/cancel", "")
	again := want[Answered](s, 200, "POST", at+"/messages?wait=1m", body, "Idempotency-Key", "one")
	if again.Turn.ID != first.Turn.ID || again.Turn.Status != parley.TurnCancelled {
		t.Errorf("turn %s is %s, want %s cancelled", again.Turn.ID, again.Turn.Status, first.Turn.ID)
	}
}

// A turn that waits for somebody is an answer: it says for what.
func TestAWaitEndsWhenTheTurnWaits(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script","tools":[{"name":"ask","parameters":{"type":"object"}}]}`)
	at := "/v1/sessions/" + session.ID.String() + "/messages"
	parked := want[Answered](s, 200, "POST", at+"/wait?wait=5m", fmt.Sprintf(
		`{"content":{"text":%q}}`, `[[{"tool_call":{"name":"ask","arguments":{}}}],[{"text":"Thanks."}]]`))
	if parked.Turn.Status != parley.TurnWaiting || parked.Turn.WaitReason != parley.WaitToolResult {
		t.Fatalf("the turn is %s for %q", parked.Turn.Status, parked.Turn.WaitReason)
	}
	call := parked.Messages[len(parked.Messages)-1]
	want[parley.Message](s, 201, "POST", at, fmt.Sprintf(
		`{"role":"tool_result","tool_call_id":%q,"content":{"result":"Yes.","success":true}}`, call.ToolCallID))
	s.stream("GET", "/v1/sessions/"+session.ID.String()+"/events", "").until("session.completed")
}
