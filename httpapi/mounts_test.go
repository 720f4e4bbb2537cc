package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/observe"
	"example.org/parley/protocol"
)

// parrot is a protocol that repeats what it is told, and by whom.
func parrot() protocol.Mount {
	says := func(x *protocol.Exchange) error {
		if !json.Valid(x.Body) {
			return parley.Errorf(parley.CodeInvalid, "this is not JSON")
		}
		if string(x.Body) == `"hush"` {
			return parley.InvalidField("word", "is too loud")
		}
		body, err := json.Marshal(map[string]any{"heard": json.RawMessage(x.Body), "by": x.Principal.Name})
		if err != nil {
			return err
		}
		_, err = x.W.Write(body)
		return err
	}
	wait := func(x *protocol.Exchange) error {
		end, err := x.Room()
		if err != nil {
			return err
		}
		defer end()
		heard := len(x.Body)
		x.Outlast()
		_, err = fmt.Fprintf(x.W, "%d heard, %d kept", heard, len(x.Body))
		return err
	}
	hold := func(x *protocol.Exchange) error {
		free, err := x.Hold(heldOfOne)
		if err != nil {
			return err
		}
		if _, err := x.Hold(heldOfOne); parley.ErrorCode(err) != parley.CodeRateLimited {
			return parley.Errorf(parley.CodeConflict, "the second one is %v", err)
		}
		free()
		free()
		free, err = x.Hold(heldOfOne)
		if err == nil {
			free()
		}
		return err
	}
	take := func(x *protocol.Exchange) error { // each line is said in a request of its own
		end, err := x.Room()
		if err != nil {
			return err
		}
		defer end()
		x.Outlast()
		conn, in, done, err := x.Take()
		if err != nil {
			return err
		}
		defer done()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return nil // the client is gone
			}
			r := x.R.Clone(x.R.Context())
			r.Method, r.URL.Path = "POST", "/parrot/v1/say/it"
			if line == "\"wait\"\n" {
				r.URL.Path = "/parrot/v1/wait"
			}
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(line)), int64(len(line)-1)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			x.Serve(w, r)
			_, _ = fmt.Fprintf(conn, "%d %s\n", w.Code, w.Body) // the test notices
		}
	}
	return protocol.Mount{
		Prefix: "/parrot/v1", KeyHeader: "x-parrot-key", Headers: []string{"x-parrot"},
		Fail: func(p protocol.Problem) (int, []byte) {
			if p.Status == http.StatusUnprocessableEntity {
				p.Status = http.StatusBadRequest
			}
			body, _ := json.Marshal(map[string]any{"squawk": p.Detail, "at": p.Field, "why": p.Code})
			return p.Status, body
		},
		Routes: []protocol.Route{{
			Method: "POST", Path: "/say/{word}", Name: "say", Verb: engine.ReadSessions, Body: 64, Serve: says,
		}, {
			Method: "POST", Path: "/wait", Name: "wait", Verb: engine.ReadSessions, Body: 64, Serve: wait,
		}, {
			Method: "GET", Path: "/hold", Name: "hold", Verb: engine.ReadSessions, Serve: hold,
		}, {
			Method: "GET", Path: "/take", Name: "take", Verb: engine.ReadSessions, Serve: take,
		}},
	}
}

func withParrot(o *Options) {
	o.Mounts = append(o.Mounts, parrot())
	o.Origins = append(o.Origins, "https://chat.example.org")
}

