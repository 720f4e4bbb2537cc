package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
	"example.org/parley/tool"
	"example.org/parley/tool/team"
)

// TestKnowledgeThroughTheAPI: people write, change, pin, approve and forget what an agent knows.
func TestKnowledgeThroughTheAPI(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.member(`{"name":"Digger","model":"sim/echo"}`)
	const body = `{"agent_id":"digger","text":"Dig in the north."}`
	made := want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge", body, "Idempotency-Key", "k")
	if repeat := want[parley.KnowledgeItem](
		s, 201, "POST", "/v1/knowledge", body, "Idempotency-Key", "k"); repeat.ID != made.ID {
		t.Errorf("the repeat gives item %s", repeat.ID)
	}
	if made.AgentID != agent.ID || made.Kind != parley.KnowledgeFact || made.Scope != parley.KnowledgeOfAgent ||
		made.Status != parley.KnowledgeActive || made.Author.Kind == parley.AuthorAgent {
		t.Errorf("created: %+v", made)
	}
	path := "/v1/knowledge/" + made.ID.String()
	changed := want[parley.KnowledgeItem](s, 200, "PATCH", path, `{"text":"Dig in the south.","kind":"procedure"}`)
	if changed.Text != "Dig in the south." || changed.ApprovedAt != 0 {
		t.Errorf("changed: %+v", changed)
	}
	approved := want[parley.KnowledgeItem](s, 200, "PATCH", path, `{"approved":true,"pinned":true}`)
	if approved.ApprovedAt == 0 || approved.ApprovedByID.IsZero() || !approved.Pinned {
		t.Errorf("approved: %+v", approved)
	}
	want[Problem](s, 422, "PATCH", path, `{"text":" "}`)
	want[Problem](s, 422, "PATCH", path, `{"kind":"rumour"}`)
	want[Problem](s, 422, "POST", "/v1/knowledge", `{"agent_id":"digger","text":"x","scope":"world"}`)
	want[Problem](s, 422, "GET", "/v1/knowledge?kind=rumour", "")
	want[Problem](s, 422, "GET", "/v1/knowledge?agent=digger&team=digger", "")
	want[Problem](s, 404, "GET", "/v1/knowledge/"+parley.NewID().String(), "")
	if list := want[page[parley.KnowledgeItem]](
		s, 200, "GET", "/v1/knowledge?agent=digger&kind=procedure&status=active", "").Data; len(list) != 1 {
		t.Errorf("the agent's procedures are %+v", list)
	}
	if answer := s.do("DELETE", path, ""); answer.status != http.StatusNoContent {
		t.Fatalf("forgetting: %d", answer.status)
	}
	if got := want[parley.KnowledgeItem](s, 200, "GET", path, ""); got.Status != parley.KnowledgeForgotten {
		t.Errorf("forgotten: %+v", got)
	}
}

