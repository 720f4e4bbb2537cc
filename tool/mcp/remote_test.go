package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

// serve serves a server over streamable HTTP, behind a handler if given.
func serve(
	t *testing.T,
	server *sdk.Server,
	options *sdk.StreamableHTTPOptions,
	around func(http.Handler) http.Handler,
) (url string) {
	t.Helper()
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
	if around != nil {
		handler = around(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		forget(server)
	})
	return web.URL
}

// forget ends sessions that nobody has deleted.
func forget(server *sdk.Server) {
	for session := range server.Sessions() {
		_ = session.Close()
	}
}

// until waits for an effect of another goroutine.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("it did not come to %s", what)
		case <-tick.C:
		}
	}
}

// TestVersionsOfTheProtocol: both sides use the newest common version over HTTP, and each version follows a changed
// list.
func TestVersionsOfTheProtocol(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := newServer()
			log := &lockedLog{}
			source, err := mcp.Open(
				[]mcp.Server{
					{
						Name: "web",
						URL: serve(
							t,
							server,
							&sdk.StreamableHTTPOptions{Stateless: version == "2026-07-28"},
							nil,
						),
						AllowPrivate: true,
						Protocol:     version,
					},
				},
				mcp.Options{Log: slog.New(slog.NewTextHandler(log, nil))},
			)
			if err != nil {
				t.Fatal(err)
			}
			defer source.Close()
			source.Await(t.Context())
			if got, err := call(
				t.Context(),
				t,
				source,
				"web__echo",
				`{"text":"hello"}`,
			); err != nil ||
				got != `"hello"` {
				t.Errorf("%s, %v", got, err)
			}
			until(
				t,
				"the protocol in the log",
				func() bool { return strings.Contains(log.String(), "protocol="+version) },
			)
			sdk.AddTool(
				server,
				&sdk.Tool{Name: "added"},
				func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
					return said("new"), nil, nil
				},
			)
			until(t, "the new tool", func() bool { return slices.Contains(names(source), "web__added") })
			server.RemoveTools("added", "echo")
			until(
				t,
				"the tools without those removed",
				func() bool { return !slices.Contains(names(source), "web__echo") },
			)
			if !slices.IsSorted(names(source)) {
				t.Errorf("the order is %v", names(source))
			}
		})
	}
}

// TestErrorsAreBounded: an error that says it is a stream of events is read no further than any other answer.
func TestErrorsAreBounded(t *testing.T) {
	t.Parallel()
	const whole = 4 * mcp.MaxMessageBytes
	var sent atomic.Int64
	url := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // a request of ours
			if !strings.Contains(string(body), `"tools/call"`) {
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusBadRequest)
			for piece := make([]byte, 1<<20); sent.Load() < whole; {
				n, err := w.Write(piece)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		})
	})
	source, err := mcp.Open([]mcp.Server{{Name: "web", URL: url, AllowPrivate: true}}, mcp.Options{
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	source.Await(t.Context())
	if got, err := call(t.Context(), t, source, "web__echo", `{"text":"hello"}`); err == nil {
		t.Errorf("the call answers %s", got)
	}
	if n := sent.Load(); n == 0 || n >= whole {
		t.Errorf("%d bytes of %d were taken", n, whole)
	}
}

// TestPrivateAddressesNeedLeave is failure 56: a URL that leads into private networks is not connected to, and its
// server is never contacted.
func TestPrivateAddressesNeedLeave(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { asked.Add(1); next.ServeHTTP(w, r) })
	})
	source := open(t, mcp.Server{Name: "web", URL: url})
	if len(source.Tools()) > 0 || asked.Load() > 0 {
		t.Errorf("a loopback address was asked %d times and offers %v", asked.Load(), names(source))
	}
	if source := open(t, mcp.Server{Name: "web", URL: url, AllowPrivate: true}); len(source.Tools()) == 0 {
		t.Error("private addresses are allowed, but there are no tools")
	}
}

