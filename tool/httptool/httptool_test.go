package httptool_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/tool"
	"example.org/parley/tool/httptool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// one makes a source with one tool and returns the tool.
func one(t *testing.T, config httptool.Config) tool.Tool {
	t.Helper()
	if config.Name == "" {
		config.Name, config.Description = "ask", "Asks."
	}
	source, err := httptool.New([]httptool.Config{config})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	tool, ok := source.Tool(config.Name)
	if !ok {
		t.Fatal("the tool is missing")
	}
	return tool
}

func call(t *testing.T, found tool.Tool, arguments string) (string, error) {
	t.Helper()
	got, err := found.Call(t.Context(), tool.Call{Arguments: json.RawMessage(arguments)})
	if len(got.Pieces) == 1 && got.JSON == nil {
		return got.Pieces[0].Name + ":" + string(got.Pieces[0].Data), err
	}
	return string(got.JSON), err
}

// mirror answers with the request that it got.
func mirror(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"), body)
	}))
	t.Cleanup(server.Close)
	return server
}

const anyObject = `{"type":"object","properties":{"id":{},"lang":{}}}`

func TestRequests(t *testing.T) {
	server := mirror(t)
	for _, c := range []struct{ method, url, schema, arguments, want string }{
		{"", "/users/{id}", "", `{"id":"a b/c?d"}`, "GET /users/a%20b%2Fc%3Fd  "},
		{"", "/users/{id}?lang={lang}", anyObject, `{"id":7,"lang":"a&b=c"}`, "GET /users/7?lang=a%26b%3Dc  "},
		{"", "/search", anyObject, `{"q":"x y","n":2,"on":true,"no":null,"list":["a",1],"deep":{"k":1}}`,
			"GET /search?deep=%7B%22k%22%3A1%7D&list=a&list=1&n=2&on=true&q=x+y  "},
		{"", "/search?fixed=1", anyObject, `{"q":"x"}`, "GET /search?fixed=1&q=x  "},
		{"POST", "/users/{id}", anyObject, `{"id":"7","name":"Ada","age":36}`,
			`POST /users/7 application/json {"age":36,"name":"Ada"}`},
		{"post", "/users", anyObject, `{}`, "POST /users  "},
		{"DELETE", "/users/{id}", "", `{"id":"7"}`, "DELETE /users/7  "},
	} {
		t.Run(c.method+" "+c.url, func(t *testing.T) {
			config := httptool.Config{Method: c.method, URL: server.URL + c.url, AllowPrivate: true}
			if c.schema != "" {
				config.Parameters = json.RawMessage(c.schema)
			}
			got, err := call(t, one(t, config), c.arguments)
			want, _ := json.Marshal(map[string]any{"status": 200, "body": c.want})
			if canonical, _ := parley.CanonicalJSON(
				[]byte(got),
			); err != nil ||
				string(canonical) != strings.ReplaceAll(string(want), `\u0026`, "&") {
				t.Errorf("got %s, %v\nwant %s", got, err, want)
			}
		})
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	server := mirror(t)
	for _, c := range []struct{ url, schema, arguments, says string }{
		{"/u/{id}", "", `{}`, "schema"},
		{"/u/{id}", "", `{"id":7}`, "schema"},
		{"/u/{id}", anyObject, `{"id":""}`, "is empty"},
		{"/u/{id}", anyObject, `{}`, "is empty"},
		{"/u/{id}", anyObject, `{"id":{"a":1}}`, "must be a string"},
		{"/u/{id}/x", anyObject, `{"id":".."}`, ". or .."},
		{"/u/.{id}/x", anyObject, `{"id":"."}`, ". or .."},
		{"/u/{id}", anyObject, `[]`, "not a JSON object"},
	} {
		tool := one(
			t,
			httptool.Config{URL: server.URL + c.url, Parameters: json.RawMessage(c.schema), AllowPrivate: true},
		)
		if _, err := call(t, tool, c.arguments); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s with %s: %v", c.url, c.arguments, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	const secret = "sk-very-secret-1234"
	hangs := make(chan struct{})
	mux := http.NewServeMux()
	answers := func(path, contentType, body string, status int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	answers("/json", "application/json", `{"b":1,"a":[2]}`, http.StatusOK)
	answers("/problem", "application/problem+json", `{"a":1}`, http.StatusCreated)
	answers("/broken", "application/json", `{"a":`, http.StatusOK)
	answers("/nothing", "text/plain", "", http.StatusNoContent)
	answers("/binary", "image/png", "\x89PNG\x00\xff", http.StatusOK)
	answers("/a/chart.png", "image/png", "\x89PNG\x00\xff", http.StatusOK)
	answers("/missing", "text/plain", "no such user, "+secret, http.StatusNotFound)
	answers("/tells", "text/plain", "you sent Bearer "+secret, http.StatusOK)
	answers("/large", "text/plain", strings.Repeat("x", 101), http.StatusOK)
	answers("/fits", "text/plain", strings.Repeat("x", 100), http.StatusOK)
	mux.HandleFunc("/hangs", func(http.ResponseWriter, *http.Request) { <-hangs })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(hangs) }) // before the server, which waits for it
	for _, c := range []struct{ path, want, fails string }{
		{"/json", `{"status":200,"body":{"b":1,"a":[2]}}`, ""},
		{"/problem", `{"status":201,"body":{"a":1}}`, ""},
		{"/broken", `{"status":200,"body":"{\"a\":"}`, ""},
		{"/nothing", `{"status":204,"body":null}`, ""},
		{"/binary", ":\x89PNG\x00\xff", ""},
		{"/a/chart.png", "chart.png:\x89PNG\x00\xff", ""},
		{"/missing", "", "404 Not Found: no such user, [redacted]"},
		{"/tells", `{"status":200,"body":"you sent Bearer [redacted]"}`, ""},
		{"/large", "", "larger than the 100 bytes"},
		{"/fits", `{"status":200,"body":"` + strings.Repeat("x", 100) + `"}`, ""},
		{"/hangs", "", "did not answer within 50ms"},
	} {
		tool := one(
			t,
			httptool.Config{URL: server.URL + c.path, MaxBytes: 100, Timeout: 50 * time.Millisecond, AllowPrivate: true,
				Secrets: http.Header{"Authorization": {"Bearer " + secret}}},
		)
		got, err := call(t, tool, `{}`)
		switch {
		case c.fails == "" && (err != nil || got != c.want):
			t.Errorf("%s: got %s, %v; want %s", c.path, got, err, c.want)
		case c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails) ||
			strings.Contains(err.Error(), secret)):
			t.Errorf("%s: got %s, %v; want an error with %q", c.path, got, err, c.fails)
		}
	}
}