// TestKnowledgeIsTheOwners: everybody reads what an agent knows, as far as they may read where it comes from; the
// agent's owner and admins change it.
func TestKnowledgeIsTheOwners(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	admin := s.key("one", "root", parley.RoleAdmin)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`, "Authorization", owner)
	const body = `{"agent_id":"digger","text":"Dig in the north."}`
	made := want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge", body, "Authorization", owner)
	path := "/v1/knowledge/" + made.ID.String()
	for _, try := range [][3]string{
		{"POST", "/v1/knowledge", body}, {"PATCH", path, `{"pinned":true}`}, {"DELETE", path, ""},
	} {
		if got := s.do(try[0], try[1], try[2], "Authorization", other); got.status != http.StatusForbidden {
			t.Errorf("%s %s by another member: status %d, want 403: %s", try[0], try[1], got.status, got.body)
		}
	}
	want[parley.KnowledgeItem](s, 200, "GET", path, "", "Authorization", other)
	want[parley.KnowledgeItem](s, 200, "PATCH", path, `{"pinned":true}`, "Authorization", admin)

	at := s.background(agent)
	watches := map[string]*frames{}
	for _, reader := range []string{owner, admin, other} {
		watches[reader] = s.stream("GET", "/v1/events", "", "Authorization", reader)
		watches[reader].until("resync")
	}
	s.plays(at, []string{call("remember", map[string]string{"text": "Ada's secret."}), `{"text":"Noted."}`},
		"Authorization", owner)
	s.stream("GET", at+"/events", "", "Authorization", owner).until("session.completed")
	want[parley.KnowledgeItem](s, 200, "PATCH", path, `{"pinned":false}`, "Authorization", owner)
	for reader, watch := range watches { // the change comes after the secret, which only its readers hear of
		heard := 1
		for _, event := range watch.until("knowledge.updated") {
			if event.event == "knowledge.created" {
				heard++
			}
		}
		if count := map[string]int{owner: 2, admin: 2, other: 1}[reader]; heard != count {
			t.Errorf("a reader of %d items heard of %d", count, heard)
		}
	}
	for reader, count := range map[string]int{owner: 2, admin: 2, other: 1} {
		if items := want[page[parley.KnowledgeItem]](
			s, 200, "GET", "/v1/knowledge?agent=digger", "", "Authorization", reader).Data; len(items) != count {
			t.Errorf("a reader finds %d items, want %d: %+v", len(items), count, items)
		}
	}
}

// TestSharedConversationsTellNothingPrivate: in a session that others read and ask in, an agent knows what all of them
// may know, even if its owner knows more: neither its tools nor its prompt say anything from a private session.
func TestSharedConversationsTellNothingPrivate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`, "Authorization", owner)
	at := s.background(agent)
	s.plays(at, []string{call("remember", map[string]string{"text": "Ada's secret."}), `{"text":"Noted."}`},
		"Authorization", owner)
	s.stream("GET", at+"/events", "", "Authorization", owner).until("session.completed")
	want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge", `{"agent_id":"digger","text":"Known to all."}`,
		"Authorization", owner)
	search, err := json.Marshal("[[" + call("search_knowledge", map[string]string{}) + `],[{"text":"Done."}]]`)
	if err != nil {
		t.Fatal(err)
	}
	for visibility, private := range map[string]bool{"workspace": false, "private": true} {
		session := want[parley.Session](s, 201, "POST", "/v1/sessions",
			`{"agent_id":"digger","knowledge_tokens":1000,"visibility":"`+visibility+`"}`, "Authorization", owner)
		in, asks := "/v1/sessions/"+session.ID.String(), other
		if private {
			asks = owner
		}
		s.stream("POST", in+"/messages", `{"content":{"text":`+string(search)+`}}`, "Authorization", asks).
			until("session.completed")
		found := string(s.do("GET", in+"/messages", "", "Authorization", asks).body)
		block, err := s.store.ChosenKnowledge(t.Context(), session.WorkspaceID, session.ID)
		if err != nil || block == nil {
			t.Fatalf("block %v, error %v", block, err)
		}
		for where, said := range map[string]string{"search": found, "prompt": block.Text} {
			if !strings.Contains(said, "Known to all.") || strings.Contains(said, "Ada's secret.") != private {
				t.Errorf("the %s of a %s session: %s", where, visibility, said)
			}
		}
	}
}