// A protocol's requests are let in like ours, and its errors have its own shape, wherever they come from.
func TestMountsAreLetInLikeRoutes(t *testing.T) {
	t.Parallel()
	s := startServer(t, withParrot)
	key := s.key("default", "polly", parley.RoleMember)
	bare := strings.TrimPrefix(key, "Bearer ")
	const path, word = "/parrot/v1/say/it", `"hello"`
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		holds                    string
	}{
		{"a key", "POST", path, word, []string{"Authorization", key}, 200, `"heard":"hello"`},
		{"the protocol's header", "POST", path, word, []string{"x-parrot-key", bare}, 200, `"by":"polly"`},
		{"foreign parameters", "POST", path + "?api-version=1", word, []string{"Authorization", key}, 200, `polly`},
		{"no key", "POST", path, word, nil, 401, `"squawk"`},
		{"a wrong key", "POST", path, word, []string{"x-parrot-key", "pk_wrong"}, 401, `"squawk"`},
		{"a cookie in its place", "POST", path, word, []string{"Cookie", "parley_key=" + bare}, 401, `"squawk"`},
		{"another method", "GET", path, "", []string{"Authorization", key}, 405, `This path accepts POST`},
		{"no such path", "GET", "/parrot/v1/nest", "", []string{"Authorization", key}, 404, `"why":"not_found"`},
		{"a long body", "POST", path, `"` + strings.Repeat("a", 80) + `"`, []string{"Authorization", key}, 413,
			`"why":"too_large"`},
		{"no JSON", "POST", path, `{`, []string{"Authorization", key}, 400, `"squawk"`},
		{"a refusal", "POST", path, `"hush"`, []string{"Authorization", key}, 400, `"at":"word"`},
		{"another host", "POST", path, word, []string{"Authorization", key, "Host", "evil.example"}, 403, `"squawk"`},
	} {
		got := s.do(c.method, c.path, c.body, c.headers...)
		if got.status != c.status || !strings.Contains(string(got.body), c.holds) {
			t.Errorf("%s: status %d, want %d with %s: %s", c.name, got.status, c.status, c.holds, got.body)
		}
		if got.status != 200 && got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: content type %q", c.name, got.header.Get("Content-Type"))
		}
	}
	said := 0
	for _, entry := range s.auditOf("") {
		if entry.Action == "say" && entry.PrincipalName == "polly" {
			said++
		}
	}
	if said != 3 { // only what was not refused
		t.Errorf("the audit has %d entries of requests that were answered, want 3", said)
	}
}

