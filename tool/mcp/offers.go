package mcp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley"
)

// Servers offer resources and prompts beside tools. Agents reach them by tools of ours: for each server that has them,
// one that searches them and one that gets one. They are asked for when somebody wants them, and never kept.

const (
	// maxListed bounds the resources, or prompts, that are read of a server's list.
	maxListed = 4096
	// maxShown is how many of them a model is shown at once.
	maxShown = 100
	// maxAbout bounds what is said of one, in bytes.
	maxAbout = 1 << 10
)

// reply is a server's answer: what a tool would have answered, or what the server asks for first.
type reply struct {
	result *sdk.CallToolResult
	needs  bool
	asked  sdk.InputRequestMap
	state  string
}

// request sends a request to a server. Whatever it asks for, its arguments, and the answers to what the server has
// asked, are given as those of a tool's call.
type request func(ctx context.Context, session *sdk.ClientSession, params *sdk.CallToolParams) (reply, error)

// callTool calls a tool.
func callTool(ctx context.Context, session *sdk.ClientSession, params *sdk.CallToolParams) (reply, error) {
	result, err := session.CallTool(ctx, params)
	if err != nil {
		return reply{}, err
	}
	return reply{result, result.NeedsInput(), result.InputRequests, result.RequestState}, nil
}

// readResource reads the resource that the argument uri names.
func readResource(ctx context.Context, session *sdk.ClientSession, params *sdk.CallToolParams) (reply, error) {
	var what struct {
		URI string `json:"uri"`
	}
	if err := argumentsOf(params, &what); err != nil {
		return reply{}, err
	}
	result, err := session.ReadResource(ctx, &sdk.ReadResourceParams{
		Meta: params.Meta, URI: what.URI, InputResponses: params.InputResponses, RequestState: params.RequestState,
	})
	if err != nil {
		return reply{}, err
	}
	return reply{contentsOf(what.URI, result.Contents), result.NeedsInput(), result.InputRequests, result.RequestState},
		nil
}

// contentsOf returns a resource's contents; those under another address keep it.
func contentsOf(uri string, contents []*sdk.ResourceContents) *sdk.CallToolResult {
	result := &sdk.CallToolResult{}
	for _, c := range contents {
		switch {
		case c == nil:
		case c.Blob == nil && c.URI == uri:
			result.Content = append(result.Content, &sdk.TextContent{Text: c.Text})
		default:
			result.Content = append(result.Content, &sdk.EmbeddedResource{Resource: c})
		}
	}
	return result
}

// getPrompt gets the prompt that the argument name names.
func getPrompt(ctx context.Context, session *sdk.ClientSession, params *sdk.CallToolParams) (reply, error) {
	var what struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := argumentsOf(params, &what); err != nil {
		return reply{}, err
	}
	result, err := session.GetPrompt(ctx, &sdk.GetPromptParams{
		Meta: params.Meta, Name: what.Name, Arguments: what.Arguments,
		InputResponses: params.InputResponses, RequestState: params.RequestState,
	})
	if err != nil {
		return reply{}, err
	}
	return reply{messagesOf(result.Messages), result.NeedsInput(), result.InputRequests, result.RequestState}, nil
}

// messagesOf returns a prompt's messages, each behind the name of its role.
func messagesOf(messages []*sdk.PromptMessage) *sdk.CallToolResult {
	result, text := &sdk.CallToolResult{}, ""
	flush := func() {
		if text != "" {
			result.Content = append(result.Content, &sdk.TextContent{Text: strings.TrimSuffix(text, "\n\n")})
		}
		text = ""
	}
	for _, m := range messages {
		if m == nil || m.Content == nil {
			continue
		}
		if said, ok := m.Content.(*sdk.TextContent); ok {
			text += string(m.Role) + ": " + said.Text + "\n\n"
			continue
		}
		text += string(m.Role) + ":\n\n"
		flush()
		result.Content = append(result.Content, m.Content)
	}
	flush()
	return result
}

func argumentsOf(params *sdk.CallToolParams, into any) error {
	raw, _ := params.Arguments.(json.RawMessage) // the call has checked it against the schema
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the arguments do not fit the tool"}
	}
	return nil
}

// wanted chooses rows of a list.
type wanted struct {
	Query  string `json:"query"`
	Offset int    `json:"offset"`
	found  int
}