// TestPrivateNetworksAreRefused: directly, and as the target of a public address's redirect.
func TestPrivateNetworksAreRefused(t *testing.T) {
	server := mirror(t)
	_, err := call(t, one(t, httptool.Config{URL: server.URL + "/"}), `{}`)
	if parley.ErrorCode(err) != parley.CodeForbidden || !strings.Contains(err.Error(), "allow_private") {
		t.Errorf("got %v", err)
	}
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	fine := httptool.Config{Name: "ask", Description: "Asks.", URL: "https://example.com/{id}"}
	for says, breaks := range map[string]func(*httptool.Config){
		"name: use":              func(c *httptool.Config) { c.Name = "a b" },
		"description: is":        func(c *httptool.Config) { c.Description = " " },
		"method: ":               func(c *httptool.Config) { c.Method = "CONNECT" },
		"not a server's address": func(c *httptool.Config) { c.URL = "http://:80/" },
		"is not a URL":           func(c *httptool.Config) { c.URL = "example.com" },
		"write http://":          func(c *httptool.Config) { c.URL = "ftp://example.com/" },
		"without arguments":      func(c *httptool.Config) { c.URL = "https://{id}.example.com/" },
		"secret_headers":         func(c *httptool.Config) { c.URL = "https://me:pw@example.com/" },
		"fragment":               func(c *httptool.Config) { c.URL = "https://example.com/#x" },
		"written as {name}":      func(c *httptool.Config) { c.URL = "https://example.com/{id" },
		"a } is missing":         func(c *httptool.Config) { c.URL = "https://example.com/id}" },
		"type object": func(c *httptool.Config) {
			c.Parameters = json.RawMessage(`{"type":"string"}`)
		},
		"not a property of the schema": func(c *httptool.Config) {
			c.Parameters = json.RawMessage(`{"type":"object"}`)
		},
		"cannot be used": func(c *httptool.Config) {
			c.Parameters = json.RawMessage(`{"type":"object",` +
				`"properties":{"id":{"$ref":"https://example.com/schema"}}}`)
		},
		"timeout: ":   func(c *httptool.Config) { c.Timeout = time.Hour },
		"max_bytes: ": func(c *httptool.Config) { c.MaxBytes = 1 << 30 },
	} {
		config := fine
		breaks(&config)
		if _, err := httptool.New(
			[]httptool.Config{config},
		); parley.ErrorCode(err) != parley.CodeInvalid ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("want %q, got %v", says, err)
		}
	}
	if _, err := httptool.New([]httptool.Config{fine, fine}); parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("two of one name: %v", err)
	}
}