// TestCredentialsStayWithTheirHost is failure 56: headers go with every request to the server, and a redirect to
// another host is not followed.
func TestCredentialsStayWithTheirHost(t *testing.T) {
	t.Parallel()
	var elsewhere, without atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	var away atomic.Bool
	url := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret-key" {
				without.Add(1)
			}
			if away.Load() {
				http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	log := &lockedLog{}
	source, err := mcp.Open(
		[]mcp.Server{
			{Name: "web", URL: url, AllowPrivate: true, Headers: http.Header{"Authorization": {"Bearer s3cret-key"}}},
		},
		mcp.Options{Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	source.Await(t.Context())
	if got, err := call(t.Context(), t, source, "web__echo", `{"text":"hello"}`); err != nil || got != `"hello"` {
		t.Errorf("%s, %v", got, err)
	}
	away.Store(true)
	if got, err := call(t.Context(), t, source, "web__echo", `{"text":"hello"}`); err == nil {
		t.Errorf("a redirected call brought %s", got)
	}
	if elsewhere.Load() > 0 || without.Load() > 0 {
		t.Errorf(
			"another host was asked %d times, the server %d times without its credentials",
			elsewhere.Load(),
			without.Load(),
		)
	}
	if !strings.Contains(log.String(), "redirects to another host") || strings.Contains(log.String(), "s3cret-key") {
		t.Errorf("the log says %s", log)
	}
}

// TestAnswersAreBounded: an endless answer costs its call, not memory.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var flood atomic.Bool
	url := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !flood.Load() || r.Method != http.MethodPost {
				next.ServeHTTP(w, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			piece := []byte(strings.Repeat(" ", 1<<16))
			for range 4 * mcp.MaxMessageBytes / len(piece) {
				if _, err := w.Write(piece); err != nil {
					return
				}
			}
		})
	})
	source := open(t, mcp.Server{Name: "web", URL: url, AllowPrivate: true})
	flood.Store(true)
	if _, err := call(
		t.Context(),
		t,
		source,
		"web__echo",
		`{"text":"hello"}`,
	); parley.ErrorCode(
		err,
	) != parley.CodeUnavailable {
		t.Errorf("the flood came to %v", err)
	}
	flood.Store(false)
	until(t, "a call that is answered again", func() bool {
		got, err := call(t.Context(), t, source, "web__echo", `{"text":"hello"}`)
		return err == nil && got == `"hello"`
	})
}

// TestRestartedServer: a restarted server forgets its sessions, but not even a call is lost.
func TestRestartedServer(t *testing.T) {
	t.Parallel()
	var handler atomic.Pointer[http.Handler]
	fresh := func() {
		server := newServer()
		t.Cleanup(func() { forget(server) })
		var h http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
		handler.Store(&h)
	}
	fresh()
	web := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*handler.Load()).ServeHTTP(w, r) }),
	)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	source := open(t, mcp.Server{Name: "web", URL: web.URL, AllowPrivate: true, Protocol: "2025-11-25"})
	fresh()
	if got, err := call(t.Context(), t, source, "web__echo", `{"text":"hello"}`); err != nil || got != `"hello"` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestRequestsOfServers: requests of servers are refused as the protocol prescribes, and never hang.
func TestRequestsOfServers(t *testing.T) {
	t.Parallel()
	server := newServer()
	for name, ask := range map[string]func(context.Context, *sdk.ServerSession) error{
		"roots": func(ctx context.Context, s *sdk.ServerSession) error {
			_, err := s.ListRoots(ctx, nil) //nolint:staticcheck // present servers still ask
			return err
		},
		"sampling": func(ctx context.Context, s *sdk.ServerSession) error {
			//nolint:staticcheck // as above
			_, err := s.CreateMessage(ctx, &sdk.CreateMessageParams{MaxTokens: 1, Messages: []*sdk.SamplingMessage{}})
			return err
		},
		"elicitation": func(ctx context.Context, s *sdk.ServerSession) error {
			_, err := s.Elicit(ctx, &sdk.ElicitParams{Message: "Your name?",
				RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{}}})
			return err
		},
	} {
		sdk.AddTool(
			server,
			&sdk.Tool{Name: name},
			func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
				return said("%v", ask(ctx, r.Session)), nil, nil
			},
		)
	}
	source := open(
		t,
		mcp.Server{Name: "web", URL: serve(t, server, nil, nil), AllowPrivate: true, Protocol: "2025-11-25"},
	)
	for name, want := range map[string]string{"roots": "method not found", "sampling": "sampling",
		"elicitation": "elicitation"} {
		got, err := call(t.Context(), t, source, "web__"+name, `{}`)
		if err != nil || !strings.Contains(got, want) || strings.Contains(got, "nil") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestListsAreBounded: pages are followed up to a bound.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, &sdk.ServerOptions{PageSize: 50})
	handler := func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return said("ok"), nil }
	for i := range 600 {
		server.AddTool(
			&sdk.Tool{Name: fmt.Sprintf("tool_%03d", i), InputSchema: json.RawMessage(`{"type":"object"}`)},
			handler,
		)
	}
	source := open(t, mcp.Server{Name: "web", URL: serve(t, server, nil, nil), AllowPrivate: true})
	if got := len(source.Tools()); got != mcp.MaxServerTools {
		t.Errorf("%d tools are accepted", got)
	}
}

