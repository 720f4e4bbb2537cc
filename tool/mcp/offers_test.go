package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
	"example.org/parley/tool"
	"example.org/parley/tool/mcp"
)

// library is a server with resources and prompts.
func library() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, &sdk.ServerOptions{PageSize: 7})
	read := func(_ context.Context, request *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		uri := request.Params.URI
		contents := []*sdk.ResourceContents{{URI: uri, Text: "Read " + uri + "\x00"}}
		switch {
		case strings.HasSuffix(uri, ".png"):
			contents = []*sdk.ResourceContents{{URI: uri, Blob: []byte("12")}}
		case strings.HasSuffix(uri, "/several"):
			contents = append(contents, &sdk.ResourceContents{URI: uri + "/2", Text: "two"})
		case strings.HasSuffix(uri, "/asks") && request.Params.InputResponses["name"] == nil:
			return &sdk.ReadResourceResult{RequestState: "s", InputRequests: sdk.InputRequestMap{
				"name": &sdk.ElicitParams{Message: "Your name?"},
			}}, nil
		case strings.HasSuffix(uri, "/samples"):
			return &sdk.ReadResourceResult{InputRequests: sdk.InputRequestMap{
				"it": &sdk.CreateMessageWithToolsParams{MaxTokens: 1}, //nolint:staticcheck // servers may still ask
			}}, nil
		}
		return &sdk.ReadResourceResult{Contents: contents}, nil
	}
	for i := range 150 {
		server.AddResource(&sdk.Resource{
			URI: fmt.Sprintf("book://%03d", i), Name: fmt.Sprintf("Book %d", i), MIMEType: "text/plain", Size: 9,
		}, read)
	}
	for _, uri := range []string{"book://cover.png", "book://x/several", "book://x/asks", "book://x/samples"} {
		server.AddResource(&sdk.Resource{URI: uri, Name: "special", Description: "A special one"}, read)
	}
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "shelf://{shelf}", Name: "Shelf"}, read)
	server.AddPrompt(&sdk.Prompt{
		Name:        "review",
		Description: "Reviews a book.",
		Arguments:   []*sdk.PromptArgument{{Name: "title", Required: true}},
	}, func(_ context.Context, request *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{
			{Role: "user", Content: &sdk.TextContent{Text: "Review " + request.Params.Arguments["title"]}},
			{Role: "assistant", Content: &sdk.TextContent{Text: "Gladly."}},
			{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("12")}},
		}}, nil
	})
	return server
}

func openLibrary(t *testing.T, server *sdk.Server, version string) *mcp.Source {
	t.Helper()
	url := serve(t, server, &sdk.StreamableHTTPOptions{Stateless: version == "2026-07-28"}, nil)
	return open(t, mcp.Server{Name: "lib", URL: url, AllowPrivate: true, Protocol: version})
}

// TestResourcesAndPromptsAreTools: a server's resources and prompts are reached by tools that only read.
func TestResourcesAndPromptsAreTools(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			source := openLibrary(t, library(), version)
			want := []string{"lib__get_prompt", "lib__list_prompts", "lib__list_resources", "lib__read_resource"}
			if got := names(source); !slices.Equal(got, want) {
				t.Fatalf("the tools are %v", got)
			}
			for _, one := range source.Tools() {
				if a := one.Annotations(); !a.ReadOnly || !a.Idempotent || a.Destructive {
					t.Errorf("%s is %+v", one.Definition().Name, a)
				}
			}
			for _, c := range []struct{ tool, arguments, want string }{
				{"read_resource", `{"uri":"book://007"}`, `"Read book://007` + "\uFFFD" + `"`},
				{"read_resource", `{"uri":"shelf://a"}`, `"Read shelf://a` + "\uFFFD" + `"`},
				{"read_resource", `{"uri":"book://cover.png"}`, `[{"name":"cover.png","type":"file","Data":"MTI="}]`},
				{"read_resource", `{"uri":"book://x/several"}`, `[{"text":"Read book://x/several` + "\uFFFD" +
					`","type":"text","Data":null},{"type":"link","url":"book://x/several/2","Data":null},` +
					`{"text":"two","type":"text","Data":null}]`},
				{"list_resources", `{"query":"SPECIAL cover"}`,
					`{"data":[{"uri":"book://cover.png","name":"special","description":"A special one"}],"found":1}`},
				{"list_resources", `{"query":"shelf"}`,
					`{"data":[{"uri":"shelf://{shelf}","is_template":true,"name":"Shelf"}],"found":1}`},
				{"list_prompts", `{}`, `{"data":[{"name":"review","description":"Reviews a book.",` +
					`"arguments":[{"name":"title","required":true}]}],"found":1}`},
				{"get_prompt", `{"name":"review","arguments":{"title":"Emma"}}`,
					`[{"text":"user: Review Emma\n\nassistant: Gladly.\n\nuser:","type":"text","Data":null},` +
						`{"type":"file","Data":"MTI="}]`},
			} {
				if got, err := call(t.Context(), t, source, "lib__"+c.tool, c.arguments); err != nil || got != c.want {
					t.Errorf("%s %s: %s, %v", c.tool, c.arguments, got, err)
				}
			}
			for tool, arguments := range map[string]string{
				"read_resource": `{"uri":"none://"}`, "get_prompt": `{"name":"none"}`,
			} {
				if _, err := call(
					t.Context(), t, source, "lib__"+tool, arguments,
				); parley.ErrorCode(err) != parley.CodeConflict {
					t.Errorf("%s of nothing: %v", tool, err)
				}
			}
			for _, c := range [][2]string{{"read_resource", `{}`}, {"list_resources", `{"offset":-1}`},
				{"get_prompt", `{"name":"review","arguments":{"title":1}}`}} {
				if _, err := call(
					t.Context(),
					t,
					source,
					"lib__"+c[0],
					c[1],
				); parley.ErrorCode(
					err,
				) != parley.CodeInvalid {
					t.Errorf("%s %s: %v", c[0], c[1], err)
				}
			}
		})
	}
}

