package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// ran is what run_transform answers.
type ran struct {
	TransformID parley.ID              `json:"transform_id"`
	SessionID   parley.ID              `json:"session_id"`
	Status      parley.TransformStatus `json:"status"`
	Outputs     []struct {
		Name       string    `json:"name"`
		ArtifactID parley.ID `json:"artifact_id"`
		Title      string    `json:"title"`
		Version    int       `json:"version"`
		Conflict   bool      `json:"conflict"`
	} `json:"outputs"`
}

func (s *testServer) ran(result parley.ToolResultContent) (told ran) {
	s.Helper()
	if err := json.Unmarshal(result.Result, &told); err != nil || !result.Success {
		s.Fatalf("the result is %s, %v", result.Result, parley.ValueOf(result.Error))
	}
	return told
}

// digest defines a transform that repeats what it is shown.
func (s *testServer) digest() parley.TransformDefinition {
	s.Helper()
	return want[parley.TransformDefinition](s, 201, "POST", "/v1/transforms/definitions",
		`{"name":"Digest","instructions":"Sum up.","model":"sim/echo","outputs":[{"kind":"markdown"}]}`)
}

const transformTools = `"tools":["read_artifact","write_artifact","edit_artifact","run_transform"]`

// TestAnAgentRunsATransform: the call waits for the transform, which reads what the same answer has written and names
// the call; its document belongs to the conversation, and the agent works with it.
func TestAnAgentRunsATransform(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	definition := s.digest()
	session := s.session(`{` + transformTools + `}`)
	var notes struct{ ID parley.ID }
	text := s.one(session.ID, `write_artifact {"name":"Notes","kind":"text","content":"old"}`)
	if err := json.Unmarshal([]byte(text), &notes); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	script, _ := json.Marshal(fmt.Sprintf(`[[{"tool_call":{"name":"run_transform","arguments":{"definition":"digest",`+
		`"instructions":"In one word.","inputs":[{"artifact_id":%[1]q,"name":"them"}],`+
		`"outputs":[{"title":"Brief"}]}}},`+
		`{"tool_call":{"name":"edit_artifact","arguments":{"id":%[1]q,"edits":[{"old":"old","new":"new"}]}}}],`+
		`[{"text":"done"}]]`, notes.ID))
	s.told(session.ID.String(), `{"model":"sim/script","content":{"text":`+string(script)+`}}`)
	var call parley.Message
	var told ran
	for _, m := range s.recordOf("/v1/sessions/" + session.ID.String()) {
		switch {
		case m.ToolName != parley.RunTransformTool:
		case m.Role == parley.RoleToolCall:
			call = m
		default:
			var content parley.ToolResultContent
			if err := json.Unmarshal(m.Content, &content); err != nil {
				t.Fatal(err)
			}
			told = s.ran(content)
		}
	}
	if told.Status != parley.TransformCompleted || len(told.Outputs) != 1 || told.Outputs[0].Title != "Brief" ||
		told.Outputs[0].Version != 1 || told.SessionID != parley.ChildID(call.ID) {
		t.Fatalf("the result is %+v", told)
	}
	transform := want[parley.Transform](s, 200, "GET", "/v1/transforms/"+told.TransformID.String(), "")
	if transform.DefinitionID != definition.ID || transform.DefinitionVersion != 1 ||
		transform.TriggerSessionID != session.ID || transform.TriggerMessageID != call.ID ||
		transform.OwnerID != session.OwnerID || transform.Inputs[0].Version != 2 {
		t.Errorf("the transform is %+v", transform)
	}
	brief := told.Outputs[0].ArtifactID
	if a := want[parley.Artifact](s, 200, "GET", "/v1/artifacts/"+brief.String(), ""); a.SessionID != session.ID {
		t.Errorf("the document is %+v", a)
	}
	read := s.one(session.ID, `read_artifact {"id":"`+brief.String()+`"}`)
	for _, part := range []string{"Sum up.", "In one word.", `Input 1: \"them\" (text)`, "new"} {
		if !strings.Contains(read, part) {
			t.Errorf("the document does not say %q: %s", part, read)
		}
	}
	again := s.ran(s.called(session.ID, `run_transform {"definition":"`+definition.ID.String()+
		`","outputs":[{"name":"content","artifact_id":"`+brief.String()+`","base_version":1}]}`)[0])
	if again.TransformID == told.TransformID || again.Outputs[0].ArtifactID != brief || again.Outputs[0].Version != 2 {
		t.Errorf("the second transform says %+v", again)
	}
	stale := s.ran(s.called(session.ID, `run_transform {"definition":"digest","outputs":[{"artifact_id":"`+
		brief.String()+`","base_version":1}]}`)[0])
	if !stale.Outputs[0].Conflict || stale.Outputs[0].Version != 3 {
		t.Errorf("on an old version: %+v", stale)
	}
}

