package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

func TestAgents(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"Release Writer","tools":["current_time",{"name":"ask","parameters":{"type":"object"}}],`+
			`"tags":["docs"],"temperature":0.2}`,
	)
	if agent.Slug != "release-writer" || agent.Version != 1 || len(*agent.Tools) != 2 {
		t.Errorf("agent %+v", agent)
	}
	if got := s.do("POST", "/v1/agents", `{"name":"release writer","slug":"release-writer"}`); got.status != 409 {
		t.Errorf("the slug again: status %d", got.status)
	}
	changed := want[parley.Agent](
		s,
		200,
		"PATCH",
		"/v1/agents/release-writer",
		`{"temperature":null,"description":"Writes."}`,
	)
	if changed.Version != 2 || changed.Temperature != nil || changed.Description != "Writes." ||
		changed.Name != "Release Writer" {
		t.Errorf("changed %+v", changed)
	}
	if first := want[parley.Agent](
		s,
		200,
		"GET",
		"/v1/agents/release-writer/versions/1",
		"",
	); first.Version != 1 ||
		*first.Temperature != 0.2 {
		t.Errorf("version 1: %+v", first)
	}
	if listed := want[page[parley.Agent]](
		s,
		200,
		"GET",
		"/v1/agents?tag=docs",
		"",
	); len(listed.Data) != 1 ||
		listed.Data[0].ID != agent.ID {
		t.Errorf("listed by tag: %+v", listed.Data)
	}
	if got := s.do("DELETE", "/v1/agents/"+agent.ID.String(), ""); got.status != 204 || len(got.body) != 0 {
		t.Errorf("archive: status %d %s", got.status, got.body)
	}
	for query, listed := range map[string]int{"": 0, "&status=active": 0, "&status=archived": 1, "&status=any": 1} {
		if got := want[page[parley.Agent]](s, 200, "GET", "/v1/agents?tag=docs"+query, ""); len(got.Data) != listed {
			t.Errorf("%d archived agents are listed with %q, want %d", len(got.Data), query, listed)
		}
	}
	refused := s.do("POST", "/v1/agents/release-writer/sessions", `{}`)
	if refused.status != 409 || refused.problem(t).Code != parley.CodeArchived {
		t.Errorf("a session of an archived agent: status %d %s", refused.status, refused.body)
	}
}

func TestSessionsOfAnotherAgentAreNotFound(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"one"}`)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"two"}`)
	session := want[parley.Session](s, 201, "POST", "/v1/agents/one/sessions", `{}`).ID.String()
	list := routes()
	for i := range list {
		r := &list[i]
		for _, path := range r.paths {
			if !strings.HasPrefix(path, agentSession) {
				continue
			}
			target := strings.NewReplacer("{agent}", "two", "{session}", session).Replace(path)
			if got := s.do(r.method, target, r.validBody()); got.status != 404 {
				t.Errorf("%s %s: status %d, want 404", r.method, target, got.status)
			}
		}
	}
	if got := s.do("GET", "/v1/agents/one/sessions/"+session, ""); got.status != 200 {
		t.Errorf("status %d under its own agent", got.status)
	}
}

// TestSlugsOfAnyScript: a derived slug is in Latin letters and never conflicts; a given one may.
func TestSlugsOfAnyScript(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, test := range []struct{ name, slug string }{
		{"日本語エージェント", "ri-ben-yu-eziento"}, {"Übersetzer", "ubersetzer"}, {"Переводчик", "perevodchik"},
		{"🚀", "agent"}, {"✨", "agent-2"}, {"ubersetzer", "ubersetzer-2"}, {"Übersetzer", "ubersetzer-3"},
		{"Parley", "parley-2"},
	} {
		made := want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"`+test.name+`"}`)
		if made.Slug != test.slug {
			t.Errorf("%s has the slug %q, want %q", test.name, made.Slug, test.slug)
		}
	}
	long := strings.Repeat("a", 80)
	for _, slug := range []string{long[:64], long[:62] + "-2"} {
		if made := want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"`+long+`"}`); made.Slug != slug {
			t.Errorf("a long name has the slug %q, want %q", made.Slug, slug)
		}
	}
	const given = `{"name":"Any","slug":"ubersetzer"}`
	if got := s.do(
		"POST",
		"/v1/agents",
		given,
	); got.status != 409 ||
		!strings.Contains(string(got.body), "ubersetzer") {
		t.Errorf("a given slug that is taken: %d %s", got.status, got.body)
	}
	const many = 12
	slugs := make([]string, many)
	var all sync.WaitGroup
	for i := range slugs {
		all.Go(func() {
			slugs[i] = want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Twins"}`).Slug
		})
	}
	all.Wait()
	slices.Sort(slugs)
	if distinct := slices.Compact(slugs); len(distinct) != many || distinct[0] != "twins" {
		t.Errorf("twelve at once have the slugs %q", slugs)
	}
}

