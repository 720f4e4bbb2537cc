package httpapi

import (
	"strings"
	"testing"
)

// An unknown field's error says what to write instead.
func TestUnknownFieldsAreExplained(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	messages := "/v1/sessions/" + s.session(`{}`).ID.String() + "/messages"
	for name, c := range map[string]struct{ path, body, says string }{
		"a letter less": {
			"/v1/agents", `{"name":"x","temprature":1}`, "temprature: is not a known field; did you mean temperature?",
		},
		"letters swapped": {"/v1/agents", `{"name":"x","otols":[]}`, "did you mean tools?"},
		"another letter":  {"/v1/agents", `{"name":"x","modem":"sim/echo"}`, "did you mean model?"},
		"without _id":     {"/v1/sessions", `{"agent":"parley"}`, "did you mean agent_id?"},
		"unlike the many": {"/v1/agents", `{"name":"x","colour":"red"}`, "/docs lists"},
		"unlike the few": {
			"/v1/imports", `{"text":"{}","colour":"red"}`, "accepts: agent, dry_run, file_id, name, text",
		},
		"in an object": {"/v1/sessions", `{"message":{"contents":{"text":"a"}}}`, "did you mean content?"},
		"no object": {
			"/v1/sessions", `{"message":{"content":"Hello"}}`, `must be a JSON object, such as {\"text\":\"Hello\"}`,
		},
		"content is text": {
			messages, `{"content":"Hello"}`, `content: must be a JSON object, such as {\"text\":\"Hello\"}`,
		},
		"a call's content is text": {
			messages, `{"role":"tool_call","content":"Hello"}`, `such as {\"id\":\"call_1\"`,
		},
		"a text alone": {
			messages, `"Hello"`,
			`body: must be a JSON object, such as {\"role\":\"user\",\"content\":{\"text\":\"Hello\"}}`,
		},
		"no JSON":                         {messages, `Hello`, `not valid JSON, such as {\"role\":\"user\"`},
		"an object whose example is long": {"/v1/agents", `[]`, `must be a JSON object, such as {\"name\"`},
	} {
		got := s.do("POST", c.path, c.body)
		if got.status != 422 || !strings.Contains(string(got.body), c.says) {
			t.Errorf("%s: status %d %s, want %s", name, got.status, got.body, c.says)
		}
	}
}
