package httpapi

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"example.org/parley"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	session := s.session(`{}`)
	messages := "/v1/sessions/" + session.ID.String() + "/messages"
	const secret = "swordfish-and-more"
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		code                     parley.Code
		field                    string
	}{
		{name: "unknown field", method: "POST", path: "/v1/agents", body: `{"name":"a","colour":"` + secret + `"}`,
			status: 422, code: parley.CodeInvalid, field: "colour"},
		{name: "unknown field on the hot path", method: "POST", path: messages,
			body: `{"content":{"text":"x"},"colour":"` + secret + `"}`, status: 422, code: parley.CodeInvalid,
			field: "colour"},
		{name: "a name in other letters", method: "POST", path: "/v1/sessions", body: `{"title":"a","TITLE":"b"}`,
			status: 422, code: parley.CodeInvalid, field: "TITLE"},
		{name: "a name that folds", method: "POST", path: "/v1/sessions", body: `{"\u017fystem_prompt":"b"}`,
			status: 422, code: parley.CodeInvalid, field: "\u017fystem_prompt"},
		{name: "a name in other letters in the content", method: "POST", path: messages,
			body: `{"content":{"text":"x","Text":"y"}}`, status: 422, code: parley.CodeInvalid, field: "content.Text"},
		{name: "unknown field in the content", method: "POST", path: messages,
			body: `{"content":{"text":"x","colour":"` + secret + `"}}`, status: 422, code: parley.CodeInvalid,
			field: "content.colour"},
		{name: "wrong type", method: "POST", path: "/v1/agents", body: `{"name":"a","temperature":"` + secret + `"}`,
			status: 422, code: parley.CodeInvalid, field: "temperature"},
		{name: "wrong type on the hot path", method: "POST", path: messages,
			body: `{"content":{"text":"x"},"internal":"` + secret + `"}`, status: 422, code: parley.CodeInvalid,
			field: "internal"},
		{name: "out of range", method: "POST", path: "/v1/agents", body: `{"name":"a","temperature":3}`, status: 422,
			code: parley.CodeInvalid, field: "temperature"},
		{name: "not in the list", method: "POST", path: "/v1/sessions", body: `{"visibility":"` + secret + `"}`,
			status: 422, code: parley.CodeInvalid, field: "visibility"},
		{name: "nested", method: "POST", path: "/v1/sessions", body: `{"message":{"content":{"text":"x"},"colour":1}}`,
			status: 422, code: parley.CodeInvalid, field: "message.colour"},
		{name: "missing session", method: "PUT", path: "/v1/clients/tab/session", body: `{}`, status: 422,
			code: parley.CodeInvalid, field: "session_id"},
		{name: "missing name", method: "POST", path: "/v1/agents", body: `{}`, status: 422, code: parley.CodeInvalid,
			field: "name"},
		{name: "system role", method: "POST", path: messages, body: `{"role":"system","content":{"text":"x"}}`,
			status: 422, code: parley.CodeInvalid, field: "role"},
		{name: "no JSON", method: "POST", path: "/v1/agents", body: `{"name":`, status: 422, code: parley.CodeInvalid},
		{name: "not an object", method: "POST", path: "/v1/agents", body: `[1]`, status: 422, code: parley.CodeInvalid,
			field: "body"},
		{name: "two values", method: "POST", path: messages, body: `{"content":{"text":"x"}} {}`, status: 422,
			code: parley.CodeInvalid},
		{name: "NUL", method: "POST", path: messages, body: `{"content":{"text":"a\u0000b"}}`, status: 422,
			code: parley.CodeInvalid},
		{name: "deep", method: "POST", path: messages,
			body: `{"content":{"text":"a"},"metadata":{"a":` + strings.Repeat("[", 70) +
				strings.Repeat("]", 70) + `}}`,
			status: 422, code: parley.CodeInvalid},
		{name: "unknown parameter", method: "GET", path: messages + "?rav=" + secret, status: 422,
			code: parley.CodeInvalid, field: "rav"},
		{name: "parameter twice", method: "GET", path: messages + "?limit=1&limit=2", status: 422,
			code: parley.CodeInvalid, field: "limit"},
		{name: "limit", method: "GET", path: messages + "?limit=1001", status: 422, code: parley.CodeInvalid,
			field: "limit"},
		{name: "limit of zero", method: "GET", path: "/v1/agents?limit=0", status: 422, code: parley.CodeInvalid,
			field: "limit"},
		{name: "order", method: "GET", path: "/v1/sessions?order=up", status: 422, code: parley.CodeInvalid,
			field: "order"},
		{name: "cursor", method: "GET", path: messages + "?cursor=" + secret, status: 422, code: parley.CodeInvalid,
			field: "cursor"},
		{name: "position in the record", method: "GET", path: messages + "?from_sequence=0", status: 422,
			code: parley.CodeInvalid, field: "from_sequence"},
		{name: "place of the recent view", method: "GET", path: messages + "?from_sequence=1&view=recent", status: 422,
			code: parley.CodeInvalid, field: "from_sequence"},
		{name: "view", method: "GET", path: messages + "?view=x", status: 422, code: parley.CodeInvalid, field: "view"},
		{name: "id in a filter", method: "GET", path: "/v1/sessions?project=x", status: 422,
			code: parley.CodeInvalid, field: "project"},
		{name: "pace", method: "GET", path: "/v1/events?flush_ms=-1", status: 422, code: parley.CodeInvalid,
			field: "flush_ms"},
		{name: "no id", method: "GET", path: "/v1/sessions/x", status: 404, code: parley.CodeNotFound},
		{name: "no such id", method: "GET", path: "/v1/sessions/" + parley.NewID().String(), status: 404,
			code: parley.CodeNotFound},
		{name: "no such path", method: "GET", path: "/v1/nothing", status: 404, code: parley.CodeNotFound},
		{name: "method", method: "PUT", path: "/v1/agents", body: `{}`, status: 405, code: parley.CodeUnsupported},
		{name: "form", method: "POST", path: "/v1/agents", body: `name=a`,
			headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415,
			code: parley.CodeUnsupported},
		{name: "plain text, as simple cross-site requests are", method: "POST", path: messages,
			body: `{"content":{"text":"x"}}`, headers: []string{"Content-Type", "text/plain"}, status: 415,
			code: parley.CodeUnsupported},
		{name: "other site", method: "POST", path: "/v1/agents", body: `{"name":"a"}`,
			headers: []string{"Origin", "http://evil.example"}, status: 403, code: parley.CodeForbidden},
		{name: "other port", method: "GET", path: "/v1/agents", headers: []string{"Origin", "http://127.0.0.1:1"},
			status: 403, code: parley.CodeForbidden},
		{name: "sandboxed site", method: "GET", path: "/v1/agents", headers: []string{"Origin", "null"}, status: 403,
			code: parley.CodeForbidden},
		{name: "cross-site fetch", method: "GET", path: "/v1/events", headers: []string{"Sec-Fetch-Site", "cross-site"},
			status: 403, code: parley.CodeForbidden},
		{name: "rebound name", method: "GET", path: "/v1/agents", headers: []string{"Host", "evil.example:7878"},
			status: 403, code: parley.CodeForbidden},
		{name: "empty idempotency key", method: "POST", path: "/v1/agents", body: `{"name":"a"}`,
			headers: []string{idempotencyHeader, ""}, status: 422, code: parley.CodeInvalid, field: idempotencyHeader},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := s.do(c.method, c.path, c.body, c.headers...)
			problem := got.problem(t)
			if got.status != c.status || problem.Code != c.code {
				t.Fatalf("status %d code %s, want %d %s: %s", got.status, problem.Code, c.status, c.code, got.body)
			}
			if problem.Type != problemType+string(c.code) || problem.Detail == "" {
				t.Errorf("problem %+v", problem)
			}
			if c.field != "" && (len(problem.Errors) == 0 || problem.Errors[0].Field != c.field) {
				t.Errorf("errors %+v, want field %s", problem.Errors, c.field)
			}
			if c.name != "cursor" && strings.Contains(string(got.body), secret) {
				t.Errorf("the value is echoed: %s", got.body)
			}
		})
	}
	for _, host := range []string{"localhost:1", "127.0.0.1", "[::1]:7878"} {
		if got := s.do("GET", "/v1/agents", "", "Host", host); got.status != http.StatusOK {
			t.Errorf("Host %s: status %d", host, got.status)
		}
	}
}