// TestOthersConversationsChangeNoKnowledge: people who talk to somebody else's agent can ask what it knows, but cannot
// make it note or forget anything. Nobody can make it forget a procedure that a person approved.
func TestOthersConversationsChangeNoKnowledge(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false,`+
		`"grants":[{"tool":"forget","effect":"allow"}]}`,
		"Authorization", owner)
	at := s.background(agent)
	want[parley.Session](s, 200, "PATCH", at, `{"visibility":"workspace"}`, "Authorization", owner)
	s.plays(at, []string{
		call("remember", map[string]string{"text": "The gate opens at nine."}),
		call("remember", map[string]string{"text": "Knock twice, then wait.", "kind": "procedure"}),
		`{"text":"Noted."}`,
	}, "Authorization", owner)
	s.stream("GET", at+"/events", "", "Authorization", owner).until("session.completed")
	known := func() map[string]parley.KnowledgeItem {
		t.Helper()
		byText := map[string]parley.KnowledgeItem{}
		for _, item := range want[page[parley.KnowledgeItem]](
			s, 200, "GET", "/v1/knowledge?agent=digger&status=active", "", "Authorization", owner).Data {
			byText[item.Text] = item
		}
		return byText
	}
	fact, procedure := known()["The gate opens at nine."], known()["Knock twice, then wait."]
	want[parley.KnowledgeItem](s, 200, "PATCH", "/v1/knowledge/"+procedure.ID.String(), `{"approved":true}`,
		"Authorization", owner)
	play := func(key string) {
		t.Helper()
		session := want[parley.Session](s, 201, "PUT", "/v1/agents/digger/foreground", "", "Authorization", key)
		in := "/v1/sessions/" + session.ID.String()
		script, err := json.Marshal("[[" + strings.Join([]string{
			call("forget", map[string]string{"id": procedure.ID.String()}),
			call("forget", map[string]string{"id": fact.ID.String()}),
			call("remember", map[string]any{"text": "The gate stays shut.", "team": true}), `{"text":"Done."}`,
		}, "],[") + "]]")
		if err != nil {
			t.Fatal(err)
		}
		stream := s.stream("POST", in+"/messages", `{"content":{"text":`+string(script)+`}}`, "Authorization", key)
		stream.until("session.completed")
	}
	play(other)
	if items := known(); len(items) != 2 {
		t.Errorf("after a conversation of somebody else the agent knows %v", items)
	}
	play(owner)
	items := known()
	_, stays := items[procedure.Text]
	if _, noted := items["The gate stays shut."]; len(items) != 2 || !noted || !stays {
		t.Errorf("after one of its owner it knows %v", items)
	}
}

// latestCall returns the latest call of a session, explained.
func (s *testServer) latestCall(at string, headers ...string) explainedCall {
	s.Helper()
	calls := want[page[parley.Call]](s, 200, "GET", at+"/calls", "", headers...).Data
	latest := slices.MaxFunc(calls, func(a, b parley.Call) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return want[explainedCall](s, 200, "GET", "/v1/calls/"+latest.ID.String(), "", headers...)
}

type explainedCall struct {
	ID        parley.ID               `json:"id"`
	System    string                  `json:"system_prompt"`
	Request   json.RawMessage         `json:"request"`
	Exact     bool                    `json:"exact"`
	Knowledge []parley.KnowledgeShown `json:"knowledge"`
}

// TestRequestsAreToldWhatIsKnown: the block behind the system prompt names its items, what is newer comes once with the
// next message, and what is forgotten is in no later request.
func TestRequestsAreToldWhatIsKnown(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Digger","model":"sim/echo","system_prompt":"You dig."}`)
	first := want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge",
		`{"agent_id":"digger","text":"The north has gold."}`)
	session := want[parley.Session](s, 201, "PUT", "/v1/agents/digger/foreground", "")
	at := "/v1/sessions/" + session.ID.String()
	say := func(text string) explainedCall {
		t.Helper()
		stream := s.stream("POST", at+"/messages", `{"content":{"text":"`+text+`"}}`)
		stream.until("session.completed")
		return s.latestCall(at)
	}
	call := say("Where?")
	if !call.Exact || !strings.HasPrefix(call.System, "You dig.\n\n<knowledge>\n") ||
		!strings.Contains(call.System, "The north has gold.") {
		t.Errorf("the system prompt is %q (exact %t)", call.System, call.Exact)
	}
	if len(call.Knowledge) != 1 || call.Knowledge[0].ItemID != first.ID {
		t.Errorf("the explanation names %+v", call.Knowledge)
	}
	second := want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge",
		`{"agent_id":"digger","text":"The south has silver."}`)
	told, again := say("And now?"), say("And then?")
	for i, later := range []explainedCall{told, again} { // the answer to the next message repeats it
		if later.System != call.System || strings.Count(string(later.Request), "The south has silver.") != i+1 {
			t.Errorf("request %d has the system prompt %q in %s", i+2, later.System, later.Request)
		}
	}
	for _, item := range []parley.KnowledgeItem{first, second} {
		if answer := s.do("DELETE", "/v1/knowledge/"+item.ID.String(), ""); answer.status != http.StatusNoContent {
			t.Fatalf("forgetting: %d", answer.status)
		}
	}
	if gone := say("And again?"); strings.Contains(gone.System, "gold") || len(gone.Knowledge) != 0 {
		t.Errorf("after forgetting the system prompt is %q", gone.System)
	}
	want[parley.Session](s, 200, "PATCH", at, `{"knowledge_tokens":0}`)
	want[parley.KnowledgeItem](s, 201, "POST", "/v1/knowledge", `{"agent_id":"digger","text":"The east has tin."}`)
	if off := say("At last?"); strings.Contains(string(off.Request), "tin") {
		t.Errorf("with 0 tokens the request is %s", off.Request)
	}
}