// takes counts a row that has the words of the query, and reports whether it is shown.
func (w *wanted) takes(says ...string) bool {
	text := strings.ToLower(strings.Join(says, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(w.Query)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	w.found++
	return w.found > w.Offset && w.found <= w.Offset+maxShown
}

// next is the offset of the next rows; 0 after the last.
func (w *wanted) next() int {
	if w.found > w.Offset+maxShown {
		return w.Offset + maxShown
	}
	return 0
}

// listed is how a model is shown a list.
type listed[T any] struct {
	Data  []T `json:"data"`
	Found int `json:"found"`
	Next  int `json:"next_offset,omitempty"`
}

// shownResource is how a model is shown a resource.
type shownResource struct {
	URI         string `json:"uri"`
	Template    bool   `json:"is_template,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	MediaType   string `json:"media_type,omitempty"`
	Size        int64  `json:"size,omitempty"`
}

// listResources searches a server's resources and templates.
func listResources(ctx context.Context, session *sdk.ClientSession, params *sdk.CallToolParams) (reply, error) {
	var want wanted
	if err := argumentsOf(params, &want); err != nil {
		return reply{}, err
	}
	all, err := resourcesOf(ctx, session)
	if err != nil {
		return reply{}, err
	}
	rows := []shownResource{}
	for i := range all {
		if r := &all[i]; want.takes(r.URI, r.Name, r.Description) {
			rows = append(rows, shownResource(*r))
		}
	}
	return reply{result: &sdk.CallToolResult{
		StructuredContent: listed[shownResource]{Data: rows, Found: want.found, Next: want.next()},
	}}, nil
}

// resourcesOf reads a server's list of resources, and that of its templates, within bounds.
func resourcesOf(ctx context.Context, session *sdk.ClientSession) (all []parley.ToolResource, err error) {
	add := func(uri, name, title, description, media string, size int64, template bool) {
		if uri == "" || len(uri) > parley.MaxLinkBytes {
			return
		}
		all = append(all, parley.ToolResource{
			URI: withoutNUL(uri), Template: template, Name: about(name, title), Description: about(description),
			MediaType: about(media), Size: max(0, size),
		})
	}
	err = walk(func(cursor string) (int, string, error) {
		page, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return 0, "", err
		}
		for _, r := range page.Resources {
			if r != nil {
				add(r.URI, r.Name, r.Title, r.Description, r.MIMEType, r.Size, false)
			}
		}
		return len(page.Resources), page.NextCursor, nil
	})
	if err != nil {
		return nil, err
	}
	err = walk(func(cursor string) (int, string, error) {
		page, err := session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return 0, "", err
		}
		for _, r := range page.ResourceTemplates {
			if r != nil {
				add(r.URITemplate, r.Name, r.Title, r.Description, r.MIMEType, 0, true)
			}
		}
		return len(page.ResourceTemplates), page.NextCursor, nil
	})
	return all[:min(len(all), maxListed)], err
}

// shownPrompt is how a model is shown a prompt.
type shownPrompt struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Arguments   []shownArgument `json:"arguments,omitempty"`
}

type shownArgument struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// maxPromptArguments bounds the arguments that are shown of a prompt.
const maxPromptArguments = 32

// listPrompts searches a server's prompts.
func listPrompts(ctx context.Context, session *sdk.ClientSession, params *sdk.CallToolParams) (reply, error) {
	var want wanted
	if err := argumentsOf(params, &want); err != nil {
		return reply{}, err
	}
	rows := []shownPrompt{}
	err := walk(func(cursor string) (int, string, error) {
		page, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return 0, "", err
		}
		for _, p := range page.Prompts {
			if p != nil && len(p.Name) <= maxAbout && want.takes(p.Name, p.Title, p.Description) {
				rows = append(rows, promptOf(p))
			}
		}
		return len(page.Prompts), page.NextCursor, nil
	})
	return reply{result: &sdk.CallToolResult{
		StructuredContent: listed[shownPrompt]{Data: rows, Found: want.found, Next: want.next()},
	}}, err
}

func promptOf(p *sdk.Prompt) shownPrompt {
	shown := shownPrompt{Name: withoutNUL(p.Name), Description: about(p.Description, p.Title)}
	for _, a := range p.Arguments[:min(len(p.Arguments), maxPromptArguments)] {
		if a != nil {
			shown.Arguments = append(shown.Arguments, shownArgument{about(a.Name), about(a.Description), a.Required})
		}
	}
	return shown
}

// about returns the first of several texts that says something, within its bound.
func about(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return parley.Clip(withoutNUL(text), maxAbout)
		}
	}
	return ""
}

// walk reads the pages of a list, within bounds. A server without the list has an empty one.
func walk(page func(cursor string) (rows int, next string, err error)) error {
	cursor, all := "", 0
	for range maxListPages {
		rows, next, err := page(cursor)
		if refusal, refused := refusalOf(err); refused && refusal.Code == jsonrpc.CodeMethodNotFound {
			return nil
		}
		if all += rows; err != nil || next == "" || all >= maxListed {
			return err
		}
		cursor = next
	}
	return nil
}

const (
	listSchema = `{"type":"object","additionalProperties":false,"properties":{` +
		`"query":{"type":"string","description":"Words that must all occur; without them everything is listed."},` +
		`"offset":{"type":"integer","minimum":0,"description":"next_offset of the answer before."}}}`
	resourceSchema = `{"type":"object","additionalProperties":false,"required":["uri"],"properties":{` +
		`"uri":{"type":"string","description":"As listed; of a template, with its {placeholders} filled in."}}}`
	promptSchema = `{"type":"object","additionalProperties":false,"required":["name"],"properties":{` +
		`"name":{"type":"string"},` +
		`"arguments":{"type":"object","additionalProperties":{"type":"string"}}}}`
)

// offers returns the tools for what a server has beside its own tools. One of its own with the same name comes first.
func (l *link) offers(has *sdk.ServerCapabilities, own []*remoteTool) (made []*remoteTool) {
	add := func(name, description, schema string, send request) {
		t, err := newTool(l, &sdk.Tool{
			Name: name, Description: description, InputSchema: json.RawMessage(schema),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
		})
		if err != nil || slices.ContainsFunc(own, func(o *remoteTool) bool {
			return o.definition.Name == t.definition.Name
		}) {
			return
		}
		t.send, t.offered = send, true
		made = append(made, t)
	}
	if has == nil {
		return nil
	}
	if has.Resources != nil {
		add("list_resources", "Lists what the server "+l.server.Name+" has to read: documents and data, and templates "+
			"of addresses.", listSchema, listResources)
		add("read_resource", "Reads a resource of the server "+l.server.Name+".", resourceSchema, readResource)
	}
	if has.Prompts != nil {
		add("list_prompts", "Lists the prompts of the server "+l.server.Name+": instructions for tasks that it knows, "+
			"with the arguments that they take.", listSchema, listPrompts)
		add("get_prompt", "Gets a prompt of the server "+l.server.Name+" with its arguments filled in.", promptSchema,
			getPrompt)
	}
	return made
}
