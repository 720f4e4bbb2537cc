package httpapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/tool"
	"example.org/parley/tool/document"
)

// documentTools is the entry of the tools in a session.
const documentTools = `"tools":["list_artifacts","read_artifact","write_artifact","edit_artifact"]`

// called runs calls of tools one after the other in a session, and returns their results in order.
func (s *testServer) called(session parley.ID, calls ...string) (results []parley.ToolResultContent) {
	s.Helper()
	at := "/v1/sessions/" + session.String()
	record := func() []parley.Message {
		return want[page[parley.Message]](s, 200, "GET", at+"/messages?limit=1000", "").Data
	}
	before := len(record())
	steps := make([]string, 0, len(calls)+1)
	for _, call := range calls {
		name, arguments, _ := strings.Cut(call, " ")
		steps = append(steps, `[{"tool_call":{"name":"`+name+`","arguments":`+arguments+`}}]`)
	}
	script, _ := json.Marshal("[" + strings.Join(append(steps, `[{"text":"done"}]`), ",") + "]")
	s.told(session.String(), `{"model":"sim/script","content":{"text":`+string(script)+`}}`)
	for _, m := range record()[before:] {
		if m.Role != parley.RoleToolResult {
			continue
		}
		var content parley.ToolResultContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			s.Fatal(err)
		}
		results = append(results, content)
	}
	if len(results) != len(calls) {
		s.Fatalf("%d calls gave %d results", len(calls), len(results))
	}
	return results
}

// one runs one call and returns its result or its error.
func (s *testServer) one(session parley.ID, call string) string {
	s.Helper()
	result := s.called(session, call)[0]
	if result.Error != nil {
		return "error: " + *result.Error
	}
	return string(result.Result)
}

// The simulator writes a document with the tools and edits it; asked again, it finds and extends it. Each version names
// the call that wrote it.
func TestAnAgentWritesADocument(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/document",` + documentTools + `}`)
	s.told(session.ID.String(), `{"content":{"text":"Plan the move"}}`)
	all := want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts?session="+session.ID.String(), "").Data
	if len(all) != 1 || all[0].Name != "Plan the move" || all[0].Version != 2 || all[0].OwnerID != session.OwnerID {
		t.Fatalf("%+v", all)
	}
	at := "/v1/artifacts/" + all[0].ID.String()
	content := func() string { return string(s.do("GET", at+"/content", "").body) }
	if got := content(); got != "# Plan the move\n\nSimulated text.\n\nStatus: ready\n" {
		t.Errorf("the document is %q", got)
	}
	s.told(session.ID.String(), `{"content":{"text":"Add the van"}}`)
	if got := content(); !strings.Contains(got, "## Add the van") {
		t.Errorf("the document is %q", got)
	}
	calls := map[parley.ID]string{}
	for _, m := range s.recordOf("/v1/sessions/" + session.ID.String()) {
		var content parley.ToolCallContent
		if m.Role != parley.RoleToolCall || json.Unmarshal(m.Content, &content) != nil {
			continue
		}
		calls[m.ID] = content.Name
		// As after a crash between the tool's work and its result: the repeated call finds what it wrote.
		if source, _ := document.Tools(s.store, document.Options{}).Tool(content.Name); !source.Annotations().ReadOnly {
			if _, err := source.Call(t.Context(), tool.Call{
				WorkspaceID: m.WorkspaceID, SessionID: m.SessionID, MessageID: m.ID, Arguments: content.Arguments,
			}); err != nil {
				t.Errorf("%s again: %v", content.Name, err)
			}
		}
	}
	versions := want[page[parley.ArtifactVersion]](s, 200, "GET", at+"/versions?order=asc", "").Data
	var by []string
	for i := range versions {
		by = append(by, string(versions[i].Author.Kind)+" "+calls[versions[i].MessageID])
	}
	if want := []string{"agent write_artifact", "agent edit_artifact", "agent edit_artifact"}; !slices.Equal(by, want) {
		t.Errorf("the versions were written by %q", by)
	}
	causes := want[engine.Lineage](s, 200, "GET", at+"/lineage?version=1", "")
	if len(causes.Nodes) != 3 || causes.Nodes[1].MessageID != versions[0].MessageID ||
		causes.Nodes[1].SessionID != session.ID || causes.Nodes[2].CallID.IsZero() {
		t.Fatalf("the causes of version 1: %+v", causes.Nodes)
	}
	call := want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+causes.Nodes[2].CallID.String(), "")
	message := want[parley.Message](s, 200, "GET", "/v1/messages/"+versions[0].MessageID.String(), "")
	if call.SessionID != session.ID || call.TurnID != message.TurnID || call.Step != message.Step {
		t.Errorf("the call %+v did not write the message %+v", call.Call, message)
	}
}