// TestWhatIsForgottenLeavesContextNotes: an item that a message's context note told, and that is forgotten or reworded,
// is in no later request, and what other notes told of items that still hold is told by the next block.
func TestWhatIsForgottenLeavesContextNotes(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.member(`{"name":"Digger","model":"sim/script","system_prompt":"You dig."}`)
	at := "/v1/sessions/" + want[parley.Session](s, 201, "PUT", "/v1/agents/digger/foreground", "").ID.String()
	know := func(text string) string {
		t.Helper()
		return "/v1/knowledge/" + want[parley.KnowledgeItem](
			s, 201, "POST", "/v1/knowledge", `{"agent_id":"digger","text":"`+text+`"}`).ID.String()
	}
	say := func() explainedCall {
		t.Helper()
		s.stream("POST", at+"/messages", `{"content":{"text":"[[{\"text\":\"Yes.\"}]]"}}`).until("session.completed")
		call := s.latestCall(at)
		if !call.Exact {
			t.Errorf("the request cannot be made again: %s", call.Request)
		}
		return call
	}
	tells := func(call explainedCall, text string, want int) {
		t.Helper()
		if got := strings.Count(string(call.Request), text); got != want {
			t.Errorf("the request tells %q %d times, want %d: %s", text, got, want, call.Request)
		}
	}
	say()
	silver, tin := know("The south has silver."), know("The east has tin.")
	told := say()
	tells(told, "silver", 1)
	tells(told, "tin", 1)
	if answer := s.do("DELETE", silver, ""); answer.status != http.StatusNoContent {
		t.Fatalf("forgetting: %d", answer.status)
	}
	gone := say()
	tells(gone, "silver", 0)
	tells(gone, "tin", 1)
	if !strings.Contains(gone.System, "tin") {
		t.Errorf("the next block is %q", gone.System)
	}
	copper := know("The west has copper.")
	tells(say(), "copper", 1)
	want[parley.KnowledgeItem](s, 200, "PATCH", copper, `{"text":"The west has zinc."}`)
	want[parley.KnowledgeItem](s, 200, "PATCH", tin, `{"pinned":true}`)
	changed := say()
	tells(changed, "copper", 0)
	if !strings.Contains(changed.System, "zinc") {
		t.Errorf("the next block is %q", changed.System)
	}
	if again := say(); again.System != changed.System {
		t.Errorf("a block that tells nothing outdated was chosen anew: %q", again.System)
	}
	know("The hill has lead.")
	tells(say(), "lead", 1)
	want[parley.Session](s, 200, "PATCH", at, `{"knowledge_tokens":0}`)
	for _, off := range []explainedCall{say(), say()} {
		for _, text := range []string{"silver", "copper", "lead", "What is known"} {
			tells(off, text, 0)
		}
	}
}

