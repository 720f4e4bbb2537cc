package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/partialjson"
)

const outputSchema = `{"type":"object","properties":{"city":{"type":"string"},"sizes":{"type":"array",` +
	`"items":{"type":"integer"}}},"required":["city","sizes"]}`

// patched applies the patches of a stream, and returns the object of each message in their order.
func patched(t *testing.T, all []frame) (objects []string) {
	t.Helper()
	var message parley.ID
	var document partialjson.Document
	for _, f := range all {
		if f.event != string(parley.EventObjectPatch) {
			continue
		}
		var patch event.ObjectPatch
		if err := json.Unmarshal(f.data.Data, &patch); err != nil {
			t.Fatal(err)
		}
		if patch.MessageID != message {
			if first := patch.Patch[0]; first.Op != event.PatchReplace || first.Path != "" {
				t.Errorf("the first patch of a message begins with %+v", first)
			}
			message, document, objects = patch.MessageID, partialjson.Document{}, append(objects, "")
		}
		if err := document.Apply(patch.Patch); err != nil {
			t.Fatal(err)
		}
		raw, err := document.JSON()
		if err != nil {
			t.Fatal(err)
		}
		objects[len(objects)-1] = string(raw)
	}
	return objects
}

// A structured answer streams as patches whose sum is the object beside the text; an answer that is refused has patches
// of its own, and is followed by another one. A text has none.
func TestObjectsStream(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const whole = `{"city":"Simulated city","sizes":[1,1]}`
	for model, objects := range map[string][]string{
		"sim/object":   {whole},
		"sim/object-1": {`{"sizes":[1,1]}`, whole},
	} {
		session := s.session(`{"model":"` + model + `","output":{"schema":` + outputSchema + `}}`).ID.String()
		all := s.told(session, `{"content":{"text":"Which?"}}`)
		if got := patched(t, all); strings.Join(got, " ") != strings.Join(objects, " ") {
			t.Errorf("%s: the patches make %s", model, got)
		}
		record := s.recordOf("/v1/sessions/" + session)
		var content struct {
			Object json.RawMessage
			Text   string
		}
		if err := json.Unmarshal(
			record[len(record)-1].Content,
			&content,
		); err != nil ||
			string(content.Object) != whole ||
			!strings.Contains(content.Text, "Simulated city") {
			t.Errorf("%s: the answer is %+v", model, content)
		}
	}
	session := s.session(`{"model":"sim/echo"}`).ID.String()
	if got := patched(t, s.told(session, `{"content":{"text":"Bonn"}}`)); got != nil {
		t.Errorf("a text has patches: %s", got)
	}
}

// TestPatchesStayNearTheirText: the patches of an answer whose list stands behind a long path are not a multiple of its
// text that grows with both.
func TestPatchesStayNearTheirText(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	s := startServer(t)
	script, err := json.Marshal([][]map[string]any{{
		{"text": strings.Repeat(`{"`+strings.Repeat("n", 1000)+`":`, 60) + `[1`}, {"wait_ms": 100},
		{"text": ",1", "repeat": 2000},
	}})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"content": map[string]string{"text": string(script)}})
	if err != nil {
		t.Fatal(err)
	}
	says, session := 0, s.session(`{"model":"sim/script"}`).ID.String()
	for _, f := range s.told(session, string(body)) {
		if f.event == string(parley.EventObjectPatch) {
			says += len(f.data.Data)
		}
	}
	if says > most {
		t.Errorf("the patches of an answer of 65 kB have %d bytes", says)
	}
}

// A schema is checked when it is written, in every scope.
func TestOutputsAreChecked(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	for output, field := range map[string]string{
		`{"schema":{"type":"array"}}`:                                   "output.schema",
		`{"schema":{"type":"object","properties":{"a":{"type":"no"}}}}`: "output.schema",
		`{"schema":{"type":"object","$ref":"https://example.com/x"}}`:   "output.schema",
		`{"schema":{"type":"object"},"retries":6}`:                      "output.retries",
		`{"schema":{"type":"object"},"name":"a b"}`:                     "output.name",
		`{"strict":true}`: "output",
	} {
		for method, at := range map[string]string{
			"/v1/agents":                            `{"name":"a","output":` + output + `}`,
			"/v1/sessions":                          `{"output":` + output + `}`,
			"/v1/sessions/" + session + "/messages": `{"content":{"text":"Hi"},"output":` + output + `}`,
		} {
			answer := s.do("POST", method, at)
			if answer.status != 422 || !strings.Contains(string(answer.body), field) {
				t.Errorf("%s with %s: %d %s", method, output, answer.status, answer.body)
			}
		}
	}
}