// A body beyond the bound is refused by its announced length, before any of it
// is sent; one of unknown length after the bound.
func TestBodyBeyondTheBound(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	if _, err := fmt.Fprintf(
		connection,
		"POST /v1/agents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+
			"52428800\r\n\r\n",
	); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, want 413 with nothing sent", answer.StatusCode)
	}
	request, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		s.url+"/v1/agents",
		struct{ *strings.Reader }{strings.NewReader(strings.Repeat(" ", parley.MaxBodyBytes+1))},
	)
	if err != nil {
		t.Fatal(err)
	}
	request.ContentLength = -1
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: status %d, want 413", response.StatusCode)
	}
}

func TestPanicIsInternalAndLoggedOnce(t *testing.T) {
	t.Parallel()
	s := startServer(t, func(o *Options) {
		o.Page = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("of a test") })
	})
	got := s.do("GET", "/", "")
	problem := got.problem(t)
	if got.status != http.StatusInternalServerError || problem.Code != parley.CodeInternal ||
		strings.Contains(string(got.body), "of a test") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	log := s.log.String()
	if strings.Count(log, "request panicked") != 1 || !strings.Contains(log, "TestPanicIsInternalAndLoggedOnce") ||
		!strings.Contains(log, problem.RequestID.String()) {
		t.Errorf("the log does not tell where the panic was: %s", log)
	}
	if strings.Contains(log, "of a test") { // which may be anything, a key among it
		t.Errorf("the log tells what the panic carried: %s", log)
	}
	if got := s.do("GET", "/v1/models", ""); got.status != http.StatusOK {
		t.Errorf("status %d afterwards", got.status)
	}
}