// TestSchemas: a schema that cannot be read or exceeds a bound removes its tool, with a reported reason; external
// references are never fetched.
func TestSchemas(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int64
	schemas := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		fmt.Fprint(w, `{"type":"object","required":["never"]}`)
	}))
	t.Cleanup(schemas.Close)
	server := sdk.NewServer(&sdk.Implementation{Name: "schemas", Version: "1"}, nil)
	for name, schema := range map[string]string{
		"remote": `{"type":"object","properties":{"x":{"$ref":"` + schemas.URL + `/x.json"}},"$ref":"` + schemas.URL +
			`/all.json"}`,
		"broken": `{"type":"object","properties":{"x":{"pattern":"(?!look)"}}}`,
		"local": `{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"required":["x"],` +
			`"additionalProperties":false,"$defs":{"n":{"type":"integer","minimum":3}}}`,
		"draft7": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object",` +
			`"properties":{"x":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"integer"}}}`,
		"big":  `{"type":"object","description":"` + strings.Repeat("x", mcp.MaxSchemaBytes) + `"}`,
		"self": `{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"allOf":[{"$ref":"#/$defs/a"}]}`,
		"deep": strings.Repeat(`{"type":"object","properties":{"x":`, 40) + `{}` + strings.Repeat(`}}`, 40),
	} {
		server.AddTool(
			&sdk.Tool{Name: name, InputSchema: json.RawMessage(schema)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return said("%s", r.Params.Arguments), nil
			},
		)
	}
	log := &lockedLog{}
	source, err := mcp.Open(
		[]mcp.Server{{Name: "s", URL: serve(t, server, nil, nil), AllowPrivate: true}},
		mcp.Options{Log: slog.New(slog.NewTextHandler(log, nil))},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	source.Await(t.Context())
	if diff := cmp.Diff([]string{"s__draft7", "s__local"}, names(source)); diff != "" {
		t.Error(diff)
	}
	faults := map[string]string{}
	for _, fault := range source.Faults() {
		faults[fault.Name] = fault.Source + ": " + fault.Reason
	}
	for name, part := range map[string]string{
		"s__remote": "refers to another document", "s__broken": "not a regular expression", "s__big": "longer than",
		"s__deep": "nests deeper", "s__self": "refers to itself",
	} {
		if !strings.HasPrefix(faults[name], "mcp/s: ") || !strings.Contains(faults[name], part) {
			t.Errorf("the reason for %s is %q", name, faults[name])
		}
	}
	for _, c := range []struct {
		tool, arguments string
		ok              bool
	}{
		{"s__draft7", `{"x":null}`, true}, {"s__local", `{"x":null}`, false}, {"s__local", `{"x":3}`, true},
		{"s__local", `{"x":2}`, false}, {"s__local", `{}`, false}, {"s__local", `{"x":3,"y":1}`, false},
		{"s__local", `{"x":"3"}`, false},
		{"s__draft7", `{"x":1}`, true}, {"s__draft7", `{"x":"one"}`, false},
	} {
		got, err := call(t.Context(), t, source, c.tool, c.arguments)
		if (err == nil) != c.ok || (c.ok && got != mustQuote(t, c.arguments)) ||
			(!c.ok && parley.ErrorCode(err) != parley.CodeInvalid) {
			t.Errorf("%s(%s): %s, %v", c.tool, c.arguments, got, err)
		}
	}
	if fetched.Load() > 0 {
		t.Error("a schema was fetched")
	}
	text := log.String()
	if strings.Count(text, "left out") != 5 {
		t.Errorf("the log says %s", text)
	}
}

func mustQuote(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// A server learns which call it serves: in _meta over every transport, and in headers over HTTP.
func TestServersCanTellARepetition(t *testing.T) {
	t.Parallel()
	var header atomic.Pointer[http.Header]
	server := sdk.NewServer(&sdk.Implementation{Name: "meta", Version: "1"}, nil)
	server.AddTool(
		&sdk.Tool{Name: "meta", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return said(
				"%v %v %v %v",
				r.Params.Meta["parley/idempotency-key"],
				r.Params.Meta["parley/call-id"],
				r.Params.Meta["parley/session-id"],
				r.Params.Meta["traceparent"],
			), nil
		},
	)
	url := serve(t, server, nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(tool.CallIDHeader) != "" {
				header.Store(&r.Header)
			}
			next.ServeHTTP(w, r)
		})
	})
	source := open(t, mcp.Server{Name: "web", URL: url, AllowPrivate: true})
	one, ok := source.Tool("web__meta")
	if !ok {
		t.Fatal("the tool is missing")
	}
	exact := tool.Call{
		MessageID: parley.NewID(), SessionID: parley.NewID(), ID: "call_1", Arguments: json.RawMessage(`{}`),
		TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	want := fmt.Sprintf("%s call_1 %s %s", exact.MessageID, exact.SessionID, exact.TraceParent)
	for range 2 {
		if got, err := one.Call(t.Context(), exact); err != nil || string(got.JSON) != mustQuote(t, want) {
			t.Errorf("_meta says %s, %v; want %s", got.JSON, err, want)
		}
	}
	got := header.Load()
	if got == nil {
		t.Fatal("no request has the headers")
	}
	for name, value := range exact.Headers() {
		if got.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.Get(name), value)
		}
	}
}
