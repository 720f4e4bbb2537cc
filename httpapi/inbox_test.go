package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
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
	for {
		watch.until("inbox.created") // or another agent's
		items := want[page[parley.InboxItem]](
			s, http.StatusOK, "GET", "/v1/inbox?type=question&agent="+lead.Slug, "", headers...).Data
		switch len(items) {
		case 0:
			continue
		case 1:
			return at, items[0]
		}
		s.Fatalf("the inbox has %d questions of the agent", len(items))
	}
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
	if said, _ = strings.CutSuffix(said, ":\n\nThe northern one."); !strings.HasPrefix(
		said, "Answer to your question to the person you work for, \"Which field?\" ["+item.SessionID.String()+":") {
		t.Errorf("the agent was told %q", said)
	}
}

// TestNobodyElseHearsOfAnInbox: the feed tells of an item only its principal, and for everybody else, admins too, it
// does not exist.
func TestNobodyElseHearsOfAnInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := []string{"Authorization", "Bearer " + testToken}
	bob := []string{"Authorization", s.key("default", "bob", parley.RoleMember)}
	feeds := map[*frames]parley.InboxItem{}
	watches := []*frames{s.stream("GET", "/v1/events", "", admin...), s.stream("GET", "/v1/events", "", bob...)}
	for _, watch := range watches {
		watch.until("resync")
	}
	_, of := s.questioned("Admins", admin...)
	_, own := s.questioned("Bobs", bob...)
	feeds[watches[0]], feeds[watches[1]] = of, own
	for _, pair := range []struct {
		item    parley.InboxItem
		headers []string
	}{{of, bob}, {own, admin}} {
		path := "/v1/inbox/" + pair.item.ID.String()
		want[Problem](s, 404, "GET", path, "", pair.headers...)
		want[Problem](s, 404, "PATCH", path, `{"read":true}`, pair.headers...)
		want[Problem](s, 404, "POST", path+"/answer", `{"text":"The other one."}`, pair.headers...)
	}
	for watch, item := range feeds {
		told := watch.until("inbox.created")
		data := string(told[len(told)-1].data.Data)
		if !strings.Contains(data, item.ID.String()) {
			t.Errorf("the first item that the feed tells is %s; want %s", data, item.ID)
		}
	}
	for _, read := range []struct {
		item    parley.InboxItem
		headers []string
	}{{of, admin}, {own, bob}} {
		want[parley.InboxItem](s, 200, "PATCH", "/v1/inbox/"+read.item.ID.String(), `{"read":true}`, read.headers...)
	}
	for watch, item := range feeds {
		for _, told := range watch.until("inbox.updated") {
			if strings.HasPrefix(told.event, "inbox.") && !strings.Contains(string(told.data.Data), item.ID.String()) {
				t.Errorf("the feed tells of another's item: %s", told.data.Data)
			}
		}
	}
}

// TestABriefingCitesWhatItsAgentRead: a wrong citation is an error that the model reads, and a right one leads to the
// message.
func TestABriefingCitesWhatItsAgentRead(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := s.background(s.member(`{"name":"Lead","model":"sim/script"}`))
	session := strings.TrimPrefix(at, "/v1/sessions/")
	brief := func(text string) string {
		return call(
			"create_inbox_item",
			map[string]string{"title": "The harvest", "summary": "All is in.", "text": text},
		)
	}
	watch := s.stream("GET", "/v1/events", "")
	defer func() { _ = watch.body.Close() }()
	s.plays(at, []string{
		brief("Twelve carts (" + session + ":99) [" + session + ":99]."),
		brief("Twelve carts [" + session + ":1]."), `{"text":"Done."}`,
	})
	watch.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "").Data
	if len(items) != 1 || len(items[0].Citations) != 1 {
		t.Fatalf("the inbox has %+v", items)
	}
	cited := items[0].Citations[0]
	m := want[parley.Message](s, 200, "GET", "/v1/messages/"+cited.MessageID.String(), "")
	if m.Sequence != 1 || m.SessionID.String() != session || cited.Sequence != 1 || cited.SessionID != m.SessionID {
		t.Errorf("%+v leads to message %d of %s", cited, m.Sequence, m.SessionID)
	}
	s.ended(at, 1)
	failed := ""
	for _, m := range s.recordOf(at) {
		var result parley.ToolResultContent
		if m.Role == parley.RoleToolResult && json.Unmarshal(m.Content, &result) == nil && result.Error != nil {
			failed += *result.Error
		}
	}
	if !strings.HasPrefix(failed, "["+session+":99] cites a message that is not in your work, or not there; copy") {
		t.Errorf("the model read %q", failed)
	}
}

