package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/tool/mcp"
)

// oddTools is a list of tools as no server should give it.
const oddTools = `{"tools":[
	{"name":"good","description":"Good.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},
	{"name":"hints","description":"Kept.","inputSchema":{"type":"object"},
		"annotations":{"readOnlyHint":"yes","destructiveHint":false,"openWorldHint":false}},
	{"name":"text","inputSchema":{"type":"object"},"annotations":"none"},
	{"name":"members","description":5,"title":["x"],"_meta":"x","icons":{},"inputSchema":{"type":"object"}},
	{"name":7,"inputSchema":{"type":"object"}}, null, "tool",
	{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}},
	{"name":"bare","inputSchema":"none"}]}`

// oddAnswer answers one request of the protocol; "" for what needs no answer.
func oddAnswer(raw []byte) string {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(raw, &request) != nil || request.ID == nil {
		return ""
	}
	result := "null"
	switch request.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
			`"serverInfo":{"name":"odd","version":"1"}}`
	case "tools/list":
		result = strings.ReplaceAll(oddTools, "\n", " ")
	case "tools/call":
		var call struct {
			Params struct {
				Arguments struct{ Content json.RawMessage }
			}
		}
		if json.Unmarshal(raw, &call) == nil {
			result = fmt.Sprintf(`{"content":%s}`, call.Params.Arguments.Content)
		}
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, request.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result)
}

// oddChild is a stdio server that answers so.
func oddChild() error {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		if answer := oddAnswer(lines.Bytes()); answer != "" {
			fmt.Println(answer)
		}
	}
	return lines.Err()
}

// oddServer is one over HTTP, with answers as JSON or as events.
func oddServer(t *testing.T, events bool) mcp.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		answer := oddAnswer(raw)
		switch {
		case err != nil || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case answer == "":
			w.WriteHeader(http.StatusAccepted)
		case events:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", answer)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	name := "body"
	if events {
		name = "events"
	}
	return mcp.Server{Name: name, URL: server.URL, AllowPrivate: true}
}

// TestOneOddToolCostsOnlyItself: what a list says wrongly of one tool is ignored, for the worse where it is about
// danger, and the other tools are there, over every transport.
func TestOneOddToolCostsOnlyItself(t *testing.T) {
	t.Parallel()
	log := &lockedLog{}
	source, err := mcp.Open(
		[]mcp.Server{childServer(t, "stdio", "odd"), oddServer(t, false), oddServer(t, true)},
		mcp.Options{Log: slog.New(slog.NewTextHandler(log, nil))},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	source.Await(t.Context())
	want := map[string]parley.ToolAnnotations{
		"good":    {ReadOnly: true, OpenWorld: true},
		"hints":   {},
		"text":    {Destructive: true, OpenWorld: true},
		"members": {Destructive: true, OpenWorld: true},
	}
	for _, server := range []string{"stdio", "body", "events"} {
		got := map[string]parley.ToolAnnotations{}
		for _, one := range source.Tools() {
			if name, ok := strings.CutPrefix(one.Definition().Name, server+"__"); ok {
				got[name] = one.Annotations()
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", server, diff)
		}
	}
	if one, ok := source.Tool("body__hints"); !ok || one.Definition().Description != "Kept." {
		t.Error("a tool lost more than its annotation")
	}
	for _, said := range []string{"tool=hints member=annotations", "tool=members member=icons", `tool="" member=name`} {
		if strings.Count(log.String(), said) != 3 {
			t.Errorf("the log does not say %s of each server:\n%s", said, log)
		}
	}
	if faults := source.Faults(); len(faults) != 6 || faults[0].Name != "body__bare" ||
		faults[1].Name != "body__slow" || !strings.Contains(faults[1].Reason, "only as a task") {
		t.Errorf("faults: %v", faults)
	}
}

// TestAnUnreadableResultIsNamedSo: the model is told that the call ran, not that the connection broke, and the server
// stays connected.
func TestAnUnreadableResultIsNamedSo(t *testing.T) {
	t.Parallel()
	source := open(t, childServer(t, "stdio", "odd"), oddServer(t, false), oddServer(t, true))
	for _, server := range []string{"stdio", "body", "events"} {
		for _, content := range []string{
			`"a text"`, `[{"type":"of the future"}]`, `[{"type":"image","mimeType":"image/png","data":"!"}]`,
		} {
			_, err := call(t.Context(), t, source, server+"__good", `{"content":`+content+`}`)
			if err == nil || !strings.Contains(err.Error(), "ran the call, but its result") {
				t.Errorf("%s answers %s: %v", server, content, err)
			}
		}
		got, err := call(t.Context(), t, source, server+"__good", `{"content":[{"type":"text","text":"fine"}]}`)
		if err != nil || got != `"fine"` {
			t.Errorf("%s: %s, %v", server, got, err)
		}
	}
	if faults := source.Faults(); len(faults) != 6 {
		t.Errorf("faults: %v", faults)
	}
}