// TestAgentsSearchNoteAndForget: the tools of knowledge work in a background session, and forget waits for a person.
func TestAgentsSearchNoteAndForget(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`)
	at := s.background(agent)
	s.plays(at, []string{call("remember", map[string]any{"text": "The gate opens at nine.", "kind": "preference"}),
		call("search_knowledge", map[string]string{"query": "gate"}), `{"text":"Noted."}`})
	s.ended(at, 1)
	items := want[page[parley.KnowledgeItem]](s, 200, "GET", "/v1/knowledge?agent=digger", "").Data
	if len(items) != 1 || items[0].Text != "The gate opens at nine." || len(items[0].Sources) != 1 ||
		"/v1/sessions/"+items[0].Sources[0].SessionID.String() != at {
		t.Fatalf("the agent noted %+v", items)
	}
	found := ""
	for _, m := range s.recordOf(at) {
		if m.Role == parley.RoleToolResult {
			found = string(m.Content)
		}
	}
	if !strings.Contains(found, items[0].ID.String()) {
		t.Errorf("the search found %s", found)
	}
	s.plays(at, []string{call("forget", map[string]string{"id": items[0].ID.String()}), `{"text":"Forgotten."}`})
	for until := time.Now().Add(patience); ; runtime.Gosched() {
		waiting := want[page[parley.Approval]](s, 200, "GET", "/v1/approvals", "").Data
		if len(waiting) == 1 {
			want[parley.Approval](s, 200, "POST", "/v1/approvals/"+waiting[0].ID.String(), `{"decision":"approve"}`)
			break
		}
		if time.Now().After(until) {
			t.Fatal("nobody is asked whether the agent may forget")
		}
	}
	s.ended(at, 2)
	if got := want[parley.KnowledgeItem](s, 200, "GET", "/v1/knowledge/"+items[0].ID.String(), ""); got.Status !=
		parley.KnowledgeForgotten {
		t.Errorf("after the approval the item is %+v", got)
	}
}

// TestAgentsNoteAndForgetOnce: a call that runs again, as after a crash before its result was recorded, answers as the
// first time did, and changes nothing.
func TestAgentsNoteAndForgetOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":false}`)
	at := s.background(agent)
	s.plays(at, []string{call("remember", map[string]any{"text": "It opens at nine."}), `{"text":"Noted."}`})
	s.ended(at, 1)
	old := want[page[parley.KnowledgeItem]](s, 200, "GET", "/v1/knowledge?agent=digger", "").Data[0]
	s.plays(at, []string{
		call("remember", map[string]any{"text": "It opens at ten.", "replaces": old.ID.String()}), `{"text":"Noted."}`,
	})
	s.ended(at, 2)
	tools := map[string]tool.Tool{}
	for _, one := range team.Tools(s.store).Knowing() {
		tools[one.Definition().Name] = one
	}
	all := func() string {
		s.Helper()
		return string(s.do("GET", "/v1/knowledge?agent=digger", "").body)
	}
	again := func(call tool.Call, name, first string) {
		s.Helper()
		before := all()
		result, err := tools[name].Call(t.Context(), call)
		if err != nil || string(result.JSON) != first {
			t.Errorf("%s again answers %s, %v; first %s", name, result.JSON, err, first)
		}
		if after := all(); after != before {
			t.Errorf("%s again leaves %s; before %s", name, after, before)
		}
	}
	var noted []struct {
		ID parley.ID `json:"id"`
	}
	var asked parley.ToolCallContent
	record := s.recordOf(at)
	for i := range record {
		switch m := &record[i]; m.Role {
		case parley.RoleToolCall:
			if err := json.Unmarshal(m.Content, &asked); err != nil {
				t.Fatal(err)
			}
		case parley.RoleToolResult:
			var content struct{ Result json.RawMessage }
			if err := json.Unmarshal(m.Content, &content); err != nil {
				t.Fatal(err)
			}
			one := struct {
				ID parley.ID `json:"id"`
			}{}
			if err := json.Unmarshal(content.Result, &one); err != nil {
				t.Fatal(err)
			}
			noted = append(noted, one)
			again(tool.Call{
				WorkspaceID: agent.WorkspaceID, SessionID: m.SessionID, MessageID: record[i-1].ID,
				Arguments: asked.Arguments,
			}, "remember", string(content.Result))
		}
	}
	if len(noted) != 2 {
		t.Fatalf("the agent noted %+v", noted)
	}
	forget := tool.Call{
		WorkspaceID: agent.WorkspaceID, SessionID: record[0].SessionID, MessageID: parley.NewID(),
		Arguments: json.RawMessage(`{"id":"` + noted[1].ID.String() + `"}`),
	}
	if _, err := tools["forget"].Call(t.Context(), forget); err != nil {
		t.Fatal(err)
	}
	again(forget, "forget", `{"forgotten":true}`)
}

