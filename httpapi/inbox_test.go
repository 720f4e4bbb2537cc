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

// briefed has a lead brief the person it works for, and returns the new item.
func (s *testServer) briefed(at, title string, kind parley.InboxType) parley.InboxItem {
	s.Helper()
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	s.plays(at, []string{call("create_inbox_item", map[string]any{
		"title": title, "summary": "All is in.", "text": "Twelve carts.", "type": kind,
	}), `{"text":"Done."}`})
	feed.until("inbox.created")
	return want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?limit=1", "").Data[0]
}

// TestTheInboxIsFiltered: by type, by agent, by what is unread, and by several of them at once. What was marked as read
// can be marked as unread again.
func TestTheInboxIsFiltered(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	_, question := s.questioned("Asks")
	at := s.background(s.member(`{"name":"Briefs","model":"sim/script"}`))
	briefing := s.briefed(at, "The harvest", parley.InboxBriefing)
	alert := s.briefed(at, "The storm", parley.InboxAlert)
	names := map[parley.ID]string{question.ID: "question", briefing.ID: "briefing", alert.ID: "alert"}
	finds := func(filters map[string]string) {
		t.Helper()
		for query, wanted := range filters {
			var got []string
			for _, item := range want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?"+query, "").Data {
				got = append(got, names[item.ID])
			}
			if all := strings.Join(got, " "); all != wanted {
				t.Errorf("%q finds %q, want %q", query, all, wanted)
			}
		}
	}
	finds(map[string]string{
		"":                         "alert briefing question",
		"order=asc":                "question briefing alert",
		"type=alert":               "alert",
		"type=briefing":            "briefing",
		"type=question&type=alert": "alert question",
		"type=approval":            "",
		"agent=asks":               "question",
		"agent=briefs":             "alert briefing",
		"agent=briefs&agent=" + question.AgentID.String(): "alert briefing question",
		"agent=asks&type=briefing":                        "",
		"unread=true":                                     "alert briefing question",
	})
	path := "/v1/inbox/" + question.ID.String()
	want[parley.InboxItem](s, 200, "PATCH", path, `{"read":true}`)
	finds(map[string]string{
		"unread=true": "alert briefing", "unread=true&agent=asks": "", "unread=true&type=alert": "alert",
		"unread=false": "alert briefing question",
	})
	if unread := want[parley.InboxItem](s, 200, "PATCH", path, `{"read":false}`); unread.ReadAt != 0 {
		t.Errorf("marked as unread: %+v", unread)
	}
	finds(map[string]string{"unread=true&agent=asks": "question"})
	want[Problem](s, 404, "GET", "/v1/inbox?agent=nobody", "")
}

// TestABriefingStaysInTheQueue: while a turn runs in the conversation, a briefing waits behind it; nobody removes it,
// changes it or sends it into the turn, and it enters when the turn ends.
func TestABriefingStaysInTheQueue(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	talk := "/v1/sessions/" + want[parley.Session](s, 201, "PUT", "/v1/agents/lead/foreground", "").ID.String()
	watch := s.stream("GET", talk+"/events", "")
	defer func() { _ = watch.body.Close() }()
	s.plays(talk, []string{`{"wait_ms":600000}`})
	watch.until("session.started")
	item := s.briefed(s.background(lead), "The harvest", parley.InboxBriefing)
	message := "/v1/messages/" + item.MessageID.String()
	if m := want[parley.Message](s, 200, "GET", message, ""); m.Status != parley.MessageQueued ||
		m.Role != parley.RoleAssistant || "/v1/sessions/"+m.SessionID.String() != talk {
		t.Errorf("while the turn runs the briefing is %+v", m)
	}
	for _, try := range [][3]string{
		{"DELETE", message, ""},
		{"PATCH", message, `{"content":{"text":"Thirteen carts."}}`},
		{"POST", message + "/send", `{"how":"steer"}`},
		{"POST", message + "/send", `{"how":"interrupt"}`},
	} {
		problem := want[Problem](s, 409, try[0], try[1], try[2])
		if !strings.Contains(problem.Detail, "belongs to an item of an inbox") {
			t.Errorf("%s %s: %s", try[0], try[2], problem.Detail)
		}
	}
	s.do("POST", talk+"/cancel", "")
	watch.until("session.cancelled")
	record := s.recordOf(talk)
	if last := record[len(record)-1]; last.ID != item.MessageID || last.Status != parley.MessageCompleted ||
		!strings.Contains(string(last.Content), "Twelve carts.") {
		t.Errorf("the record ends with %+v", last)
	}
}