// TestMountsWait: a waiting answer counts as a stream, and its request's body leaves the memory.
func TestMountsWait(t *testing.T) {
	t.Parallel()
	limited := make(chan observe.RateScope, 1)
	s := startServer(t, withParrot, func(o *Options) { o.Limited = func(scope observe.RateScope) { limited <- scope } })
	s.boundedTo(ConnectionLimits{Most: 7}) // one stream each
	own := []string{"Authorization", "Bearer " + testToken}
	for range 2 { // the first gives its place back
		if got := s.do("POST", "/parrot/v1/wait", `"hello"`, own...); string(got.body) != "7 heard, 0 kept" {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
	s.stream("GET", "/v1/events", "", own...)
	got := s.do("POST", "/parrot/v1/wait", `"hello"`, own...)
	if got.status != 429 || !strings.Contains(string(got.body), `"squawk":"You have as many streams open`) {
		t.Errorf("a stream too many: status %d: %s", got.status, got.body)
	}
	if len(limited) != 1 || <-limited != observe.RateOfStreams {
		t.Error("the refusal is not counted as one of a stream")
	}
}

// A connection that a protocol takes counts as one stream until it ends, and each request on it is let in like any.
func TestMountsTakeConnections(t *testing.T) {
	t.Parallel()
	s := startServer(t, withParrot)
	s.boundedTo(ConnectionLimits{Most: 7}) // one stream each
	polly, paul := s.key("default", "polly", parley.RoleMember), s.key("default", "paul", parley.RoleMember)
	open := func(key string) (net.Conn, func(text, want string)) {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err == nil {
			_, err = io.WriteString(conn, "GET /parrot/v1/take HTTP/1.1\r\nHost: localhost\r\nAuthorization: "+key+
				"\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(conn)
		return conn, func(text, want string) {
			t.Helper()
			if _, err := io.WriteString(conn, text+"\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, want) {
				t.Errorf("%q is answered with %q (%v), want %q", text, line, err, want)
			}
		}
	}
	conn, say := open(polly)
	say(`"hello"`, `200 {"by":"polly","heard":"hello"}`)
	say(`"hush"`, `400 {"at":"word"`)
	say(`"wait"`, `200 6 heard`) // it counts with its connection
	beside := func() int { return s.do("POST", "/parrot/v1/wait", `"hello"`, "Authorization", polly).status }
	if status := beside(); status != http.StatusTooManyRequests {
		t.Errorf("a stream beside it: status %d, want 429", status)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	for beside() != http.StatusOK { // the server has yet to notice
	}

	conn, say = open(paul)
	defer func() { _ = conn.Close() }()
	say(`"hello"`, `200 {"by":"paul"`)
	var keys struct{ Data []parley.Key }
	if err := json.Unmarshal(
		s.do("GET", "/v1/keys", "", "Authorization", "Bearer "+testToken).body,
		&keys,
	); err != nil {
		t.Fatal(err)
	}
	for i := range keys.Data {
		if key := &keys.Data[i]; key.Name == "paul" {
			got := s.do("DELETE", "/v1/keys/"+key.ID.String(), "", "Authorization", "Bearer "+testToken)
			if got.status/100 != 2 {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
		}
	}
	say(`"hello"`, "401 {")
}

// A page of another origin uses the server only if the setting names its origin exactly, and only with a key in a
// header.
func TestOriginsThatAreAllowed(t *testing.T) {
	t.Parallel()
	s := startServer(t, withParrot)
	const allowed = "https://chat.example.org"
	// Before the first key the connection itself lets the server's own user in, but no page of another origin.
	if got := s.do("GET", "/v1/sessions", "", "Origin", allowed); got.status != http.StatusUnauthorized {
		t.Errorf("an allowed page without a key, while none exists: status %d: %s", got.status, got.body)
	}
	key := s.key("default", "polly", parley.RoleMember)
	signed := s.do("POST", "/v1/sign-in", `{"key":"`+strings.TrimPrefix(key, "Bearer ")+`"}`)
	cookie, _, _ := strings.Cut(signed.header.Get("Set-Cookie"), ";")
	if signed.status/100 != 2 || cookie == "" {
		t.Fatalf("signing in: status %d: %s", signed.status, signed.body)
	}
	if got := s.do("GET", "/v1/sessions", "", "Cookie", cookie); got.status != 200 {
		t.Fatalf("the cookie does not work at all: %d", got.status)
	}
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		may     string // Access-Control-Allow-Origin
	}{
		{"a key", []string{"Origin", allowed, "Authorization", key}, 200, allowed},
		{"a key, and the browser's word", []string{
			"Origin", allowed, "Authorization", key, "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors",
		}, 200, allowed},
		{"a cookie", []string{"Origin", allowed, "Cookie", cookie}, 401, allowed},
		{"another port", []string{"Origin", allowed + ":8443", "Authorization", key}, 403, ""},
		{"another scheme", []string{"Origin", "http://chat.example.org", "Authorization", key}, 403, ""},
		{"a longer name", []string{"Origin", allowed + ".evil.example", "Authorization", key}, 403, ""},
		{"no origin", []string{"Origin", "null", "Authorization", key}, 403, ""},
		{"none said, another site", []string{"Sec-Fetch-Site", "cross-site", "Authorization", key}, 403, ""},
	} {
		got := s.do("GET", "/v1/sessions", "", c.headers...)
		if got.status != c.status || got.header.Get("Access-Control-Allow-Origin") != c.may {
			t.Errorf("%s: status %d for %q, want %d for %q: %s", c.name, got.status,
				got.header.Get("Access-Control-Allow-Origin"), c.status, c.may, got.body)
		}
		if got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: cookies of other origins are invited", c.name)
		}
	}
	got := s.do("POST", "/v1/sign-in", `{"key":"`+strings.TrimPrefix(key, "Bearer ")+`"}`, "Origin", allowed)
	if got.status != http.StatusForbidden || got.header.Get("Set-Cookie") != "" {
		t.Errorf("a page of another origin signs in: status %d: %s", got.status, got.body)
	}
	preflight := []string{preflightRequest, "POST", askedHeaders, "authorization,content-type,x-stainless-os,b@d"}
	answer := s.do("OPTIONS", "/parrot/v1/say/it", "", append(preflight, "Origin", allowed)...)
	if answer.status != http.StatusNoContent || answer.header.Get("Access-Control-Allow-Origin") != allowed ||
		answer.header.Get("Access-Control-Allow-Headers") != "authorization, content-type, x-stainless-os" ||
		!strings.Contains(answer.header.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(answer.header.Get("Access-Control-Expose-Headers"), "x-parrot") {
		t.Errorf("a preflight: status %d, %v", answer.status, answer.header)
	}
	answer = s.do("OPTIONS", "/parrot/v1/say/it", "", append(preflight, "Origin", "https://evil.example")...)
	if answer.status != http.StatusForbidden || answer.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin's preflight: status %d, %v", answer.status, answer.header)
	}
}

// Without the setting no page of another origin may do anything, with a key neither.
func TestNoOriginIsAllowedByDefault(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	key := s.key("default", "polly", parley.RoleMember)
	for _, method := range []string{"GET", "OPTIONS"} {
		got := s.do(method, "/v1/sessions", "", "Origin", "https://chat.example.org", "Authorization", key,
			preflightRequest, "GET")
		if got.status != http.StatusForbidden || got.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: status %d, %v", method, got.status, got.header)
		}
	}
}

// What a protocol reads counts like what is sent: it is refused where there is no room, and given back once.
func TestMountsHoldMemoryWithinBounds(t *testing.T) {
	t.Parallel()
	s := startServer(t, withParrot)
	key := s.key("default", "polly", parley.RoleMember)
	for range 2 {
		response := s.do("GET", "/parrot/v1/hold", "", "Authorization", key)
		if response.status != http.StatusOK {
			t.Errorf("it is answered %d: %s", response.status, response.body)
		}
	}
}