// drawnFrom waits until knowledge was drawn from a turn.
func (s *testServer) drawnFrom(turn *parley.Turn) parley.KnowledgeItem {
	s.Helper()
	id := parley.DrawnKnowledgeID(parley.DrawingID(turn.ID), 0)
	for until := time.Now().Add(patience); ; runtime.Gosched() {
		item, err := s.store.KnowledgeItem(s.Context(), store.Scope{WorkspaceID: turn.WorkspaceID}, id)
		if err == nil {
			return item
		}
		if time.Now().After(until) {
			opened := "/v1/sessions/" + parley.DrawingID(turn.ID).String()
			s.Fatalf("nothing was drawn from the turn: %v; the tool session: %s %s", err, s.do("GET", opened, "").body,
				s.do("GET", opened+"/messages", "").body)
		}
	}
}

// TestWorkSessionsKeepTheirPrefix: over twenty work sessions of an agent that draws knowledge from each, at least nine
// tenths of the bytes of all requests stand unchanged at the beginning of the request before.
func TestWorkSessionsKeepTheirPrefix(t *testing.T) {
	t.Parallel()
	const sessions, least = 20, 0.9
	s := startServer(t)
	agent := s.member(`{"name":"Digger","model":"sim/script","draw_knowledge":true,"system_prompt":"You dig."}`)
	at := s.background(agent)
	for i := range sessions {
		posted := want[parley.Message](s, 201, "POST", "/v1/agents/digger/tasks",
			fmt.Sprintf(`{"text":"[[{\"text\":\"Field %d has iron, and the way there is dry.\"}]]"}`, i))
		s.ended(at, i+1)
		turn := want[parley.Turn](s, 200, "GET", "/v1/turns/"+posted.TurnID.String(), "")
		s.drawnFrom(&turn)
	}
	calls := want[page[parley.Call]](s, 200, "GET", at+"/calls?limit=200", "").Data
	slices.SortFunc(calls, func(a, b parley.Call) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	if len(calls) != sessions {
		t.Fatalf("%d calls for %d work sessions", len(calls), sessions)
	}
	var before json.RawMessage
	same, all, news := 0, 0, 0
	for i := range calls {
		call := want[explainedCall](s, 200, "GET", "/v1/calls/"+calls[i].ID.String(), "")
		if !call.Exact {
			t.Errorf("the request of work session %d cannot be made again", i+1)
		}
		if i > 0 {
			n := 0
			for n < min(len(before), len(call.Request)) && before[n] == call.Request[n] {
				n++
			}
			same, all = same+n, all+len(call.Request)
		}
		before, news = call.Request, strings.Count(string(call.Request), "What has become known since")
	}
	if share := float64(same) / float64(all); share < least {
		t.Errorf("%.1f %% of %d bytes are an unchanged prefix, want %.0f %%", 100*share, all, 100*least)
	} else {
		t.Logf("%.1f %% of %d bytes are an unchanged prefix", 100*share, all)
	}
	if news != sessions-1 {
		t.Errorf("%d of %d work sessions were told what the one before had found", news, sessions-1)
	}
	usage := want[struct {
		Data []parley.UsageSum `json:"data"`
	}](s, 200, "GET", "/v1/usage?group=purpose", "")
	drawn := slices.IndexFunc(usage.Data, func(u parley.UsageSum) bool { return u.Purpose == parley.UsageOfKnowledge })
	if drawn < 0 || usage.Data[drawn].Calls != sessions {
		t.Errorf("usage by purpose: %+v", usage.Data)
	}
}
