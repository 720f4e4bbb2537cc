package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
)

// script is the text of a message that has the simulator call a tool, then say
// something.
func script(t *testing.T, tool, arguments, text string) string {
	t.Helper()
	quoted, err := json.Marshal(
		`[[{"tool_call":{"name":"` + tool + `","arguments":` + arguments + `}}],[{"text":"` + text + `"}]]`,
	)
	if err != nil {
		t.Fatal(err)
	}
	return string(quoted)
}

func TestTree(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.Agent](s, 201, "POST", "/v1/agents", `{"name":"Scout","model":"sim/echo"}`)
	captain := want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"Captain","model":"sim/script","tools":[{"name":"ask_scout","description":"Sends the scout.",`+
			`"agent":"scout","instructions":"Be brief."}]}`,
	)
	if len(*captain.Tools) != 1 || (*captain.Tools)[0].Agent == nil || (*captain.Tools)[0].Agent.Agent != "scout" ||
		(*captain.Tools)[0].Agent.Instructions != "Be brief." {
		t.Errorf("the captain's tools are %+v", captain.Tools)
	}
	if got := s.do(
		"GET",
		"/v1/agents/captain",
		"",
	); !strings.Contains(
		string(got.body),
		`{"name":"ask_scout","description":"Sends the scout.","agent":"scout","instructions":"Be brief.",`+
			`"parameters":null}`,
	) {
		t.Errorf("the captain is shown as %s", got.body)
	}
	root := want[parley.Session](s, 201, "POST", "/v1/sessions", `{"agent_id":"captain"}`)
	at := "/v1/sessions/" + root.ID.String()
	s.told(root.ID.String(), `{"content":{"text":`+script(t, "ask_scout", `{"task":"Look around."}`, "Thanks.")+`}}`)
	tree := want[parley.Tree](s, 200, "GET", at+"/tree", "")
	if len(tree.Data) != 2 || tree.Data[0].ID != root.ID || tree.Data[1].Depth != 1 ||
		tree.Data[1].AgentSlug != "scout" ||
		tree.Data[1].Status != parley.SessionCompleted ||
		tree.Total.Sessions != 2 ||
		tree.Total.InputTokens != tree.Data[0].Statistics.InputTokens+tree.Data[1].Statistics.InputTokens ||
		tree.Data[1].Statistics.InputTokens == 0 {
		t.Errorf("tree %+v", tree)
	}
	if nested := want[parley.Tree](
		s,
		200,
		"GET",
		"/v1/agents/captain/sessions/"+root.ID.String()+"/tree",
		"",
	); len(
		nested.Data,
	) != 2 {
		t.Errorf("under the agent the tree is %+v", nested)
	}
	child := want[parley.Session](s, 200, "GET", "/v1/sessions/"+tree.Data[1].ID.String(), "")
	if child.RootID != root.ID || child.Depth != 1 || child.Kind != parley.KindTool ||
		child.Instructions != "Be brief." {
		t.Errorf("the child is %+v", child)
	}
	if listed := want[page[parley.Session]](
		s,
		200,
		"GET",
		"/v1/sessions?parent="+root.ID.String(),
		"",
	); len(listed.Data) != 1 ||
		listed.Data[0].ID != child.ID {
		t.Errorf("listed by parent: %+v", listed.Data)
	}
	messages := want[page[parley.Message]](s, 200, "GET", at+"/messages?role=tool_result", "")
	if len(messages.Data) != 1 ||
		!strings.Contains(string(messages.Data[0].Content), `"result":{"text":"Look around."}`) ||
		string(messages.Data[0].Metadata) != `{"session_id":"`+child.ID.String()+`"}` {
		t.Errorf("the result is %+v", messages.Data)
	}
}

// What is denied in a session is denied in the tool sessions below it; what is
// allowed there is not allowed below, and a question from below shows at the root.
func TestPermissionsBelowASession(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	look := `[[{"tool_call":{"name":"current_time","arguments":{}}}],[{"text":"Back."}]]`
	task := map[string]string{"task": look}
	arguments, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"Scout","model":"sim/script","tools":["current_time"],"grants":[{"tool":"current_time",`+
			`"effect":"ask"}]}`,
	)
	want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"Captain","model":"sim/script","tools":[{"name":"ask_scout","agent":"scout"}]}`,
	)
	send := func(effect string) (root string, child parley.Session) {
		t.Helper()
		root = s.session(
			`{"agent_id":"captain","grants":[{"tool":"current_time","effect":"` + effect + `"}]}`,
		).ID.String()
		want[parley.Message](
			s,
			201,
			"POST",
			"/v1/sessions/"+root+"/messages",
			`{"content":{"text":`+script(t, "ask_scout", string(arguments), "Thanks.")+`}}`,
		)
		s.stream("GET", "/v1/sessions/"+root+"/events", "").
			until("session.waiting")
			// for the child, which is there then
		return root, want[page[parley.Session]](s, 200, "GET", "/v1/sessions?parent="+root, "").Data[0]
	}
	_, child := send("deny")
	s.awaitEnd(child.ID.String())
	results := want[page[parley.Message]](
		s,
		200,
		"GET",
		"/v1/sessions/"+child.ID.String()+"/messages?role=tool_result",
		"",
	).Data
	if len(results) != 1 || !strings.Contains(string(results[0].Content), `"success":false`) {
		t.Errorf("what is denied above gave %+v", results)
	}
	root, child := send("allow")
	s.stream("GET", "/v1/sessions/"+root+"/events", "").until("approval.created")
	asked := want[page[parley.Approval]](s, 200, "GET", "/v1/approvals?status=pending", "").Data
	if len(asked) != 1 || asked[0].SessionID != child.ID || asked[0].RootID.String() != root {
		t.Fatalf("asked are %+v", asked)
	}
	want[parley.Approval](s, 200, "POST", "/v1/approvals/"+asked[0].ID.String(), `{"decision":"approve"}`)
	if end := s.awaitEnd(root); end.Status != parley.SessionCompleted {
		t.Errorf("the session is %s", end.Status)
	}
}

func TestAgentToolsAreChecked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for body, says := range map[string]string{
		`{"name":"a","tools":[{"name":"ask",` +
			`"agent":"nobody"}]}`: "no agent \\\"nobody\\\"",
		`{"name":"a","tools":[{"name":"ask",` +
			`"agent":""}]}`: "name an agent",
		`{"name":"a","tools":[{"name":"no good",` +
			`"agent":"parley"}]}`: "not a valid tool name",
		`{"name":"a","tools":[{"name":"ask","instructions":"x",` +
			`"parameters":{"type":"object"}}]}`: "a tool is a name",
		`{"name":"a","tools":[{"name":"ask","agent":"parley",` +
			`"parameters":{"type":"string"}}]}`: "must be object",
		`{"name":"a","tools":[{"name":"ask","agent":"parley",` +
			`"model":"sim/echo"}]}`: "a tool is a name",
		`{"name":"a","tools":[{"name":"ask","agent":"parley"},{"name":"ask","agent":"parley"}]}`:    "twice",
		`{"name":"a","tools":[{"name":"ask","agent":"parley","instructions":"` + "\\u0000" + `"}]}`: "NUL",
		`{"name":"a","tools":[{"name":"ask","agent":"01976c1e-7a4b-7def-8123-456789abcdef"}]}`:      "no agent",
		`{"name":"a","tools":[{"name":"ask","agent":"parley","parameters":{"type":"object"},` +
			`"oops":1}]}`: "a tool is a name",
	} {
		if got := s.do("POST", "/v1/agents", body); got.status != 422 || !strings.Contains(string(got.body), says) {
			t.Errorf("%s: status %d %s", body, got.status, got.body)
		}
	}
	itself := want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"Circle","tools":[{"name":"again","agent":"circle"}]}`,
	)
	if (*itself.Tools)[0].Agent.Agent != "circle" {
		t.Errorf("an agent that names itself: %+v", itself.Tools)
	}
	session := want[parley.Session](s, 201, "POST", "/v1/sessions", `{"tools":[{"name":"ask","agent":"circle"}]}`)
	for _, request := range [][2]string{
		{"POST /v1/sessions", `{"tools":[{"name":"ask","agent":"nobody"}]}`},
		{"PATCH /v1/sessions/" + session.ID.String(), `{"tools":[{"name":"ask","agent":"nobody"}]}`},
		{"POST /v1/sessions/" + session.ID.String() + "/messages",
			`{"content":{"text":"x"},"tools":[{"name":"ask","agent":"nobody"}]}`},
		{"POST /v1/sessions", `{"message":{"content":{"text":"x"},"tools":[{"name":"ask","agent":"nobody"}]}}`},
	} {
		method, path, _ := strings.Cut(request[0], " ")
		if got := s.do(method, path, request[1]); got.status != 422 || !strings.Contains(string(got.body), "nobody") {
			t.Errorf("%s: status %d %s", request[0], got.status, got.body)
		}
	}
}