// TestABriefingWaitsForAPlace: while the queue of the conversation is full, a briefing waits; it comes to the inbox
// once there is room.
func TestABriefingWaitsForAPlace(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	talk := "/v1/sessions/" + want[parley.Session](s, 201, "PUT", "/v1/agents/lead/foreground", "").ID.String()
	s.plays(talk, []string{`{"wait_ms":600000}`})
	last := "/v1/messages/" + s.overfills(talk).ID.String()
	at := s.background(lead)
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	s.plays(at, []string{call("create_inbox_item", map[string]string{
		"title": "The harvest", "summary": "All is in.", "text": strings.Repeat("Twelve carts. ", 10_000),
	}), `{"text":"Done."}`})
	s.ended(at, 1)
	if got := s.do("DELETE", last, ""); got.status != 204 {
		t.Fatalf("removing a queued message: status %d: %s", got.status, got.body)
	}
	removed := want[parley.Message](s, 200, "GET", last, "")
	feed.until("inbox.created")
	items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "").Data
	if len(items) != 1 || items[0].CreatedAt < removed.UpdatedAt ||
		"/v1/sessions/"+items[0].SessionID.String() != talk {
		t.Errorf("after the removal of %+v the inbox has %+v", removed.ID, items)
	}
}

// TestABriefingReopensItsConversation: a briefing comes to the conversation that its person has archived, and to a new
// one after they deleted it.
func TestABriefingReopensItsConversation(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	lead := s.member(`{"name":"Lead","model":"sim/script"}`)
	at := s.background(lead)
	first := s.briefed(at, "The harvest", parley.InboxBriefing)
	talk := "/v1/sessions/" + first.SessionID.String()
	want[parley.Session](s, 200, "PATCH", talk, `{"archived":true}`)
	second := s.briefed(at, "The storm", parley.InboxBriefing)
	if session := want[parley.Session](s, 200, "GET", talk, ""); second.SessionID != first.SessionID ||
		session.ArchivedAt != 0 {
		t.Errorf("the second briefing is in %s; the archived conversation is %+v", second.SessionID, session)
	}
	if got := s.do("DELETE", talk, ""); got.status != 204 {
		t.Fatalf("deleting the conversation: status %d: %s", got.status, got.body)
	}
	if third := s.briefed(at, "The frost", parley.InboxBriefing); third.SessionID == first.SessionID {
		t.Error("a briefing came to a deleted conversation")
	}
}

// alerted waits until the inbox has an alert of the server, and returns it.
func (f *frames) alerted(s *testServer) parley.InboxItem {
	f.Helper()
	f.until("inbox.created")
	alerts := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox?type=alert", "").Data
	if len(alerts) != 1 {
		f.Fatalf("the inbox has %+v", alerts)
	}
	return alerts[0]
}

