package mcp

import (
	"encoding/json"
	"log/slog"
	"path"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/internal/inflight"
)

// FuzzServer: whatever a server says of a tool, or answers, becomes a tool or a reason, a result or an error.
func FuzzServer(f *testing.F) {
	f.Add(
		[]byte(
			`{"name":"a b","inputSchema":{"type":"object","properties":{"x":{"$ref":"#"}}},`+
				`"annotations":{"readOnlyHint":true}}`,
		),
		[]byte(`{"content":[{"type":"text","text":"a\u0000"}],"structuredContent":{"a":["\u0000"]}}`),
	)
	f.Add(
		[]byte(`{"name":"","inputSchema":{"$ref":"#"}}`),
		[]byte(
			`{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource",`+
				`"resource":{"uri":"x","blob":"AA=="}}],"isError":true}`,
		),
	)
	f.Add(
		[]byte(`{}`),
		[]byte(
			`{"contents":[null,{"uri":"x","text":"a"},{"uri":"y/..","blob":"AA=="}],"messages":[null,{"role":"user",`+
				`"content":{"type":"text","text":"a"}},{"role":"\u0000","content":{"type":"image","data":"AA=="}}]}`,
		),
	)
	f.Add([]byte(`{}`), []byte("file:///a/../%2f\n?x#y"))
	f.Add([]byte(`{"name":"x","inputSchema":true}`), []byte(`{"content":[]}`))
	f.Fuzz(func(t *testing.T, offer, answer []byte) {
		l := newLink(
			Server{Name: "s"}, Options{Log: slog.New(slog.DiscardHandler)}, inflight.NewBytes(0, 0), func() {},
		)
		var given sdk.Tool
		if json.Unmarshal(offer, &given) == nil {
			made, faults := l.make([]*sdk.Tool{&given})
			if len(made)+len(faults) != 1 {
				t.Errorf("%s gives %d tools and %d faults", offer, len(made), len(faults))
			}
			for _, tool := range made {
				_ = tool.check(t.Context(), answer) // an error is an answer too
			}
		}
		var result sdk.CallToolResult
		var resource sdk.ReadResourceResult
		var prompt sdk.GetPromptResult
		if json.Unmarshal(answer, &resource) == nil {
			if got, err := content(
				contentsOf("x", resource.Contents),
			); err != nil ||
				!json.Valid(got.JSON) && got.Pieces == nil {
				t.Errorf("the resource %s became %s, %v", answer, got.JSON, err)
			}
		}
		if json.Unmarshal(answer, &prompt) == nil {
			if got, err := content(
				messagesOf(prompt.Messages),
			); err != nil ||
				!json.Valid(got.JSON) && got.Pieces == nil {
				t.Errorf("the prompt %s became %s, %v", answer, got.JSON, err)
			}
		}
		if name := fileNameOf(
			string(answer),
		); name == "" || len(name) > maxFileName+len("…") ||
			path.Base(name) != name {
			t.Errorf("%q makes a file named %q", answer, name)
		}
		if json.Unmarshal(answer, &result) != nil {
			return
		}
		if got, err := content(&result); err == nil && got.Pieces == nil && !json.Valid(got.JSON) {
			t.Errorf("%s became %s", answer, got.JSON)
		} else if err != nil && parley.ErrorCode(err) == "" {
			t.Errorf("%s: %v", answer, err)
		}
	})
}