// TestTheBuiltinAgentStays: a session that names no agent always gets the built-in one.
func TestTheBuiltinAgentStays(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, change := range []struct{ method, body string }{
		{"DELETE", ""}, {"PATCH", `{"status":"archived"}`}, {"PATCH", `{"slug":"other"}`},
	} {
		got := s.do(change.method, "/v1/agents/parley", change.body)
		if got.status != 409 || !strings.Contains(got.problem(t).Detail, `"parley"`) {
			t.Errorf("%s %s: %d %s", change.method, change.body, got.status, got.body)
		}
	}
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/parley", `{"name":"House agent"}`)
	want[parley.Session](s, 201, "POST", "/v1/sessions", `{}`)
}

// TestAgentVersionsList: every change makes a version; a patch that changes nothing makes none.
func TestAgentVersionsList(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Liz","tools":["current_time"],"tags":["a"]}`)
	for _, same := range []string{`{}`, `{"name":"Liz"}`, `{"tags":["a"],"tools":["current_time"]}`, `{"model":null}`} {
		if got := want[parley.Agent](s, 200, "PATCH", "/v1/agents/liz", same); got.Version != 1 ||
			got.UpdatedAt != made.UpdatedAt {
			t.Errorf("%s makes version %d", same, got.Version)
		}
	}
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/liz", `{"name":"Lisa"}`)
	want[parley.Agent](s, 200, "PATCH", "/v1/agents/liz", `{"tools":[]}`)
	page := want[engine.Page[parley.Agent]](s, 200, "GET", "/v1/agents/liz/versions?limit=2", "")
	if len(page.Data) != 2 || page.Data[0].Version != 3 || page.Data[1].Name != "Lisa" || page.Next == nil {
		t.Fatalf("the first page: %+v", page)
	}
	page = want[engine.Page[parley.Agent]](s, 200, "GET", "/v1/agents/liz/versions?limit=2&cursor="+*page.Next, "")
	if len(page.Data) != 1 || page.Data[0].Name != "Liz" || page.Next != nil {
		t.Errorf("the second page: %+v", page)
	}
	if got := s.do("GET", "/v1/agents/nobody/versions", ""); got.status != 404 {
		t.Errorf("versions of no agent: %d", got.status)
	}
}

// TestKeysAndNamesAreApart: an opaque key never finds the session that type and feature name, whichever came first.
func TestKeysAndNamesAreApart(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const byKey, opaque, named = "/v1/sessions/by-key", `{"key":"[\"col\",\"x\"]"}`, `{"type":"col","feature":"x"}`
	one := want[parley.Session](s, 201, "PUT", byKey, named)
	two := want[parley.Session](s, 201, "PUT", byKey, opaque)
	if one.ID == two.ID || one.Key != "" || two.Key != `["col","x"]` {
		t.Errorf("named: %s with key %q; keyed: %s with key %q", one.ID, one.Key, two.ID, two.Key)
	}
	if got := want[parley.Session](s, 200, "PUT", byKey, named); got.ID != one.ID {
		t.Errorf("type and feature find %s", got.ID)
	}
	if got := want[parley.Session](s, 200, "PUT", byKey, opaque); got.ID != two.ID {
		t.Errorf("the key finds %s", got.ID)
	}
	if got := want[parley.Session](s, 200, "GET", byKey+"?type=col&feature=x", ""); got.ID != one.ID {
		t.Errorf("type and feature read %s", got.ID)
	}
	if got := want[parley.Session](s, 200, "GET", byKey+"?key="+url.QueryEscape(two.Key), ""); got.ID != two.ID {
		t.Errorf("the key reads %s", got.ID)
	}
	list := want[engine.Page[parley.Session]](s, 200, "GET", "/v1/sessions", "")
	for _, session := range list.Data {
		if shown := map[parley.ID]string{one.ID: "", two.ID: two.Key}[session.ID]; session.Key != shown {
			t.Errorf("the list shows the key %q, want %q", session.Key, shown)
		}
	}
}