// TestAFailedRunIsInTheInbox: a run of a schedule that fails is an alert with the reason. The next failure brings it
// back, unread, and a person's turn that fails raises none.
func TestAFailedRunIsInTheInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.member(`{"name":"Digger","model":"sim/fail-auth-99"}`)
	at := s.background(agent)
	want[parley.Message](s, 201, "POST", at+"/messages", `{"content":{"text":"Dig."}}`)
	s.ended(at, 1)
	made := want[parley.Schedule](s, 201, "POST", "/v1/schedules",
		`{"agent_id":"digger","name":"Round","every":"24h","message":"Look around."}`)
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	ran := s.postedNow(made.ID.String()).LastRun
	alert := feed.alerted(s)
	if alert.Title != "A scheduled run failed: Round" || alert.Summary == "" || alert.MessageID != ran.MessageID ||
		"/v1/sessions/"+alert.SessionID.String() != at || alert.AgentID != agent.ID {
		t.Errorf("the run %+v is the alert %+v", ran, alert)
	}
	path := "/v1/inbox/" + alert.ID.String()
	want[parley.InboxItem](s, 200, "PATCH", path, `{"read":true}`)
	feed.until("inbox.updated")
	ran = s.postedNow(made.ID.String()).LastRun
	feed.until("inbox.updated")
	if again := want[parley.InboxItem](s, 200, "GET", path, ""); again.ReadAt != 0 || again.MessageID != ran.MessageID {
		t.Errorf("after the next failure the alert is %+v", again)
	}
	if alerts := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "").Data; len(alerts) != 1 {
		t.Errorf("the inbox has %+v", alerts)
	}
}

// TestThreeSkippedRunsAreInTheInbox: the third run that is skipped in a row is an alert, and an event of the background
// session. Two skipped runs raise nothing.
func TestThreeSkippedRunsAreInTheInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := s.background(s.member(`{"name":"Digger","model":"sim/lorem-600-1000"}`))
	made := want[parley.Schedule](s, 201, "POST", "/v1/schedules",
		`{"agent_id":"digger","name":"Round","every":"24h","message":"Look around."}`)
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	for run := range parley.ScheduleAlertAfter + 1 { // the first runs as long as the test
		if items := want[page[parley.InboxItem]](s, 200, "GET", "/v1/inbox", "").Data; len(items) != 0 {
			t.Fatalf("after %d skipped runs the inbox has %+v", run-1, items)
		}
		last := s.postedNow(made.ID.String()).LastRun
		if skipped := last.State == parley.RunSkipped; skipped != (run > 0) {
			t.Fatalf("run %d is %+v", run+1, last)
		}
	}
	if alert := feed.alerted(s); alert.Title != "A schedule is skipped again and again: Round" ||
		alert.Summary != "3 runs in a row were skipped, the last one because its previous run has not ended." ||
		"/v1/sessions/"+alert.SessionID.String() != at {
		t.Errorf("the alert is %+v", alert)
	}
	watch := s.stream("GET", at+"/events", "")
	defer func() { _ = watch.body.Close() }()
	told := watch.until("schedule.alert")
	if data := string(told[len(told)-1].data.Data); !strings.Contains(data, made.ID.String()) {
		t.Errorf("the session's event says %s", data)
	}
}

// TestASpentBudgetIsInTheInbox: background work that waits for a budget is an alert with the limit, and goes on when
// the limit is raised. A conversation that waits raises none.
func TestASpentBudgetIsInTheInbox(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	at := s.background(s.member(`{"name":"Digger","model":"sim/echo","limits":{"session_tokens":50}}`))
	talk := "/v1/sessions/" + want[parley.Session](s, 201, "PUT", "/v1/agents/digger/foreground", "").ID.String()
	feed := s.stream("GET", "/v1/events", "")
	defer func() { _ = feed.body.Close() }()
	var asked parley.Message
	for _, session := range []string{talk, at} {
		watch := s.stream("GET", session+"/events", "")
		asked = want[parley.Message](s, 201, "POST", session+"/messages", `{"content":{"text":"Dig."}}`)
		watch.until("session.waiting")
		_ = watch.body.Close()
	}
	alert := feed.alerted(s)
	if alert.Title != "Background work waits for its budget" || !strings.Contains(alert.Summary, "session_tokens") ||
		alert.MessageID != asked.ID || "/v1/sessions/"+alert.SessionID.String() != at {
		t.Errorf("the alert is %+v", alert)
	}
	want[parley.Session](s, 200, "PATCH", at, `{"limits":{"session_tokens":500000}}`)
	if now := s.awaitEnd(strings.TrimPrefix(at, "/v1/sessions/")); now.Status != parley.SessionCompleted {
		t.Errorf("with a larger budget the session is %s", now.Status)
	}
}