// Calls of one answer take effect in the order in which the model made them: each edit needs what the one before wrote.
func TestDocumentToolsKeepTheOrderOfTheirCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{` + documentTools + `}`)
	var made struct{ ID parley.ID }
	text := s.one(session.ID, `write_artifact {"name":"Steps","content":"step 0"}`)
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	const edits = 6
	calls := make([]string, edits)
	for n := range calls {
		calls[n] = fmt.Sprintf(`{"tool_call":{"name":"edit_artifact","arguments":{"id":%q,"edits":`+
			`[{"old":"step %d","new":"step %d"}]}}}`, made.ID, n, n+1)
	}
	script, _ := json.Marshal("[[" + strings.Join(calls, ",") + `],[{"text":"done"}]]`)
	s.told(session.ID.String(), `{"model":"sim/script","content":{"text":`+string(script)+`}}`)
	at := "/v1/artifacts/" + made.ID.String()
	if got, want := string(s.do("GET", at+"/content", "").body), fmt.Sprintf("step %d", edits); got != want {
		t.Errorf("the document is %q; want %q", got, want)
	}
}

// What the tools say and refuse.
func TestDocumentTools(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{` + documentTools + `}`)
	var made struct{ ID parley.ID }
	text := s.one(session.ID, `write_artifact {"name":"Notes","kind":"text","content":"a\nb\na\n"}`)
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	id := made.ID.String()
	plan := s.one(session.ID, `write_artifact {"name":"Plan","kind":"json","content":{"steps":["one",{"n":1.50}]}}`)
	if err := json.Unmarshal([]byte(plan), &made); err != nil {
		t.Fatalf("%s: %v", plan, err)
	}
	planID := made.ID.String()
	edit := func(arguments string) string { return `edit_artifact {"id":"` + id + `",` + arguments + `}` }
	read := func(id, arguments string) string { return `read_artifact {"id":"` + id + `"` + arguments + `}` }
	for _, c := range []struct{ call, want string }{
		{edit(`"edits":[{"old":"a","new":"x"}]`), "error: edits.0.old: occurs 2 times (lines 1, 3)"},
		{edit(`"edits":[{"old":"c","new":"x"}]`), "error: edits.0.old: does not occur in the document"},
		{edit(`"edits":[{"old":"b\na","new":"b\nc"}]`), `"version":2`},
		{edit(`"base_version":1,"edits":[{"old":"a\nb","new":"A\nb"}]`),
			`"merged":true,"name":"Notes","size":6,"version":3`},
		{edit(`"base_version":1,"edits":[{"old":"b\na","new":"b\nd"}]`), "touch the same places"},
		{edit(`"patch":[{"op":"remove","path":"/a"}]`), "error: patch: only a json artifact takes one"},
		{edit(`"edits":[]`), "error: edits: give edits for a text or a patch"},
		{edit(`"Edits":[{"old":"A","new":"x"}]`), `unknown field "Edits"`},
		{read(id, `,"from_line":2,"lines":1`),
			`"kind":"text","lines":3,"name":"Notes","newest_version":3,"next_line":3,`},
		{read(id, `,"version":1`), `{"content":"a\nb\na\n","from_line":1,`},
		{read(id, `,"version":4`), "error: version: the newest version is 3"},
		{read(id, `,"from_line":9`), "error: from_line: must be a line from 1 to 3"},
		{read(planID, `,"pointer":"/steps/1/n"`), `"content":1.5,`},
		{read(planID, `,"pointer":"/steps/2"`), "error: pointer: there is nothing at /steps/2"},
		{
			`edit_artifact {"id":"` + planID + `","patch":[{"op":"add","path":"/steps/-","value":"two"}]}`,
			`"version":2`,
		},
		{
			`write_artifact {"id":"` + planID + `","base_version":1,"content":{}}`,
			"error: Your change began with version 1, and the newest is 2",
		},
		{`write_artifact {"id":"` + planID + `","base_version":2,"content":"{\"steps\":[]}"}`, `"version":3`},
		{read(planID, ""), `"content":{"steps":[]}`},
		{`write_artifact {"id":"` + planID + `","content":{}}`, "error: base_version: is missing"},
		{`write_artifact {"name":"X","kind":"text","content":{}}`, "error: content: must be a string"},
		{`write_artifact {"kind":"text","content":""}`, "error: name: is missing or empty"},
		{`list_artifacts {"kind":"json"}`, `"name":"Plan","size":12,`},
		{`list_artifacts {"name":"note"}`, `"name":"Notes","size":6,`},
		{`read_artifact {"id":"nonsense"}`, "error: id: is not the id of an artifact"},
		{read(session.ID.String(), ""), "error: "},
	} {
		if got := s.one(session.ID, c.call); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.call, got)
		}
	}
}

