package httpapi

import (
	"testing"
)

// JSON that does not say one thing is refused by every route that takes a body, and
// the field is named.
func TestBodiesSayOneThing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{"model":"sim/echo"}`).ID.String()
	for _, c := range []struct{ method, path, body, field string }{
		{"POST", "/v1/agents", `{"name":"a","name":"b"}`, "name"},
		{"POST", "/v1/agents", `{"name":"a","tools":[{"name":"t","parameters":{"type":"object","type":"string"}}]}`,
			"tools.0.parameters.type"},
		{"POST", "/v1/sessions", `{"title":"half \ud83d"}`, "title"},
		{"PATCH", "/v1/sessions/" + session, "{\"title\":\"\xc3\x28\"}", "title"},
		{"POST", "/v1/sessions/" + session + "/messages", `{"content":{"text":"a","t\u0065xt":"b"}}`,
			`content.t\u0065xt`},
		{"POST", "/v1/sessions/" + session + "/messages", `{"content":{"text":"\udc00"}}`, "content.text"},
		{"POST", "/v1/sessions/" + session + "/messages", `{"content":{"text":"a"},"metadata":{"x":[{"y":1,"y":2}]}}`,
			"metadata.x.0.y"},
		{"POST", "/v1/sessions/" + session + "/loops", `{"prompt":"a","prompt":"b"}`, "prompt"},
		{"POST", "/v1/projects", `{"path":"/a","path":"/b"}`, "path"},
	} {
		answer := s.do(c.method, c.path, c.body)
		if answer.status != 422 {
			t.Errorf("%s %s %s: status %d, %s", c.method, c.path, c.body, answer.status, answer.body)
			continue
		}
		p := answer.problem(t)
		if len(p.Errors) != 1 || p.Errors[0].Field != c.field {
			t.Errorf("%s %s %s: %+v", c.method, c.path, c.body, p)
		}
	}
	if answer := s.do(
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"content":{"text":"\ud83d\ude00"},"metadata":{"a":{"a":1},"A":2}}`,
	); answer.status >= 300 {
		t.Errorf("a pair of surrogates: status %d, %s", answer.status, answer.body)
	}
}