// TestLongListsHavePages: a model reads a list piece by piece.
func TestLongListsHavePages(t *testing.T) {
	t.Parallel()
	source := openLibrary(t, library(), "")
	seen := map[string]bool{}
	for offset, rounds := 0, 0; rounds == 0 || offset > 0; rounds++ {
		if rounds == 3 {
			t.Fatal("the list does not end")
		}
		raw, err := call(t.Context(), t, source, "lib__list_resources", fmt.Sprintf(`{"offset":%d}`, offset))
		var page struct {
			Data  []struct{ URI string }
			Found int
			Next  int `json:"next_offset"`
		}
		if err != nil || json.Unmarshal([]byte(raw), &page) != nil || page.Found != 155 || len(page.Data) > 100 {
			t.Fatalf("%s, %v", raw, err)
		}
		for _, one := range page.Data {
			seen[one.URI] = true
		}
		offset = page.Next
	}
	if len(seen) != 155 {
		t.Errorf("%d resources were listed", len(seen))
	}
}

// TestEndlessListsEnd: a server whose list has no end is read within bounds.
func TestEndlessListsEnd(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := library()
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
			if method == "resources/list" {
				asked.Add(1)
				return &sdk.ListResourcesResult{
					NextCursor: "again", Resources: []*sdk.Resource{{URI: "book://0", Name: "Again"}},
				}, nil
			}
			return next(ctx, method, request)
		}
	})
	if _, err := call(
		t.Context(), t, openLibrary(t, server, ""), "lib__list_resources", `{}`,
	); err != nil || asked.Load() < 2 || asked.Load() > 64 {
		t.Errorf("it was asked %d times: %v", asked.Load(), err)
	}
}

// TestResourcesAsk: a resource for which the server asks a person is read with the answer, and none is read for a
// model's answer.
func TestResourcesAsk(t *testing.T) {
	t.Parallel()
	source := openLibrary(t, library(), "2026-07-28")
	one, _ := source.Tool("lib__read_resource")
	asks := tool.Call{ID: "call_1", Arguments: json.RawMessage(`{"uri":"book://x/asks"}`)}
	result, err := one.Call(t.Context(), asks)
	if err != nil || result.Ask == nil || result.Ask.Message != "Your name?" {
		t.Fatalf("%+v, %v", result, err)
	}
	asks.Answer = &tool.Answer{State: result.Ask.State, Action: tool.AnswerAccept, Content: json.RawMessage(`{}`)}
	if result, err = one.Call(t.Context(), asks); err != nil || !strings.HasPrefix(string(result.JSON), `"Read`) {
		t.Errorf("answered: %+v, %v", result, err)
	}
	if _, err = call(
		t.Context(), t, source, "lib__read_resource", `{"uri":"book://x/samples"}`,
	); parley.ErrorCode(err) != parley.CodeConflict || !strings.Contains(err.Error(), "sampling") {
		t.Errorf("a server that wants a model's answer: %v", err)
	}
}

// TestAServersOwnToolsComeFirst: what we add never hides a tool of the server, and is not there without a reason.
func TestAServersOwnToolsComeFirst(t *testing.T) {
	t.Parallel()
	server := library()
	sdk.AddTool(server, &sdk.Tool{Name: "read_resource"},
		func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
			return said("its own"), nil, nil
		})
	if got, err := call(
		t.Context(), t, openLibrary(t, server, ""), "lib__read_resource", `{}`,
	); err != nil || got != `"its own"` {
		t.Errorf("%s, %v", got, err)
	}
	if got := names(openLibrary(t, newServer(), "")); slices.Contains(got, "lib__list_resources") {
		t.Errorf("a server without resources has %v", got)
	}
}

// TestPeopleReadResources: lists and contents for people, with names for files.
func TestPeopleReadResources(t *testing.T) {
	t.Parallel()
	source := openLibrary(t, library(), "2026-07-28")
	all, err := source.Resources(t.Context(), parley.NewID(), "lib")
	if err != nil || len(all) != 155 ||
		!slices.ContainsFunc(all, func(r parley.ToolResource) bool { return r.Template }) {
		t.Errorf("%d resources, %v", len(all), err)
	}
	name, data, err := source.Resource(t.Context(), parley.NewID(), "lib", "book://x/cover.png")
	if err == nil {
		t.Errorf("a resource that does not exist: %s, %s", name, data)
	}
	if name, data, err = source.Resource(t.Context(), parley.NewID(), "lib", "book://cover.png"); err != nil ||
		name != "cover.png" || string(data) != "12" {
		t.Errorf("%s, %s, %v", name, data, err)
	}
	for uri, want := range map[string]string{
		"book://x/several": "2 contents", "book://x/asks": "agent's call", "none://": "refused",
	} {
		if _, _, err := source.Resource(t.Context(), parley.NewID(), "lib", uri); parley.ErrorCode(err) !=
			parley.CodeConflict || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := source.Resources(t.Context(), parley.NewID(), "none"); parley.ErrorCode(err) != parley.CodeNotFound {
		t.Errorf("no such server: %v", err)
	}
	if _, err := openLibrary(t, newServer(), "").Resources(
		t.Context(), parley.NewID(), "lib",
	); parley.ErrorCode(err) != parley.CodeConflict {
		t.Errorf("a server without resources: %v", err)
	}
}