// An agent reaches the documents of its session and of its project, and no others of the same person.
func TestDocumentToolsStayInTheirProject(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	project := func(name string) parley.Project {
		return want[parley.Project](s, 201, "POST", "/v1/projects",
			fmt.Sprintf(`{"name":%q,"path":%q}`, name, s.subdirectory(name)))
	}
	ours, other := project("ours"), project("other")
	artifact := func(place string) string {
		body := `{` + place + `"kind":"text","name":"n","content":"c"}`
		return want[parley.Artifact](s, 201, "POST", "/v1/artifacts", body).ID.String()
	}
	session := s.session(`{"project_id":"` + ours.ID.String() + `",` + documentTools + `}`)
	elsewhere := s.session(`{}`)
	for place, reached := range map[string]bool{
		`"project_id":"` + ours.ID.String() + `",`:      true,
		`"session_id":"` + session.ID.String() + `",`:   true,
		`"project_id":"` + other.ID.String() + `",`:     false,
		`"session_id":"` + elsewhere.ID.String() + `",`: false,
		"": false,
	} {
		id := artifact(place)
		read := s.one(session.ID, `read_artifact {"id":"`+id+`"}`)
		edited := s.one(session.ID, `edit_artifact {"id":"`+id+`","edits":[{"old":"c","new":"d"}]}`)
		listed := s.one(session.ID, `list_artifacts {}`)
		if strings.Contains(read, `"content":"c"`) != reached || strings.Contains(edited, `"version":2`) != reached ||
			strings.Contains(listed, id) != reached {
			t.Errorf("of {%s}: %s, %s, %s", place, read, edited, listed)
		}
	}
}

