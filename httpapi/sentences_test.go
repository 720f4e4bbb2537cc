package httpapi

import (
	"strings"
	"testing"
)

// TestSentencesNameTheField: by the name that a client knows, and saying whether the
// field or an item of it is meant.
func TestSentencesNameTheField(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`).ID.String()
	for _, c := range []struct{ path, body, says string }{
		{"/v1/agents", `{"name":"A","model":"sim/echo","temperature":1e400}`, "temperature: is a number out of range"},
		{"/v1/agents", `{"name":"A","model":"sim/echo","max_output_tokens":99999999999999999999}`,
			"max_output_tokens: "},
		{"/v1/sessions/" + session + "/messages", `{"content":{"text":"a","files":[1]}}`,
			"content.files: each item must be a JSON string"},
		{"/v1/sessions/" + session + "/messages", `{"content":{"text":"a","files":1}}`,
			"content.files: must be a JSON array"},
		{"/v1/sessions/" + session + "/messages", `{"content":{"text":["a"]}}`, "content.text: must be a JSON string"},
	} {
		got := s.do("POST", c.path, c.body)
		if got.status != 422 || !strings.Contains(string(got.body), c.says) ||
			strings.Contains(string(got.body), "Parameters") {
			t.Errorf("%s: %d %s; want %q", c.body, got.status, got.body, c.says)
		}
	}
}
