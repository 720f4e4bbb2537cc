package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// bridged is what `parley mcp` writes to a client that says lines and leaves.
func bridged(t *testing.T, url, lines string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), turnTime)
	defer stop()
	var out, said bytes.Buffer
	code := run(ctx, []string{"mcp", "--url", url, "--key", "pk_x", "--data", t.TempDir()},
		terminal{in: strings.NewReader(lines), out: &out, err: &said})
	if code != 0 || said.Len() > 0 {
		t.Errorf("it ends with %d and says %q", code, &said)
	}
	return out.String()
}

// TestMCPBridge: each request gets one answer with its own id, whatever becomes of the server, and nothing else is
// written.
func TestMCPBridge(t *testing.T) {
	t.Parallel()
	const ask = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}` + "\n"
	const stream, plain = "text/event-stream", "application/json"
	for _, c := range []struct {
		name, lines      string
		status           int
		kind, body, want string
	}{
		{"an answer", ask, 200, plain, `{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"result":{}}`},
		{
			"a stream", ask, 200, stream, ": still here\n\n" +
				"event: message\ndata: {\"method\":\"notifications/progress\"}\n\n" +
				"event: message\ndata: {\"id\":7,\"result\":1}\n\n", `{"method":"notifications/progress"}` + "\n" +
				`{"id":7,"result":1}`,
		},
		{
			"a refusal", ask, 401, plain, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}`,
		},
		{"a stream that is cut", ask, 200, stream, "event: message\n", "What was asked goes on"},
		{"a page of a proxy", ask, 502, "text/html", "<html>", "What was asked goes on"},
		{
			"no message", "{\n", 400, plain, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}`,
		},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n\n", 202, "", "", ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer pk_x" || r.URL.Path != "/mcp" {
				t.Errorf("%s: the server is asked for %s with %q", c.name, r.URL, r.Header)
			}
			w.Header().Set("Content-Type", c.kind)
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body) // the client reads all
		}))
		got := bridged(t, server.URL, c.lines)
		server.Close()
		if strings.HasPrefix(c.want, "{") || c.want == "" {
			if strings.TrimSpace(got) != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		} else if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":7,"error":`) || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want an error with %q", c.name, got, c.want)
		}
		if c.lines == ask && strings.Count(got, `"id":7`) != 1 {
			t.Errorf("%s: %q, want one answer", c.name, got)
		}
	}
	if got := bridged(t, "http://127.0.0.1:1", ask); !strings.Contains(got, `"id":7,"error"`) {
		t.Errorf("without a server: %q", got)
	}
}

// TestMCPBridgeRemembers: what initialize agrees on goes with the requests after it; a cancelled request gets no
// answer.
func TestMCPBridgeRemembers(t *testing.T) {
	t.Parallel()
	arrived, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case bytes.Contains(body, []byte("initialize")):
			w.Header().Set("Mcp-Session-Id", "s-form")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}`)
		case bytes.Contains(body, []byte("slow")):
			close(arrived)
			<-r.Context().Done()
			close(gone)
		default:
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":3,"result":"%s %s"}`,
				r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"))
		}
	}))
	defer server.Close()
	in, out := io.Pipe()
	go func() { // ends with the last line
		_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n"+
			`{"jsonrpc":"2.0","id":2,"method":"slow"}`+"\n")
		<-arrived
		_, _ = io.WriteString(out, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n")
		<-gone
		_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":3,"method":"ping"}`+"\n")
		_ = out.Close()
	}()
	var said bytes.Buffer
	ctx, stop := context.WithTimeout(t.Context(), turnTime)
	defer stop()
	code := run(ctx, []string{"mcp", "--url", server.URL, "--data", t.TempDir()},
		terminal{in: in, out: &said, err: io.Discard})
	want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18"}}` + "\n" +
		`{"jsonrpc":"2.0","id":3,"result":"s-form 2025-06-18"}` + "\n"
	if code != 0 || said.String() != want {
		t.Errorf("it ends with %d and says %s, want %s", code, &said, want)
	}
}
