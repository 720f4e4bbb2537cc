package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"testing"

	"example.org/parley"
)

// The thin path: an agent, a session, a message with a JSON answer, watched.
func TestPostAndWatch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](s, http.StatusCreated, "POST", "/v1/agents", `{"name":"Ada","model":"sim/echo"}`)
	session := want[parley.Session](s, http.StatusCreated, "POST", "/v1/agents/ada/sessions", `{}`)
	if session.AgentID != agent.ID {
		t.Fatalf("session of agent %s, want %s", session.AgentID, agent.ID)
	}
	answer := s.do(
		"POST",
		"/v1/agents/ada/sessions/"+session.ID.String()+"/messages",
		`{"role":"user","content":{"text":"Hello you"}}`,
	)
	if answer.status != http.StatusCreated {
		t.Fatalf("status %d: %s", answer.status, answer.body)
	}
	var message parley.Message
	if err := json.Unmarshal(answer.body, &message); err != nil {
		t.Fatal(err)
	}
	if message.TurnID.IsZero() || message.Sequence != 1 {
		t.Errorf("message %+v, want sequence 1 and a turn", message)
	}
	if got := answer.header.Get("Location"); got != "/v1/messages/"+message.ID.String() {
		t.Errorf("Location %q", got)
	}
	before, err := strconv.ParseInt(answer.header.Get(eventSequenceHeader), 10, 64)
	if err != nil || before != session.LastEvent {
		t.Errorf(
			"%s %q, want the last event before the post, %d",
			eventSequenceHeader,
			answer.header.Get(eventSequenceHeader),
			session.LastEvent,
		)
	}
	watch := s.stream("GET", "/v1/sessions/"+session.ID.String()+"/events?after="+strconv.FormatInt(before, 10), "")
	all := watch.until("session.completed")
	if all[0].event != "message.created" {
		t.Errorf("first frame %s, want message.created", all[0].event)
	}
	sequence := before
	for _, f := range all {
		if f.data.SessionID != session.ID || f.data.Type != f.event {
			t.Errorf("frame %+v does not name its session and type", f)
		}
		if f.id == "" {
			continue
		}
		sequence++
		if f.id != strconv.FormatInt(sequence, 10) || f.data.Sequence == nil || *f.data.Sequence != sequence ||
			f.data.CreatedAt == 0 {
			t.Errorf("frame %+v, want sequence %d", f, sequence)
		}
	}
	messages := want[page[parley.Message]](s, http.StatusOK, "GET", "/v1/sessions/"+session.ID.String()+"/messages", "")
	if len(messages.Data) != 2 || messages.Data[1].Status != parley.MessageCompleted {
		t.Fatalf("messages %+v, want two, the answer completed", messages.Data)
	}
	var content parley.AssistantContent
	if err := json.Unmarshal(messages.Data[1].Content, &content); err != nil || content.Text == "" {
		t.Errorf("content %s: %v", messages.Data[1].Content, err)
	}
}

// One request: the answer is the turn's frames up to its terminal event.
func TestPostStreams(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/lorem-40-0"}`)
	path := "/v1/sessions/" + session.ID.String() + "/messages?flush_ms=0"
	stream := s.stream("POST", path, `{"content":{"text":"Go"}}`, "Idempotency-Key", "k1")
	for name, value := range map[string]string{"Content-Type": "text/event-stream; charset=utf-8",
		"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no", "Content-Encoding": ""} {
		if got := stream.header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	all := stream.rest()
	last := all[len(all)-1]
	if last.event != "session.completed" {
		t.Fatalf("last frame %s, want session.completed", last.event)
	}
	var settled struct {
		Messages []struct {
			MessageID parley.ID `json:"message_id"`
			Content   parley.AssistantContent
		}
	}
	terminals := 0
	for _, f := range all {
		if f.event == "step.generated" {
			if err := json.Unmarshal(f.data.Data, &settled); err != nil {
				t.Fatal(err)
			}
		}
		if parley.EventType(f.event).EndsTurn() {
			terminals++
		}
	}
	if terminals != 1 || len(settled.Messages) != 1 || settled.Messages[0].Content.Text == "" {
		t.Fatalf("%d terminal events, settled %+v", terminals, settled)
	}
	if text := textOf(t, all); text != "" && text != settled.Messages[0].Content.Text {
		t.Errorf("deltas give %q, the settle event %q", text, settled.Messages[0].Content.Text)
	}
	// The same key joins the same stream, finished as it is.
	again := s.stream("POST", path, `{"content":{"text":"Go"}}`, "Idempotency-Key", "k1")
	repeat := again.rest()
	if repeat[0].id != all[0].id || repeat[len(repeat)-1].id != last.id {
		t.Errorf(
			"the repeat shows %s to %s, the first %s to %s",
			repeat[0].id,
			repeat[len(repeat)-1].id,
			all[0].id,
			last.id,
		)
	}
	if again.header.Get(eventSequenceHeader) == "" {
		t.Error("no " + eventSequenceHeader + " on a stream")
	}
	if got := want[page[parley.Turn]](
		s,
		http.StatusOK,
		"GET",
		"/v1/sessions/"+session.ID.String()+"/turns",
		"",
	); len(
		got.Data,
	) != 1 {
		t.Errorf("%d turns, want one", len(got.Data))
	}
}