func TestSessionsByKey(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	body := `{"type":"dev-task","feature":"login","task":"T-1","title":"Login"}`
	made := want[parley.Session](s, 201, "PUT", "/v1/sessions/by-key", body)
	if again := want[parley.Session](s, 200, "PUT", "/v1/sessions/by-key", body); again.ID != made.ID {
		t.Errorf("a second session %s for one key", again.ID)
	}
	if found := want[parley.Session](
		s,
		200,
		"GET",
		"/v1/sessions/by-key?type=dev-task&feature=login&task=T-1",
		"",
	); found.ID != made.ID {
		t.Errorf("found %s", found.ID)
	}
	if got := s.do(
		"PUT",
		"/v1/sessions/by-key",
		`{"type":"dev-task"}`,
	); got.status != 422 ||
		got.problem(t).Errors[0].Field != "key" {
		t.Errorf("without a name: status %d %s", got.status, got.body)
	}
	posted := s.do(
		"PUT",
		"/v1/sessions/by-key",
		`{"type":"dev-task","feature":"login","task":"T-1","message":{"content":{"text":"Hi"}}}`,
	)
	if posted.status != 200 || posted.header.Get(eventSequenceHeader) == "" {
		t.Errorf(
			"post to the key: status %d, %s %q",
			posted.status,
			eventSequenceHeader,
			posted.header.Get(eventSequenceHeader),
		)
	}
	s.finished(made.ID.String())
	archived := want[engine.FeatureArchived](s, 200, "POST", "/v1/sessions/archive", `{"feature":"login"}`)
	if len(archived.Archived) != 1 || archived.Archived[0] != made.ID || archived.Busy == nil {
		t.Errorf("archived %+v", archived)
	}
	if hidden := want[page[parley.Session]](s, 200, "GET", "/v1/sessions?feature=login", ""); len(hidden.Data) != 0 {
		t.Error("the list shows archived sessions unasked")
	}
	if shown := want[page[parley.Session]](
		s,
		200,
		"GET",
		"/v1/sessions?feature=login&archived=any",
		"",
	); len(shown.Data) != 1 ||
		shown.Data[0].ArchivedAt == 0 {
		t.Errorf("archived=any: %+v", shown.Data)
	}
	refused := s.do("POST", "/v1/sessions/"+made.ID.String()+"/messages", `{"content":{"text":"x"}}`)
	if refused.status != 409 || refused.problem(t).Code != parley.CodeArchived {
		t.Errorf("a post to it: status %d %s", refused.status, refused.body)
	}
	if reopened := want[parley.Session](
		s,
		200,
		"PATCH",
		"/v1/sessions/"+made.ID.String(),
		`{"archived":false,"tags":["x"],"title":null}`,
	); reopened.ArchivedAt != 0 ||
		len(reopened.Tags) != 1 {
		t.Errorf("reopened %+v", reopened)
	}
	if got := s.do("DELETE", "/v1/sessions/"+made.ID.String(), ""); got.status != 204 {
		t.Errorf("delete: status %d %s", got.status, got.body)
	}
	if got := s.do("GET", "/v1/sessions/"+made.ID.String(), ""); got.status != 404 {
		t.Errorf("after delete: status %d", got.status)
	}
}