// TestAnApprovalOfTheInboxIsDecidedInPlace: the approval of background work is an item, which the decision answers.
func TestAnApprovalOfTheInboxIsDecidedInPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := s.background(s.member(
		`{"name":"Asks","model":"sim/script","tools":["current_time"],"grants":[{"tool":"current_*","effect":"ask"}]}`))
	watch := s.stream("GET", "/v1/events", "")
	defer func() { _ = watch.body.Close() }()
	s.plays(at, []string{call("current_time", map[string]string{"timezone": "UTC"}), `{"text":"Thanks."}`})
	watch.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?type=approval&unread=true", "").Data
	if len(items) != 1 || !items[0].Waits() || items[0].Title != "May current_time run?" {
		t.Fatalf("the inbox has %+v", items)
	}
	want[Problem](s, 422, "POST", "/v1/inbox/"+items[0].ID.String()+"/answer", `{"text":"Yes."}`)
	want[parley.Approval](s, 200, "POST", "/v1/approvals/"+items[0].ApprovalID.String(), `{"decision":"approve"}`)
	watch.until("inbox.updated")
	if item := want[parley.InboxItem](s, 200, "GET", "/v1/inbox/"+items[0].ID.String(), ""); item.AnsweredAt == 0 ||
		item.ReadAt == 0 {
		t.Errorf("the decided item is %+v", item)
	}
	s.ended(at, 1)
}

// TestAStoppedChainIsInTheInbox: an agent that may not send on goes on with the reason, and its owner is told.
func TestAStoppedChainIsInTheInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	works := s.member(fmt.Sprintf(`{"name":"Works","model":"sim/lorem-600-1000","lead_id":%q}`, lead.ID))
	at := s.background(lead)
	watch := s.stream("GET", "/v1/events", "")
	defer func() { _ = watch.body.Close() }()
	var steps []string
	for range parley.MaxDelegationPair + 2 {
		steps = append(steps, call("delegate_to_agent", map[string]string{"agent": "works", "task": "Look."}))
	}
	s.plays(at, append(steps, `{"text":"Done."}`))
	watch.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "").Data
	if len(items) != 1 || items[0].Type != parley.InboxAlert || "/v1/sessions/"+items[0].SessionID.String() != at ||
		!strings.Contains(items[0].Summary, "Lead (lead) could not send a task: you have sent this receiver 8 things") {
		t.Errorf("the inbox has %+v", items)
	}
	for _, session := range []string{at, s.background(works)} { // both sides are told
		s.stream("GET", session+"/events", "").until("delegation.refused")
	}
}

// TestABriefingGoesToWhomTheAgentNames: brief_to_id is a principal of the workspace, and gets what an agent of a key
// has for a person.
func TestABriefingGoesToWhomTheAgentNames(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	admin := []string{"Authorization", "Bearer " + testToken}
	made := want[engine.NewKey](s, 201, "POST", "/v1/keys", `{"name":"anna","role":"member"}`, admin...)
	anna := []string{"Authorization", "Bearer " + made.Secret}
	admin[1] = s.key("default", "robot", parley.RoleAdmin) // the local owner's token is a person's
	nobody := fmt.Sprintf(`"brief_to_id":%q`, parley.NewID())
	want[Problem](s, 422, "POST", "/v1/agents", `{"name":"Lead",`+nobody+`}`, admin...)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`, admin...)
	path := "/v1/agents/" + lead.Slug
	want[Problem](s, 422, "PATCH", path, `{`+nobody+`}`, admin...)
	changed := want[parley.Agent](s, 200, "PATCH", path, fmt.Sprintf(`{"brief_to_id":%q}`, made.PrincipalID), admin...)
	if changed.BriefToID != made.PrincipalID {
		t.Errorf("the agent is %+v", changed)
	}
	watch := s.stream("GET", "/v1/events", "", anna...)
	defer func() { _ = watch.body.Close() }()
	watch.until("resync")
	s.plays(s.background(lead), []string{call("create_inbox_item", map[string]string{
		"title": "The harvest", "summary": "All is in.", "text": "Twelve carts.",
	}), `{"text":"Done."}`}, admin...)
	watch.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "", anna...).Data
	if len(items) != 1 || items[0].Title != "The harvest" {
		t.Fatalf("the inbox has %+v", items)
	}
	want[parley.Message](s, 200, "GET", "/v1/messages/"+items[0].MessageID.String(), "", anna...)
}
