package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"pgregory.net/rapid"

	"example.org/parley/internal/bounded"
	"example.org/parley/tool/mcp"
)

// TestResults: what a model reads of a server's answers.
func TestResults(t *testing.T) {
	t.Parallel()
	size := int64(12)
	cases := map[string]struct {
		result *sdk.CallToolResult
		want   string
		err    string
	}{
		"nothing": {result: &sdk.CallToolResult{}, want: `null`},
		"text":    {result: said("hi \"there\""), want: `"hi \"there\""`},
		"NUL":     {result: said("a\x00b"), want: `"a�b"`},
		"structured": {
			result: &sdk.CallToolResult{StructuredContent: map[string]any{"n": 1, "s": "a\x00"}},
			want:   `{"n":1,"s":"a�"}`,
		},
		"twice": {
			result: &sdk.CallToolResult{
				Content:           said(`{"n": 12345678901234567, "a":[1]}`).Content,
				StructuredContent: json.RawMessage(`{"a":[1],"n":12345678901234567}`),
			},
			want: `{"n":12345678901234567,"a":[1]}`,
		},
		"both": {
			result: &sdk.CallToolResult{Content: said("one").Content, StructuredContent: []int{1}},
			want:   `[{"text":"one","type":"text","Data":null},{"object":[1],"type":"object","Data":null}]`,
		},
		"wrapped": {
			result: &sdk.CallToolResult{
				Content:           said("one").Content,
				StructuredContent: map[string]any{"result": "one"},
			},
			want: `"one"`,
		},
		"wrapped JSON": {
			result: &sdk.CallToolResult{
				Content: said(`{"a":1}`).Content, StructuredContent: map[string]any{"result": map[string]any{"a": 1}},
			},
			want: `{"result":{"a":1}}`,
		},
		"wrapped list": {
			result: &sdk.CallToolResult{
				Content:           append(said("one").Content, said("two").Content...),
				StructuredContent: map[string]any{"result": []string{"one", "two"}},
			},
			want: `[{"text":"one","type":"text","Data":null},{"text":"two","type":"text","Data":null}]`,
		},
		"spelled out": {
			result: &sdk.CallToolResult{
				Content: append(
					said(`{"n":1}`).Content,
					said(`{"n":2}`).Content...),
				StructuredContent: []map[string]int{
					{"n": 1}, {"n": 2},
				},
			},
			want: `[{"n":1},{"n":2}]`,
		},
		"several": {
			result: &sdk.CallToolResult{Content: append(said("one").Content, said("two").Content...)},
			want:   `[{"text":"one","type":"text","Data":null},{"text":"two","type":"text","Data":null}]`,
		},
		"bytes": {result: &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.ImageContent{
				MIMEType: "image/png",
				Data:     []byte("12345"),
			},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("123")},
		}}, want: `[{"type":"file","Data":"MTIzNDU="},{"type":"file","Data":"MTIz"}]`},
		"resources": {result: &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "A"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Blob: []byte("12")}},
			&sdk.ResourceLink{URI: "file:///c", Name: "c", Size: &size},
		}}, want: `[{"type":"link","url":"file:///a","Data":null},{"text":"A","type":"text","Data":null},` +
			`{"name":"b","type":"file","Data":"MTI="},` +
			`{"title":"c","type":"link","url":"file:///c","Data":null}]`},
		"error": {
			result: &sdk.CallToolResult{
				IsError: true,
				Content: append(said("no such file").Content, said("try another").Content...),
			},
			err: "no such file\ntry another",
		},
		"structured error": {
			result: &sdk.CallToolResult{IsError: true, StructuredContent: map[string]any{"code": 7}},
			err:    `{"code":7}`,
		},
		"silent error": {result: &sdk.CallToolResult{IsError: true}, err: "without saying which"},
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "results", Version: "1"}, nil)
	for name, c := range cases {
		server.AddTool(
			&sdk.Tool{Name: strings.ReplaceAll(name, " ", "_"), InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return c.result, nil },
		)
	}
	source := open(t, mcp.Server{Name: "r", URL: serve(t, server, nil, nil), AllowPrivate: true})
	for name, c := range cases {
		got, err := call(t.Context(), t, source, "r__"+strings.ReplaceAll(name, " ", "_"), `{}`)
		if got != c.want || (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %s, %v; want %s%s", name, got, err, c.want, c.err)
		}
	}
}

// TestAnswersOfManyTexts: however many texts a server lists beside as many values, comparing them takes their length in
// time. Looking for each text in all values would take minutes.
func TestAnswersOfManyTexts(t *testing.T) {
	t.Parallel()
	const texts = 150_000
	answer := `{"content":[` + strings.Repeat(`{"type":"text","text":"a"},`, texts-1) + `{"type":"text","text":"a"}],` +
		`"structuredContent":{"list":[` + strings.Repeat(`0,`, texts-1) + `"a"]}}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&request) != nil || request.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"tools":[{"name":"many","inputSchema":{"type":"object"}}]}`
		switch request.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},` +
				`"serverInfo":{"name":"m","version":"1"}}`
		case "tools/call":
			result = answer
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result) // a client that is gone
	}))
	t.Cleanup(web.Close)
	source := open(t, mcp.Server{Name: "m", URL: web.URL, AllowPrivate: true})
	answered := make(chan error, 1)
	go func() { // ends with the call
		_, err := call(t.Context(), t, source, "m__many", `{}`)
		answered <- err
	}()
	if err := bounded.Receive(t, answered, "an answer of many texts"); err != nil {
		t.Error(err)
	}
}

// TestNames: every name is accepted by providers, contains its server, and is unique.
func TestNames(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{ // these never change: agents use them
		"read_file": "fs__read_file", "a.b": "fs__a_b_77f1ecd1", "": "fs___7d39bcb4",
		"ünï": "fs___n__4a588769", strings.Repeat("x",
			70): "fs__xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_b60befb4",
	} {
		if got := mcp.ToolName("fs", tool); got != want {
			t.Errorf("%q is named %s; want %s", tool, got, want)
		}
	}
	fit := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		server := rapid.StringMatching(`[a-zA-Z0-9]([a-zA-Z0-9-]|_[a-zA-Z0-9]){0,14}`).Draw(t, "server")
		tools := rapid.SliceOfDistinct(rapid.OneOf(rapid.StringMatching(`[a-z_.\-/ ]{0,6}`), rapid.StringN(0, 200, -1)),
			rapid.ID[string]).
			Draw(t, "tools")
		seen := map[string]string{}
		for _, tool := range tools {
			name := mcp.ToolName(server, tool)
			if !fit.MatchString(name) || !strings.HasPrefix(name, server+"__") {
				t.Fatalf("%q of %q is named %q", tool, server, name)
			}
			if other, taken := seen[name]; taken {
				t.Fatalf("%q and %q are both named %q", tool, other, name)
			}
			seen[name] = tool
		}
	})
}