// A message behind a running turn is queued, can be edited and removed; cancel
// answers what it settled, and the same again.
func TestQueueAndCancel(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/lorem-2000-20"}`).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	if got := s.do(
		"POST",
		"/v1/sessions/"+session+"/cancel",
		"",
	); got.status != 409 ||
		got.problem(t).Code != parley.CodeNothingToCancel {
		t.Errorf("nothing ran: status %d %s", got.status, got.body)
	}
	stream := s.stream("POST", messages+"?flush_ms=0", `{"content":{"text":"Go"}}`)
	stream.until("step.generating")
	queued := s.do("POST", messages, `{"content":{"text":"Later"}}`)
	var later parley.Message
	if err := json.Unmarshal(
		queued.body,
		&later,
	); err != nil || later.Status != parley.MessageQueued ||
		!strings.Contains(string(queued.body), `"sequence":null`) ||
		later.Position == nil {
		t.Fatalf("queued %s: %v", queued.body, err)
	}
	path := "/v1/messages/" + later.ID.String()
	edited := want[parley.Message](s, 200, "PATCH", path, `{"content":{"text":"Later still"}}`)
	if !strings.Contains(string(edited.Content), "Later still") {
		t.Errorf("edited %s", edited.Content)
	}
	if got := s.do(
		"POST",
		messages,
		`{"content":{"text":"x"},"during":"reject"}`,
	); got.status != 409 ||
		got.problem(t).Code != parley.CodeBusy {
		t.Errorf("during reject: status %d %s", got.status, got.body)
	}
	if got := s.do("DELETE", path, ""); got.status != 204 {
		t.Errorf("remove: status %d %s", got.status, got.body)
	}
	cancelled := want[engine.CancelResult](s, 200, "POST", "/v1/sessions/"+session+"/cancel", `{}`)
	if cancelled.Turn.Status != parley.TurnCancelled || len(cancelled.Settled) == 0 || cancelled.By == "" {
		t.Errorf("cancelled %+v", cancelled)
	}
	rest := stream.rest()
	if last := rest[len(rest)-1]; last.event != "session.cancelled" {
		t.Errorf("the stream ends with %s", last.event)
	}
	if again := want[engine.CancelResult](
		s,
		200,
		"POST",
		"/v1/sessions/"+session+"/cancel?queued=true",
		`{"turn_id":"`+cancelled.Turn.ID.String()+`"}`,
	); again.Turn.ID != cancelled.Turn.ID {
		t.Errorf("again %+v", again)
	}
	if marked := want[parley.Message](
		s,
		200,
		"PUT",
		"/v1/messages/"+cancelled.Settled[0].String()+"/marks",
		`{"pinned":true}`,
	); !marked.Marks.Pinned ||
		marked.Status != parley.MessageCancelled {
		t.Errorf("marked %+v", marked)
	}
	if got := s.do(
		"PATCH",
		"/v1/messages/"+cancelled.Settled[0].String(),
		`{"content":{"text":"x"}}`,
	); got.status != 409 {
		t.Errorf("editing the record: status %d", got.status)
	}
}

// The views of one record, its pages, and what stands behind its turn.
func TestViewsAndRecords(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"agent_id":"parley","model":"sim/tool","tools":["current_time"],"message":{"content":{"text":"What time is ` +
			`it?"}}}`,
	).ID.String()
	s.finished(session)
	messages := "/v1/sessions/" + session + "/messages"
	flat := want[page[parley.Message]](s, 200, "GET", messages, "")
	if len(flat.Data) < 4 {
		t.Fatalf("%d rows, want at least user, assistant, tool_call, tool_result", len(flat.Data))
	}
	var paged []parley.Message
	for cursor := ""; ; {
		one := want[page[parley.Message]](s, 200, "GET", messages+"?limit=2&order=desc"+cursor, "")
		paged = append(paged, one.Data...)
		if one.Next == nil {
			break
		}
		cursor = "&cursor=" + *one.Next
	}
	if len(paged) != len(flat.Data) || paged[0].ID != flat.Data[len(flat.Data)-1].ID {
		t.Errorf("%d rows by pages, %d at once", len(paged), len(flat.Data))
	}
	ids := want[page[engine.MessageID]](s, 200, "GET", messages+"?view=ids", "")
	if len(ids.Data) != len(flat.Data) || ids.Data[0].ID != flat.Data[0].ID {
		t.Errorf("ids %+v", ids.Data)
	}
	transcript := want[page[engine.Entry]](s, 200, "GET", messages+"?view=transcript", "")
	if len(transcript.Data) != 2 || transcript.Data[0].Message == nil || len(transcript.Data[1].Blocks) == 0 {
		t.Errorf("transcript %+v", transcript.Data)
	}
	if chat := want[page[engine.ChatMessage]](s, 200, "GET", messages+"?view=chat", ""); len(chat.Data) < 3 {
		t.Errorf("chat %+v", chat.Data)
	}
	if user := want[page[parley.Message]](s, 200, "GET", messages+"?view=user", ""); len(user.Data) == 0 {
		t.Error("the user's view is empty")
	}
	calls := want[page[parley.Message]](
		s,
		200,
		"GET",
		messages+"?role=tool_call&role=tool_result&tool=current_time",
		"",
	)
	if len(calls.Data) != 2 {
		t.Errorf("%d rows of the tool, want its call and its result", len(calls.Data))
	}
	turns := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns?status=completed", "")
	if len(turns.Data) != 1 {
		t.Fatalf("turns %+v", turns.Data)
	}
	if turn := want[parley.Turn](
		s,
		200,
		"GET",
		"/v1/turns/"+turns.Data[0].ID.String(),
		"",
	); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
	made := want[page[parley.Call]](
		s,
		200,
		"GET",
		fmt.Sprintf("/v1/sessions/%s/calls?turn=%s", session, turns.Data[0].ID),
		"",
	)
	if len(made.Data) != 2 {
		t.Fatalf("%d calls, want two", len(made.Data))
	}
	for _, call := range made.Data {
		if detail := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+call.ID.String(), ""); !detail.Exact {
			t.Errorf("call of step %d is not rebuilt exactly: %s", call.Step, detail.Reason)
		}
	}
	answer := flat.Data[len(flat.Data)-1]
	if versions := s.do(
		"GET",
		"/v1/messages/"+answer.ID.String()+"/versions",
		"",
	); versions.status != http.StatusOK ||
		!strings.HasPrefix(string(versions.body), `{"data":[`) {
		t.Errorf("versions: status %d %s", versions.status, versions.body)
	}
}

