package openai

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/protocol"
)

func TestAgentRequestsAreRefusedByName(t *testing.T) {
	t.Parallel()
	session := func(body []byte) error { _, err := decodeAgentSession(body); return err }
	agent := func(body []byte) error { _, err := decodeAgent(body); return err }
	events := func(body []byte) error { _, err := decodeEvents(body); return err }
	said := func(event string) string { return `{"events":[{"type":"agent.session.input.cancel"},` + event + `]}` }
	for _, c := range []struct {
		read        func([]byte) error
		body, field string
	}{
		{session, `{"environment":{"type":"openai_hosted"}}`, "environment.type"},
		{session, `{"vault_ids":["v"]}`, "vault_ids"},
		{session, `{"review":"auto_review"}`, "review"},
		{session, `{"spend_control":{"limit":1}}`, "spend_control"},
		{session, `{"agent":{"multi_agent":{"enabled":true}}}`, "agent.multi_agent"},
		{session, `{"agent":{"name":"x"}}`, "agent"},
		{session, `{"agent":{"text":{"verbosity":"low"}}}`, "agent.text.verbosity"},
		{session, `{"input":[{"role":"assistant","content":"x"}]}`, "input"},
		{session, `{"input":[{"role":"system","content":"x"}]}`, "input"},
		{session, `{"input":[]}`, "input"},
		{session, `{"input":[` + strings.Repeat(`{"role":"user","content":"x"},`, maxInputs) +
			`{"role":"user","content":"x"}]}`, "input"},
		{session, `{"other":1}`, "other"},
		{agent, `{"metadata":{"a":"b"}}`, "metadata"},
		{agent, `{"model":7}`, "model"},
		{events, `{"events":[]}`, "events"},
		{events, `{"events":[` + strings.Repeat(`{},`, maxInputs) + `{}]}`, "events"},
		{events, said(`{"type":"x"}`), "events[1].type"},
		{events, said(`{"type":"agent.session.input.message"}`), "events[1].input"},
		{events, said(`{"type":"agent.session.input.tool_result","call_id":"c"}`), "events[1].call_id"},
		{events, said(`{"type":"agent.session.input.tool_result","call_id":"c","turn_id":"t","success":true,` +
			`"output":[{"type":"input_image","image_url":"data:x"}]}`), "events[1].output[0].type"},
		{events, said(`{"type":"agent.session.input.mcp_approval_request_result","response":{"decision":"x"}}`),
			"events[1].response.decision"},
	} {
		var wrong *parley.Error
		if err := c.read([]byte(c.body)); !errors.As(err, &wrong) || wrong.Field != c.field {
			t.Errorf("%.200s: %v, want the field %s", c.body, err, c.field)
		}
	}
	for _, body := range []string{
		`{}`, `{"spend_control":{"limit":null},"review":"none","vault_ids":[],"input":"x","stream":true}`,
		`{"agent":{"multi_agent":{"enabled":false},"compaction":{"async":true}},"input":null}`,
	} {
		if err := session([]byte(body)); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// The vendor's helpers try again only for exactly this error.
func TestAnUnknownCallIsTheErrorThatHelpersKnow(t *testing.T) {
	t.Parallel()
	status, body := fail(protocol.Problem{
		Status: http.StatusUnprocessableEntity, Code: parley.CodeInvalid, Detail: unknownCall + "call_1",
	})
	const want = `{"error":{"message":"Unknown pending tool call: call_1","type":"invalid_request_error",` +
		`"param":null,"code":"invalid_request_error"}}`
	if status != http.StatusBadRequest || string(body) != want {
		t.Errorf("status %d: %s, want %s", status, body, want)
	}
}

// A compaction stands for everything before it, and for nothing else.
func TestACompactionReplacesWhatIsBeforeIt(t *testing.T) {
	t.Parallel()
	const item = `{"type":"compaction","id":"cmp_1","encrypted_content":"a.b"}`
	r, err := decodeResponse([]byte(`{"model":"m","input":[{"role":"user","content":"before"},` + item +
		`,{"role":"user","content":"behind"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.compacted != "a.b" || len(r.said) != 1 || r.said[0].text() != "behind" {
		t.Errorf("%q stands before %v", r.compacted, r.said)
	}
	for _, body := range []string{
		`{"model":"m","input":[` + item + `]}`,
		`{"model":"m","previous_response_id":"resp_1","input":[` + item + `,{"role":"user","content":"x"}]}`,
		`{"model":"m","input":[{"type":"compaction"},{"role":"user","content":"x"}]}`,
	} {
		if _, err := decodeResponse([]byte(body)); err == nil {
			t.Errorf("%s is accepted", body)
		}
	}
	if _, _, _, err := decodeConversation([]byte(`{"items":[` + item + `]}`)); err == nil {
		t.Error("a conversation takes a compaction item")
	}
}

// Whatever is sent, reading it ends without a panic, and what is accepted says something.
func FuzzAgents(f *testing.F) {
	f.Add([]byte(`{"environment":{"type":"none"},"agent":{"model":"parley","tools":[{"type":"function"}],` +
		`"text":{"format":{"type":"json_schema","schema":{}}}},"input":"x"}`))
	f.Add([]byte(`{"events":[{"type":"agent.session.input.message","input":[{"role":"user","content":"x"}]},` +
		`{"type":"agent.session.input.tool_result","turn_id":"t","call_id":"c","success":true,"output":"x"}]}`))
	f.Add([]byte(`{"name":"Tea","model":"a/b","reasoning":{"effort":"low"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if p, err := decodeAgent(bytes.Clone(body)); err == nil {
			_, _ = p.settings(&parley.Agent{}, "")
		}
		if events, err := decodeEvents(bytes.Clone(body)); err == nil {
			for i := range events {
				if e := &events[i]; e.Type == inputMessage && (e.said == nil || len(e.said.parts) == 0) {
					t.Fatalf("nothing is said in %s", body)
				}
			}
		}
		if r, err := decodeAgentSession(body); err == nil && r.Agent != nil {
			_, _ = r.Agent.settings(&parley.Agent{}, "")
		}
	})
}
