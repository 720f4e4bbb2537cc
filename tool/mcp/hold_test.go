package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

var errFull = errors.New("there is no room for this answer")

// small is a room for so many bytes, which tells what was asked of it.
func small(room int64, asked *atomic.Int64) func(int64) error {
	return func(bytes int64) error {
		if asked.Add(bytes) > room {
			return errFull
		}
		return nil
	}
}

// callHolding calls a tool whose answer has little room.
func callHolding(t *testing.T, source *mcp.Source, name string, room int64) (int64, error) {
	t.Helper()
	one, ok := source.Tool(name)
	if !ok {
		t.Fatalf("there is no tool %s, only %v", name, names(source))
	}
	var asked atomic.Int64
	_, err := one.Call(t.Context(), tool.Call{ID: "call_1", Arguments: []byte(`{}`), Hold: small(room, &asked)})
	return asked.Load(), err
}

// grown is JSON of a few bytes for each value, which takes far more once it is decoded.
func grown(bytes int) string { return `{"a":[` + strings.Repeat(`{"":0},`, bytes/7) + `0]}` }

// TestAnswersThatGrow: an answer counts what it takes decoded, before it is; one for which
// there is no room costs its call alone. Over HTTP as a message and as an event, and over
// stdio.
func TestAnswersThatGrow(t *testing.T) {
	t.Parallel()
	const text, room = 200 << 10, 4 << 20
	for _, way := range []string{"message", "event"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var grows atomic.Bool
			url := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if !grows.Load() || r.Method != http.MethodPost {
						next.ServeHTTP(w, r)
						return
					}
					body, _ := io.ReadAll(r.Body) // a request of ours
					var request struct{ ID json.RawMessage }
					_ = json.Unmarshal(body, &request) // as above
					answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":%s}}`,
						request.ID, grown(text))
					if way == "event" {
						w.Header().Set("Content-Type", "text/event-stream")
						answer = "data: " + answer + "\n\n"
					} else {
						w.Header().Set("Content-Type", "application/json")
					}
					_, _ = io.WriteString(w, answer)
				})
			})
			source := open(t, mcp.Server{Name: "web", URL: url, AllowPrivate: true})
			grows.Store(true)
			if asked, err := callHolding(t, source, "web__pid", room); err == nil || asked <= room {
				t.Errorf("without room: %v; %d bytes were asked for", err, asked)
			}
			if asked, err := callHolding(t, source, "web__pid", 1<<30); err != nil || asked < 100*text/7 {
				t.Errorf("with room: %v; %d bytes were asked for", err, asked)
			}
			grows.Store(false)
			if got, err := call(
				t.Context(),
				t,
				source,
				"web__echo",
				`{"text":"hello"}`,
			); err != nil ||
				got != `"hello"` {
				t.Errorf("the next call: %s, %v", got, err)
			}
		})
	}
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		source := open(t, childServer(t, "zoo", "grows"))
		before, err := call(t.Context(), t, source, "zoo__pid", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		if asked, err := callHolding(t, source, "zoo__grow", room); err == nil || err.Error() != errFull.Error() {
			t.Errorf("without room: %v; %d bytes were asked for", err, asked)
		}
		if asked, err := callHolding(t, source, "zoo__grow", 1<<30); err != nil || asked < 100*text/7 {
			t.Errorf("with room: %v; %d bytes were asked for", err, asked)
		}
		if after, err := call(t.Context(), t, source, "zoo__pid", `{}`); err != nil || after != before {
			t.Errorf("the server is %s after %s, %v", after, before, err)
		}
	})
}

// addGrow adds a tool whose answer grows.
func addGrow(server *sdk.Server) {
	server.AddTool(
		&sdk.Tool{Name: "grow", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{StructuredContent: json.RawMessage(grown(200 << 10))}, nil
		},
	)
}

// TestListsThatGrow: a list that takes more than all lists may is not decoded; others are
// there.
func TestListsThatGrow(t *testing.T) {
	t.Parallel()
	long := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // a request of ours
			var request struct {
				ID     json.RawMessage
				Method string
			}
			if json.Unmarshal(body, &request) == nil && request.Method == "tools/list" {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"x","inputSchema":`+
					`{"type":"object"},"_meta":%s}]}}`, request.ID, grown(1<<20))
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(w, r)
		})
	})
	source := open(t, mcp.Server{Name: "long", URL: long, AllowPrivate: true},
		mcp.Server{Name: "web", URL: serve(t, newServer(), nil, nil), AllowPrivate: true})
	for _, name := range names(source) {
		if strings.HasPrefix(name, "long__") {
			t.Errorf("%s is there", name)
		}
	}
	if _, ok := source.Tool("web__echo"); !ok {
		t.Errorf("of another server there is only %v", names(source))
	}
}
