package httpapi

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/sqlite"
)

// Which roles may be posted, and what their content looks like: what does not
// fit is refused before it is written, and the field named.
func TestPostedContent(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	for _, body := range []string{
		`{"content":{"text":"a","links":["https://parley.example/a"],"think":true,"search":false},"respond":false}`,
		`{"role":"assistant","content":{"text":"b","reasoning":"c"}}`,
		`{"role":"tool_call","content":{"id":"call_1","name":"look","arguments":{"at":"it"}}}`,
		`{"role":"tool_result","tool_call_id":"call_1","content":{"result":[1,2],"success":true,` +
			`"execution_time_ms":5}}`,
		`{"role":"assistant","content":{"text":"d"},"internal":true,"metadata":{"k":["v"]}}`,
	} {
		message := want[parley.Message](s, 201, "POST", messages, body)
		if !message.TurnID.IsZero() || message.Status != parley.MessageCompleted || message.ContentHash.IsZero() ||
			message.Author.Kind != parley.AuthorPerson {
			t.Errorf("%s is recorded as %+v", body, message)
		}
	}
	if turns := want[page[parley.Turn]](s, 200, "GET", "/v1/sessions/"+session+"/turns", "").Data; len(turns) != 0 {
		t.Errorf("records started %d turns", len(turns))
	}
	before := want[page[parley.Message]](s, 200, "GET", messages, "").Data
	for body, field := range map[string]string{
		`{}`:                                         "content",
		`{"content":{}}`:                             "content.text",
		`{"content":"Hello"}`:                        "content",
		`{"content":{"text":7}}`:                     "content.text",
		`{"content":{"text":"x","colour":"y"}}`:      "content.colour",
		`{"content":{"text":"x","files":["f"]}}`:     "content.files",
		`{"role":"assistant","content":{"txt":"x"}}`: "content.txt",
		`{"role":"assistant","content":{"text":"x"},"temperature":1}`:          "model",
		`{"role":"tool_call","content":{"id":"c","arguments":{}}}`:             "content.name",
		`{"role":"tool_call","content":{"id":"c","name":"n","arguments":[1]}}`: "content.arguments",
		`{"role":"tool_result","content":{"result":1,"success":true}}`:         "tool_call_id",
		`{"role":"user","tool_call_id":"c","content":{"text":"x"}}`:            "tool_call_id",
		`{"role":"system","content":{"text":"x"}}`:                             "role",
		`{"role":"summary","content":{"text":"x"}}`:                            "role",
		`{"role":"boss","content":{"text":"x"}}`:                               "role",
		`{"content":{"text":"x"},"internal":true}`:                             "internal",
		`{"content":{"text":"x"},"metadata":["x"]}`:                            "metadata",
		`{"content":{"text":"x"},"during":"later"}`:                            "during",
	} {
		got := s.do("POST", messages, body)
		if got.status != 422 {
			t.Errorf("%s: status %d %s", body, got.status, got.body)
			continue
		}
		if errors := got.problem(t).Errors; len(errors) == 0 || errors[0].Field != field {
			t.Errorf("%s: errors %+v, want %s", body, errors, field)
		}
	}
	if system := s.do(
		"POST",
		messages,
		`{"role":"system","content":{"text":"x"}}`,
	); !strings.Contains(
		string(system.body),
		"system_prompt",
	) {
		t.Errorf("a system message is refused without the way: %s", system.body)
	}
	if after := want[page[parley.Message]](s, 200, "GET", messages, "").Data; len(after) != len(before) {
		t.Errorf("refusals wrote %d messages", len(after)-len(before))
	}
	for _, view := range []string{"flat", "user", "transcript", "chat", "ids", "recent"} {
		if got := s.do("GET", messages+"?view="+view, ""); got.status != 200 {
			t.Errorf("view %s of a record from outside: status %d %s", view, got.status, got.body)
		}
	}
}

// What cannot be read any more breaks no list and no later turn: it is shown as
// raw text beside an error.
func TestUnreadableContent(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"model":"sim/tool","tools":["current_time"],"message":{"content":{"text":"What time is it?"}}}`,
	).ID.String()
	s.finished(session)
	file, err := sql.Open("sqlite", filepath.Join(s.data, sqlite.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.ExecContext(
		t.Context(),
		`PRAGMA busy_timeout = 10000; UPDATE messages SET content = '{"text": torn ' || sequence, metadata = '{'`,
	)
	if closed := file.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	messages := "/v1/sessions/" + session + "/messages"
	for _, message := range want[page[parley.Message]](s, 200, "GET", messages, "").Data {
		if message.Error == nil || !strings.Contains(string(message.Content), "torn") {
			t.Errorf("%s: content %s, error %+v", message.Role, message.Content, message.Error)
		}
	}
	entries := want[page[engine.Entry]](s, 200, "GET", messages+"?view=transcript", "").Data
	blocks := entries[len(entries)-1].Blocks
	if len(blocks) == 0 ||
		!slices.ContainsFunc(blocks, func(b engine.Block) bool { return b.Type == engine.BlockError }) {
		t.Errorf("the transcript shows %+v", blocks)
	}
	for _, view := range []string{"user", "chat", "ids", "recent"} {
		if got := s.do("GET", messages+"?view="+view, ""); got.status != 200 {
			t.Errorf("view %s: status %d %s", view, got.status, got.body)
		}
	}
	if all := s.told(
		session,
		`{"content":{"text":"Go on"},"model":"sim/echo"}`,
	); all[len(all)-1].event != "session.completed" {
		t.Errorf("the next turn ends with %s", all[len(all)-1].event)
	}
}