func TestAnnotationsFollowTheMethod(t *testing.T) {
	for method, want := range map[string]parley.ToolAnnotations{
		"GET":    {ReadOnly: true, Idempotent: true, OpenWorld: true},
		"PUT":    {Idempotent: true, Destructive: true, OpenWorld: true},
		"DELETE": {Idempotent: true, Destructive: true, OpenWorld: true},
		"POST":   {Destructive: true, OpenWorld: true},
	} {
		if got := one(t, httptool.Config{Method: method, URL: "https://example.com/"}).Annotations(); got != want {
			t.Errorf("%s: %+v", method, got)
		}
	}
	own := parley.AnnotationsOverride{ReadOnly: new(true), Destructive: new(false)}
	want := parley.ToolAnnotations{ReadOnly: true, OpenWorld: true}
	if got := one(
		t,
		httptool.Config{Method: "POST", URL: "https://example.com/", Annotations: own},
	).Annotations(); got != want {
		t.Errorf("configured: %+v", got)
	}
}

// An endpoint learns which call it serves, the same for each attempt; another host that it redirects to does not.
func TestEndpointsCanTellARepetition(t *testing.T) {
	names := []string{"Idempotency-Key", "Parley-Call-Id", "Parley-Session-Id", "Traceparent"}
	told := func(r *http.Request) string {
		var values []string
		for _, name := range names {
			values = append(values, r.Header.Get(name))
		}
		return strings.Join(values, " ")
	}
	elsewhere := "nobody asked"
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere = told(r) }))
	defer other.Close()
	var own []string
	mux := http.NewServeMux()
	mux.HandleFunc("/act", func(_ http.ResponseWriter, r *http.Request) { own = append(own, told(r)) })
	mux.HandleFunc("/away", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	exact := tool.Call{
		MessageID: parley.NewID(), SessionID: parley.NewID(), ID: "call_1", Arguments: json.RawMessage(`{}`),
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	for _, path := range []string{"/act", "/act", "/away"} {
		tool := one(t, httptool.Config{URL: server.URL + path, Method: "PUT", AllowPrivate: true})
		if _, err := tool.Call(t.Context(), exact); err != nil {
			t.Fatal(err)
		}
	}
	want := fmt.Sprintf("%s call_1 %s %s", exact.MessageID, exact.SessionID, exact.TraceParent)
	if len(own) != 2 || own[0] != want || own[1] != want {
		t.Errorf("the endpoint got %q, want %q", own, want)
	}
	if strings.TrimSpace(elsewhere) != "" {
		t.Errorf("another host got %q", elsewhere)
	}
}