func TestProjectsModelsAndClients(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	body := fmt.Sprintf(`{"path":%q}`, s.subdirectory("site"))
	project := want[parley.Project](s, 201, "POST", "/v1/projects", body)
	if project.Name != "site" {
		t.Errorf("project %+v", project)
	}
	if again := want[parley.Project](s, 200, "POST", "/v1/projects", body); again.ID != project.ID {
		t.Error("a second project for one path")
	}
	if outside := s.do(
		"POST",
		"/v1/projects",
		`{"path":"/"}`,
	); outside.status != 422 ||
		outside.problem(t).Errors[0].Field != "path" {
		t.Errorf("outside the roots: status %d %s", outside.status, outside.body)
	}
	path := "/v1/projects/" + project.ID.String()
	for _, test := range []struct{ patch, name string }{
		{`{"name":" Shop ","icon":"cart"}`, "Shop"}, {`{"icon":"cart"}`, "Shop"}, {`{"name":null}`, "site"},
	} {
		renamed := want[parley.Project](s, 200, "PATCH", path, test.patch)
		read := want[parley.Project](s, 200, "GET", path, "")
		if renamed != read || read.Name != test.name || read.Icon != "cart" || read.Path != project.Path {
			t.Errorf("%s answers %+v; the project is %+v", test.patch, renamed, read)
		}
	}
	if got := s.do("PATCH", path, `{"path":"/"}`); got.status != 422 || got.problem(t).Errors[0].Field != "path" {
		t.Errorf("another path: status %d %s", got.status, got.body)
	}
	if recent := want[page[parley.Project]](
		s,
		200,
		"GET",
		"/v1/projects?recent=1",
		"",
	); len(recent.Data) != 1 ||
		recent.Next != nil {
		t.Errorf("recent %+v", recent)
	}
	session := s.session(fmt.Sprintf(`{"project_id":%q,"client_id":"tab"}`, project.ID))
	if open := want[parley.Session](s, 200, "GET", "/v1/clients/tab/session", ""); open.ID != session.ID {
		t.Errorf("the client has %s open", open.ID)
	}
	if got := s.do("DELETE", "/v1/clients/tab/session", ""); got.status != 204 {
		t.Errorf("status %d", got.status)
	}
	if got := s.do("GET", "/v1/clients/tab/session", ""); got.status != 404 {
		t.Errorf("after clearing: status %d", got.status)
	}
	if got := s.do("DELETE", "/v1/projects/"+project.ID.String(), ""); got.status != 204 {
		t.Errorf("status %d %s", got.status, got.body)
	}
	tools := want[page[engine.ToolInfo]](s, 200, "GET", "/v1/tools", "")
	if i := slices.IndexFunc(
		tools.Data,
		func(info engine.ToolInfo) bool { return info.Name == "current_time" },
	); i < 0 ||
		tools.Data[i].Source != "builtin" || !tools.Data[i].Annotations.ReadOnly ||
		len(tools.Data[i].Parameters) == 0 {
		t.Errorf("tools %+v", tools.Data)
	}
	models := want[modelPage](s, 200, "GET", "/v1/models", "")
	if models.Default != "sim/echo" || len(models.Data) == 0 || !models.Data[0].Simulator {
		t.Errorf("models %+v", models)
	}
}
