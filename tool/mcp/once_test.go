package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/tool/mcp"
)

// forgetful is a server that runs calls and then forgets its sessions.
type forgetful struct {
	ran     atomic.Int64
	began   chan struct{} // closed when the first call runs
	answer  func(f *forgetful, w http.ResponseWriter, r *http.Request, id string)
	missing atomic.Bool // all of its sessions
}

// ServeHTTP implements http.Handler.
func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // none, or a request of ours
	var request struct {
		ID     json.RawMessage
		Method string
	}
	_ = json.Unmarshal(body, &request) // as above
	var result string
	switch {
	case request.Method == "initialize":
		f.missing.Store(false)
		w.Header().Set("Mcp-Session-Id", "one")
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"f","version":"1"}}`
	case r.Method == http.MethodDelete:
		return
	case f.missing.Load():
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method == http.MethodGet && r.Header.Get("Last-Event-Id") == "":
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case request.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	case request.Method == "tools/list":
		result = `{"tools":[{"name":"pay","inputSchema":{"type":"object"}}]}`
	case request.Method == "tools/call":
		if f.ran.Add(1) > 1 {
			result = `{"content":[{"type":"text","text":"paid again"}]}`
			break
		}
		close(f.began)
		f.answer(f, w, r, string(request.ID))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
}

// primed begins an answer that could be resumed.
func primed(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, "id: 1\nretry: 1\ndata:\n\n")
	_ = http.NewResponseController(w).Flush()
}

// TestCallsThatMayHaveRunAreNotRepeated: however a server ends the session of a call that it has received, the call is
// sent once, and the model hears that its effect is unknown.
func TestCallsThatMayHaveRunAreNotRepeated(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(*forgetful, http.ResponseWriter, *http.Request, string){
		"its answer cannot be resumed": func(f *forgetful, w http.ResponseWriter, _ *http.Request, _ string) {
			f.missing.Store(true)
			primed(w)
		},
		"another request finds no session": func(f *forgetful, w http.ResponseWriter, r *http.Request, _ string) {
			primed(w)
			<-r.Context().Done()
		},
		"it says that it is closing": func(_ *forgetful, w http.ResponseWriter, _ *http.Request, id string) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"closing"}}`, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &forgetful{answer: answer, began: make(chan struct{})}
			web := httptest.NewServer(server)
			t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
			source := open(t, mcp.Server{Name: "bank", URL: web.URL, AllowPrivate: true, Protocol: "2025-11-25"})
			calls := 1
			other := make(chan error, 1)
			if strings.HasPrefix(name, "another") {
				calls = 2 // the other one is sent again, because its session was missing
				go func() {
					<-server.began
					server.missing.Store(true)
					_, err := call(t.Context(), t, source, "bank__pay", `{}`)
					other <- err
				}()
			} else {
				other <- nil
			}
			got, err := call(t.Context(), t, source, "bank__pay", `{}`)
			if parley.ErrorCode(err) != parley.CodeUnavailable || !strings.Contains(err.Error(), "unknown") {
				t.Errorf("the call came to %q, %v", got, err)
			}
			if err := <-other; err != nil {
				t.Errorf("the other call: %v", err)
			}
			if ran := server.ran.Load(); ran != int64(calls) {
				t.Errorf("the server ran %d calls, want %d", ran, calls)
			}
		})
	}
}
