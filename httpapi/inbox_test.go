package httpapi

import (
	"encoding/json"
	"net/http"
	"testing"

	"example.org/parley"
)

// questioned has an agent without a lead ask its owner. It returns the path of the agent's background session and the
// item in the owner's inbox.
func (s *testServer) questioned(name string, headers ...string) (at string, item parley.InboxItem) {
	s.Helper()
	lead := s.member(`{"name":"`+name+`","model":"sim/script"}`, headers...)
	at = s.background(lead)
	watch := s.stream("GET", "/v1/events", "", headers...)
	defer func() { _ = watch.body.Close() }()
	s.plays(at, []string{call("request_input", map[string]string{"question": "Which field?"}),
		`{"text":"I have asked."}`, `{"text":"Thank you."}`}, headers...)
	watch.until("inbox.created")
	items := want[page[parley.InboxItem]](
		s, http.StatusOK, "GET", "/v1/inbox?type=question&agent="+lead.Slug, "", headers...).Data
	if len(items) != 1 {
		s.Fatalf("the inbox has %d questions of the agent", len(items))
	}
	return at, items[0]
}

// TestABriefingComesToTheInbox: what an agent puts into its owner's inbox is listed, its text is a message of the
// session with the agent, and it can be marked as read.
func TestABriefingComesToTheInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	at := s.background(lead)
	watch := s.stream("GET", "/v1/events", "")
	defer func() { _ = watch.body.Close() }()
	s.plays(at, []string{call("create_inbox_item", map[string]string{
		"title": "The harvest", "summary": "All is in.", "text": "Twelve carts, and **no** rain.",
	}), `{"text":"Done."}`})
	told := watch.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?unread=true", "").Data
	if len(items) != 1 || items[0].Type != parley.InboxBriefing || items[0].Title != "The harvest" ||
		items[0].Summary != "All is in." {
		t.Fatalf("the inbox has %+v after %v", items, told)
	}
	item := items[0]
	if "/v1/sessions/"+item.SourceSessionID.String() != at {
		t.Errorf("the work behind it is in %s", item.SourceSessionID)
	}
	m := want[parley.Message](s, 200, "GET", "/v1/messages/"+item.MessageID.String(), "")
	var said parley.AssistantContent
	if err := json.Unmarshal(m.Content, &said); err != nil || said.Text != "Twelve carts, and **no** rain." ||
		m.SessionID != item.SessionID {
		t.Errorf("the message is %+v (%v)", m, err)
	}
	session := want[parley.Session](s, 200, "PUT", "/v1/agents/lead/foreground", "")
	if session.ID != item.SessionID {
		t.Errorf("the session with the agent is %s, and the briefing stands in %s", session.ID, item.SessionID)
	}
	path := "/v1/inbox/" + item.ID.String()
	if read := want[parley.InboxItem](s, 200, "PATCH", path, `{"read":true}`); read.ReadAt == 0 {
		t.Errorf("marked as read: %+v", read)
	}
	if left := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?unread=true", "").Data; len(left) != 0 {
		t.Errorf("unread: %+v", left)
	}
	want[Problem](s, 422, "POST", path+"/answer", `{"text":"Well done."}`)
	want[Problem](s, 422, "GET", "/v1/inbox?type=letter", "")
}

// TestAQuestionIsAnsweredFromTheInbox: the answer starts the agent's next turn, once.
func TestAQuestionIsAnsweredFromTheInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at, item := s.questioned("Lead")
	path := "/v1/inbox/" + item.ID.String()
	want[Problem](s, 422, "POST", path+"/answer", `{"text":" "}`)
	answered := want[parley.InboxItem](s, 200, "POST", path+"/answer", `{"text":"The northern one."}`)
	if answered.AnsweredAt == 0 {
		t.Errorf("answered: %+v", answered)
	}
	want[Problem](s, 409, "POST", path+"/answer", `{"text":"The southern one."}`)
	s.ended(at, 2)
	said := ""
	for _, m := range s.recordOf(at) {
		var content parley.UserContent
		if m.Role == parley.RoleUser && json.Unmarshal(m.Content, &content) == nil {
			said = content.Text
		}
	}
	if said != "Answer to your question to the person you work for, \"Which field?\":\n\nThe northern one." {
		t.Errorf("the agent was told %q", said)
	}
}
