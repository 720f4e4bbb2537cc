package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
)

// selfReferring is a schema whose check would never end; a stack overflow cannot be
// recovered, so that it would end the process.
const selfReferring = `{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`

// costly is a schema whose check doubles with every second of 60 levels.
func costly() string {
	var defs []string
	for i := range 60 {
		defs = append(
			defs,
			fmt.Sprintf(`"a%d":{"anyOf":[{"not":{"$ref":"#/$defs/a%d"}},{"not":{"$ref":"#/$defs/a%d"}}]}`, i, i+1, i+1),
		)
	}
	return `{"type":"object","$defs":{` + strings.Join(defs, ",") + `,"a60":{"type":"string"}},"$ref":"#/$defs/a0"}`
}

// A schema that refers to itself is refused wherever one may be written, and the
// field is named.
func TestSchemasWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	tool := `"tools":[{"name":"trap","description":"A trap.","parameters":` + selfReferring + `}]`
	session := s.session(`{"model":"sim/script"}`).ID.String()
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", "/v1/agents", `{"name":"Poisoned",` + tool + `}`, "tools.parameters"},
		{"POST", "/v1/sessions", `{"model":"sim/script",` + tool + `}`, "tools.parameters"},
		{"PATCH", "/v1/sessions/" + session, `{` + tool + `}`, "tools.parameters"},
		{"POST", "/v1/sessions/" + session + "/loops", `{"prompt":"Go on.","until":{"schema":` + selfReferring + `}}`,
			"until.schema"},
	} {
		answer := s.do(c.method, c.path, c.body)
		if answer.status != 422 {
			t.Errorf("%s %s: status %d, %s", c.method, c.path, answer.status, answer.body)
			continue
		}
		if p := answer.problem(
			t,
		); !strings.HasPrefix(p.Detail, c.field) ||
			!strings.Contains(p.Detail, "circle of references") {
			t.Errorf("%s %s: %q", c.method, c.path, p.Detail)
		}
	}
}

// A schema of exponential cost takes neither the process nor a turn along: the
// call is refused, the model hears why, and the turn ends.
func TestSchemasThatCostTooMuch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(
		`{"model":"sim/script","tools":[{"name":"trap","description":"A trap.","parameters":` + costly() + `}]}`,
	).ID.String()
	messages := "/v1/sessions/" + session + "/messages"
	s.stream("POST", messages+"?flush_ms=0",
		fmt.Sprintf(`{"content":{"text":%q}}`,
			`[[{"tool_call":{"name":"trap","arguments":{}}}],[{"text":"Then without."}]]`)).
		until("session.completed")
	record := want[page[parley.Message]](s, 200, "GET", messages+"?role=tool_result", "").Data
	if len(record) != 1 || !strings.Contains(string(record[0].Content), "steps") ||
		!strings.Contains(string(record[0].Content), "Not run") {
		t.Errorf("the call's result is %+v", record)
	}
	loop := want[parley.Loop](
		s,
		201,
		"POST",
		"/v1/sessions/"+session+"/loops",
		`{"prompt":"[[{\"text\":\"{}\"}]]","max":1,"until":{"schema":`+costly()+`}}`,
	)
	if ended, _ := s.loopEnded(session, loop.ID.String()); ended.State != parley.LoopExhausted {
		t.Errorf("the loop is %s (%s)", ended.State, ended.Reason)
	}
}