// An approval by exact arguments holds for the tools: the same call runs again, another one asks.
func TestDocumentToolsAsk(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/script",` + documentTools + `,"grants":[{"tool":"*_artifact","effect":"ask"}]}`)
	at := "/v1/sessions/" + session.ID.String()
	call := func(content string) string {
		return `[{"tool_call":{"name":"write_artifact","arguments":{"name":"N","kind":"text","content":"` + content +
			`"}}}]`
	}
	script, _ := json.Marshal("[" + call("c") + "," + call("c") + "," + call("d") + `,[{"text":"done"}]]`)
	turn := s.stream("POST", at+"/messages", `{"content":{"text":`+string(script)+`}}`)
	artifacts := func() int {
		return len(want[page[parley.Artifact]](s, 200, "GET", "/v1/artifacts?session="+session.ID.String(), "").Data)
	}
	for i, c := range []struct {
		content string
		written int // until then
	}{{"c", 0}, {"d", 2}} {
		turn.until("session.waiting")
		asked := want[page[parley.Approval]](s, 200, "GET", at+"/approvals?status=pending", "").Data
		if len(asked) != 1 || !strings.Contains(string(asked[0].Arguments), `"content":"`+c.content+`"`) {
			t.Fatalf("question %d is %+v", i, asked)
		}
		if got := artifacts(); got != c.written {
			t.Errorf("%d documents were written before answer %d", got, i)
		}
		s.do("POST", "/v1/approvals/"+asked[0].ID.String(), `{"decision":"approve","scope":"session","covers":"call"}`)
	}
	turn.until("session.completed")
	if got := artifacts(); got != 3 {
		t.Errorf("%d documents were written", got)
	}
}

// What an agent reaches in a session that others see is what they see too: they may ask it for anything, and read what
// it answers.
func TestDocumentToolsShowOthersNothingPrivate(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	owner, other := s.key("one", "ada", parley.RoleMember), s.key("one", "bob", parley.RoleMember)
	project := want[parley.Project](s, 201, "POST", "/v1/projects", fmt.Sprintf(`{"name":"ours","path":%q}`,
		s.subdirectory("ours")), "Authorization", s.key("one", "boss", parley.RoleAdmin)).ID.String()
	session := func(visibility string) string {
		return want[parley.Session](s, 201, "POST", "/v1/sessions", `{"project_id":"`+project+`","visibility":"`+
			visibility+`","model":"sim/script",`+documentTools+`}`, "Authorization", owner).ID.String()
	}
	shared, private := session("workspace"), session("private")
	artifact := func(place string) string {
		return want[parley.Artifact](s, 201, "POST", "/v1/artifacts", `{`+place+`,"kind":"text","name":"n",`+
			`"content":"what it says"}`, "Authorization", owner).ID.String()
	}
	hidden := []string{
		artifact(`"project_id":"` + project + `","visibility":"private"`), artifact(`"session_id":"` + private + `"`),
	}
	seen := []string{artifact(`"project_id":"` + project + `"`), artifact(`"session_id":"` + shared + `"`)}
	answers := func(session, id, key string) string {
		at := "/v1/sessions/" + session
		script, _ := json.Marshal(`[[{"tool_call":{"name":"list_artifacts","arguments":{}}}],` +
			`[{"tool_call":{"name":"read_artifact","arguments":{"id":"` + id + `"}}}],[{"text":"done"}]]`)
		before := len(want[page[parley.Message]](
			s, 200, "GET", at+"/messages?limit=1000", "", "Authorization", key).Data)
		s.stream("POST", at+"/messages", `{"content":{"text":`+string(script)+`}}`, "Authorization", key).
			until("session.completed")
		var said strings.Builder
		for _, m := range want[page[parley.Message]](
			s, 200, "GET", at+"/messages?limit=1000", "", "Authorization", key).Data[before:] {
			if m.Role == parley.RoleToolResult {
				said.Write(m.Content)
			}
		}
		return said.String()
	}
	for _, c := range []struct {
		ids          []string
		session, key string
		shown        bool
	}{{hidden, shared, other, false}, {seen, shared, other, true}, {hidden, private, owner, true}} {
		for _, id := range c.ids {
			said := answers(c.session, id, c.key)
			if strings.Contains(said, "what it says") != c.shown || strings.Contains(said, `"id":"`+id) != c.shown {
				t.Errorf("of artifact %s the session %s shows: %s", id, c.session, said)
			}
		}
	}
}