// What the tool refuses opens nothing: documents out of the agent's reach, definitions that are not there, and
// arguments that do not fit.
func TestRunTransformRefuses(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{` + transformTools + `}`)
	run := func(arguments string) string { return s.one(session.ID, "run_transform "+arguments) }
	const none = `no definition has the id or slug "digest"; known: none`
	if got := run(`{"definition":"digest"}`); !strings.Contains(got, none) {
		t.Errorf("without definitions: %s", got)
	}
	s.digest()
	old := want[parley.TransformDefinition](s, 201, "POST", "/v1/transforms/definitions",
		`{"name":"Old","instructions":"x","outputs":[{"kind":"text"}]}`)
	want[parley.TransformDefinition](s, 200, "PATCH", "/v1/transforms/definitions/old", `{"status":"archived"}`)
	elsewhere := s.made(`{"kind":"text","name":"Mine alone","content":"c"}`).ID.String()
	for _, c := range []struct{ arguments, want string }{
		{`{"definition":"digets"}`, `no definition has the id or slug "digets"; known: digest`},
		{`{"definition":"` + old.ID.String() + `"}`, `the definition "old" is archived`},
		{`{"definition":"digest","inputs":[{"artifact_id":"` + elsewhere + `"}]}`, "there is no artifact " + elsewhere},
		{
			`{"definition":"digest","outputs":[{"artifact_id":"` + elsewhere + `"}]}`,
			"there is no artifact " + elsewhere,
		},
		{`{"definition":"digest","outputs":[{"name":"other"}]}`, `the definition has no output "other"`},
		{`{"definition":"digest","inputs":[{"artifact_id":"notes"}]}`, "the arguments do not fit the tool"},
		{`{"definition":"digest","model":"sim/echo"}`, "the arguments do not fit the tool's schema"},
		{`{"definition":"digest","instructions":"` + strings.Repeat("x", parley.MaxTransformInstructions) + `"}`,
			"error: Not run: instructions: "},
	} {
		if got := run(c.arguments); !strings.HasPrefix(got, "error: Not run: ") || !strings.Contains(got, c.want) {
			t.Errorf("%.100s: %s", c.arguments, got)
		}
	}
	if got := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?kind=generation", "").Data; len(got) != 0 {
		t.Errorf("%d transforms ran", len(got))
	}
}

// TestRunTransformAsks: an approval of exact arguments holds for the tool, and a failed transform is its call's error.
func TestRunTransformAsks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.digest()
	want[parley.TransformDefinition](s, 201, "POST", "/v1/transforms/definitions",
		`{"name":"Breaks","instructions":"x","model":"sim/fail-auth-1","outputs":[{"kind":"text"}]}`)
	session := s.session(`{"model":"sim/script",` + transformTools +
		`,"grants":[{"tool":"run_transform","effect":"ask"}]}`)
	at := "/v1/sessions/" + session.ID.String()
	call := func(definition string) string {
		return `[{"tool_call":{"name":"run_transform","arguments":{"definition":"` + definition + `"}}}]`
	}
	script, _ := json.Marshal("[" + call("digest") + "," + call("digest") + "," + call("breaks") +
		`,[{"text":"done"}]]`)
	turn := s.stream("POST", at+"/messages", `{"content":{"text":`+string(script)+`}}`)
	for i, c := range []struct {
		definition string
		ran        int // until then
	}{{"digest", 0}, {"breaks", 2}} {
		var asked []parley.Approval
		for len(asked) == 0 { // it waits for transforms, too
			turn.until("session.waiting")
			asked = want[page[parley.Approval]](s, 200, "GET", at+"/approvals?status=pending", "").Data
		}
		if len(asked) != 1 || string(asked[0].Arguments) != `{"definition":"`+c.definition+`"}` {
			t.Fatalf("question %d is %+v", i, asked)
		}
		if got := len(want[page[parley.Transform]](s, 200, "GET", "/v1/transforms", "").Data); got != c.ran {
			t.Errorf("%d transforms ran before answer %d", got, i)
		}
		s.do("POST", "/v1/approvals/"+asked[0].ID.String(), `{"decision":"approve","scope":"session","covers":"call"}`)
	}
	turn.until("session.completed")
	record := s.recordOf(at)
	last := string(record[len(record)-2].Content)
	if !strings.Contains(last, `"success":false`) || len(want[page[parley.Transform]](s, 200, "GET",
		"/v1/transforms?status=failed&session="+session.ID.String(), "").Data) != 1 {
		t.Errorf("the transform that failed answers %s", last)
	}
}

// TestACancelReachesATransform: who stops the conversation stops the transform that it waits for.
func TestACancelReachesATransform(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	want[parley.TransformDefinition](s, 201, "POST", "/v1/transforms/definitions",
		`{"name":"Slow","instructions":"x","model":"sim/lorem-1000-100","outputs":[{"kind":"text"}]}`)
	session := s.session(`{"model":"sim/script",` + transformTools + `}`)
	at := "/v1/sessions/" + session.ID.String()
	script, _ := json.Marshal(`[[{"tool_call":{"name":"run_transform","arguments":{"definition":"slow"}}}]]`)
	turn := s.stream("POST", at+"/messages", `{"content":{"text":`+string(script)+`}}`)
	turn.until("session.waiting")
	begun := want[page[parley.Transform]](s, 200, "GET", "/v1/transforms?session="+session.ID.String(), "").Data
	if len(begun) != 1 {
		t.Fatalf("%d transforms", len(begun))
	}
	s.do("POST", at+"/cancel", `{}`)
	turn.until("session.cancelled")
	if ended := s.transformEnd(begun[0]); ended.Status != parley.TransformCancelled || ended.Outputs[0].Version != 0 {
		t.Errorf("the transform is %+v", ended)
	}
}
