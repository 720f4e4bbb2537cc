package httpapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
)

// What an agent or session sets stands around its calls: the provider sees no
// hidden value, the record and the reader see the values themselves, tags become
// reasoning, the manifest names what the request went through, and the request
// rebuilds to the byte, also after the setting has changed.
func TestMiddlewareAroundCalls(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	agent := want[parley.Agent](
		s,
		201,
		"POST",
		"/v1/agents",
		`{"name":"discreet","model":"sim/echo","middleware":{"think_tags":true,"redact":[{"name":"email",`+
			`"pattern":"[a-z]+@[a-z.]+"}]}}`,
	)
	session := s.session(`{"agent_id":"discreet"}`).ID.String()
	const text = "<think>who is ada@example.org?</think>I write to ada@example.org."
	s.told(session, `{"content":{"text":"`+text+`"}}`)
	call := s.lastCall(session)
	if strings.Contains(string(call.Request), "example") || !strings.Contains(string(call.Request), "[EMAIL_") ||
		!call.Exact {
		t.Errorf("the provider was sent %s, exact %t", call.Request, call.Exact)
	}
	if names := []string{"think_tags@1", "redact@3"}; !slices.Equal(call.Manifest.Middleware, names) {
		t.Errorf("the manifest names %q", call.Manifest.Middleware)
	}
	record := want[page[parley.Message]](s, 200, "GET", "/v1/sessions/"+session+"/messages", "").Data
	if len(record) != 2 || !strings.Contains(string(record[0].Content), text) ||
		short(record[1]) != `{"reasoning":"who is ada@example.org?","text":"I write to ada@example.org."}` {
		t.Errorf("the record is %s", record[len(record)-1].Content)
	}

	// A session's field replaces its agent's; the old call is as it was.
	want[parley.Session](s, 200, "PATCH", "/v1/sessions/"+session, `{"middleware":{"redact":[]}}`)
	want[parley.Agent](
		s,
		200,
		"PATCH",
		"/v1/agents/"+agent.ID.String(),
		`{"middleware":{"redact":[{"name":"other","pattern":"x"}]}}`,
	)
	s.told(session, `{"content":{"text":"ada@example.org"}}`)
	if open := s.lastCall(
		session,
	); !strings.Contains(string(open.Request), "ada@example.org") || len(open.Manifest.Middleware) != 0 ||
		!open.Exact {
		t.Errorf("without patterns: %s through %q, exact %t", open.Request, open.Manifest.Middleware, open.Exact)
	}
	if !want[engine.CallDetail](s, 200, "GET", "/v1/calls/"+call.ID.String(), "").Exact {
		t.Error("a call is not rebuilt to the byte after its settings have changed")
	}

	for field, body := range map[string]string{
		"middleware.user_context": `{"middleware":{"user_context":["shoe size"]}}`,
		"middleware.redact":       `{"middleware":{"redact":[{"name":"x","pattern":"(?=secret-look-ahead)"}]}}`,
	} {
		got := s.do("PATCH", "/v1/sessions/"+session, body)
		if got.status != 422 || got.problem(t).Errors[0].Field != field ||
			strings.Contains(string(got.body), "secret-look-ahead") {
			t.Errorf("%s: status %d %s", body, got.status, got.body)
		}
	}
	if got := s.do(
		"POST",
		"/v1/sessions/"+session+"/messages",
		`{"content":{"text":"x"},"middleware":{"think_tags":true}}`,
	); got.status != 422 {
		t.Errorf("on a message: status %d %s", got.status, got.body)
	}
	if strings.Contains(s.log.String(), "[a-z]+@") {
		t.Error("a pattern is in the log")
	}
}

// Patterns that are too large together are refused where they are written, and a
// request that takes too long to search is not sent: the preview and the turn say so.
func TestCostlyPatternsAreRefused(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	const costly = `(\\w{1,60}){1,15}[xyz]0`
	patterns := make([]string, parley.MaxRedactPatterns)
	for i := range patterns {
		patterns[i] = fmt.Sprintf(`{"name":"p%d","pattern":"%s"}`, i, costly)
	}
	agent := func(patterns string) string {
		return `{"name":"costly","model":"sim/echo","middleware":{"redact":[` + patterns + `]}}`
	}
	got := s.do("POST", "/v1/agents", agent(strings.Join(patterns, ",")))
	if got.status != 422 || !strings.Contains(string(got.body), "p1: the pattern is too large") {
		t.Errorf("32 patterns: %d %s", got.status, got.body)
	}
	got = s.do("POST", "/v1/agents", agent(`{"name":"p","pattern":"(x{100}){100}"}`))
	if got.status != 422 || !strings.Contains(string(got.body), "too large once its repetitions") {
		t.Errorf("one that repeats too much: %d %s", got.status, got.body)
	}
	want[parley.Agent](s, 201, "POST", "/v1/agents", agent(patterns[0]))
	session := s.session(`{"agent_id":"costly"}`).ID.String()
	message := `{"content":{"text":"` + strings.Repeat("a", 900_000) + `"}}`
	got = s.do("POST", "/v1/sessions/"+session+"/preview", message)
	if got.status != 422 || !strings.Contains(string(got.body), "Nothing was sent") {
		t.Errorf("the preview: %d %.300s", got.status, got.body)
	}
	run := want[engine.DryRun](
		s,
		200,
		"POST",
		"/v1/sessions/"+session+"/messages",
		message[:len(message)-1]+`,"dry_run":true}`,
	)
	if run.Turn.Status != parley.TurnFailed ||
		!strings.Contains(run.Turn.Error.Detail+run.Turn.Error.Sentence, "Nothing was sent") {
		t.Errorf("the turn is %s: %+v", run.Turn.Status, run.Turn.Error)
	}
}
