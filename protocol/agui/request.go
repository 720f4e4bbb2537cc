package agui

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// The bounds of a request.
const (
	maxMessages = 10_000 // of the thread
	maxCalls    = 1024   // of one message
	maxParts    = parley.MaxParts
	maxTools    = 128      // of the client
	maxContext  = 128      // entries
	maxResume   = 64       // answers to interrupts
	maxState    = 48 << 10 // bytes of a state that is kept with the user's message
)

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleReasoning = "reasoning"
	roleTool      = "tool"
	roleActivity  = "activity"
	roleSystem    = "system"
	roleDeveloper = "developer"
)

// request is a RunAgentInput. Members that are not listed are ignored.
type request struct {
	ThreadID  string             `json:"threadId"`
	RunID     string             `json:"runId"`
	Parent    string             `json:"parentRunId"`
	State     json.RawMessage    `json:"state"`
	Messages  list[message]      `json:"messages"`
	Tools     list[clientTool]   `json:"tools"`
	Context   list[contextEntry] `json:"context"`
	Resume    list[resumeEntry]  `json:"resume"`
	Forwarded forwarded          `json:"forwardedProps"`

	has      map[string]bool // ids of the messages that the client has
	called   map[string]bool // ids of the tool calls that it has
	results  []*message      // of the client's tools, behind the last answer
	said     *message        // the last message of the user behind the last answer; nil for none
	told     []string        // what the developer says
	warnings []string        // about what is ignored
}

// message is a message of the thread.
type message struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   list[struct {
		ID string `json:"id"`
	}] `json:"toolCalls"`
	CallID string `json:"toolCallId"`
	Error  string `json:"error"`
}

// clientTool is a tool that the client answers.
type clientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// contextEntry is something that the model should know.
type contextEntry struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// resumeEntry answers an interrupt.
type resumeEntry struct {
	ID      string          `json:"interruptId"`
	Status  string          `json:"status"`
	Payload json.RawMessage `json:"payload"`
}

// The statuses of answers to interrupts.
const (
	statusResolved  = "resolved"
	statusCancelled = "cancelled"
)

// forwarded are the members of forwardedProps that are Parley's. They may be any JSON; others are not for Parley.
type forwarded struct {
	Model parley.ModelID `json:"model"` // provider/model, for this turn
	Again bool           `json:"again"` // asks the last message of the user again, perhaps in other words
	Raw   bool           `json:"raw"`   // passes events on that the protocol has no form for
}

// UnmarshalJSON reads the member parley of an object.
func (f *forwarded) UnmarshalJSON(raw []byte) error {
	var whole struct {
		Parley json.RawMessage `json:"parley"`
	}
	if json.Unmarshal(raw, &whole) != nil || len(whole.Parley) == 0 {
		return nil //nolint:nilerr // it is the application's own
	}
	type plain forwarded
	if json.Unmarshal(whole.Parley, (*plain)(f)) != nil {
		return parley.InvalidField("forwardedProps.parley", "must be an object with model, again and raw")
	}
	return nil
}

// bounded is what lists hold: each knows its bound and its place in a request.
type bounded interface {
	bound() (most int, field string)
}

func (message) bound() (int, string)      { return maxMessages, "messages" }
func (clientTool) bound() (int, string)   { return maxTools, "tools" }
func (contextEntry) bound() (int, string) { return maxContext, "context" }
func (resumeEntry) bound() (int, string)  { return maxResume, "resume" }

// list is a list whose items are counted as they are decoded: an item takes far more than its text.
type list[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *list[T]) UnmarshalJSON(raw []byte) error {
	most, field := maxCalls, "messages.toolCalls"
	var one T
	if b, ok := any(one).(bounded); ok {
		most, field = b.bound()
	}
	return items(raw, most, field, func(d *json.Decoder) error {
		*l = append(*l, one)
		return d.Decode(&(*l)[len(*l)-1])
	})
}

// items decodes the items of a list one after the other, and stops at the bound.
func items(raw []byte, most int, field string, decode func(*json.Decoder) error) error {
	if string(raw) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return parley.InvalidField(field, "must be a list")
	}
	for n := 0; d.More(); n++ {
		if n == most {
			return parley.InvalidField(field, "at most %d", most)
		}
		if err := decode(d); err != nil {
			var known *parley.Error
			if errors.As(err, &known) {
				return known
			}
			return parley.InvalidField(fmt.Sprintf("%s[%d]", field, n), "does not have the form of the protocol")
		}
	}
	return nil
}

// decode reads a request.
func decode(body []byte) (*request, error) {
	if err := parley.CheckJSON(body); err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "The body is not JSON that can be stored: %s",
			parley.Clip(err.Error(), 200))
	}
	r := &request{}
	if err := json.Unmarshal(body, r); err != nil {
		var known *parley.Error
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &known):
			return nil, known
		case errors.As(err, &wrong) && wrong.Field != "":
			return nil, parley.InvalidField(parley.Clip(wrong.Field, 64), "has the wrong JSON type")
		}
		return nil, parley.Errorf(parley.CodeInvalid, "The body is not a RunAgentInput.")
	}
	if r.RunID == "" {
		return nil, parley.InvalidField("runId", "is missing or empty")
	}
	for field, text := range map[string]string{"runId": r.RunID, "parentRunId": r.Parent} {
		if err := parley.CheckText(field, text, parley.MaxNameBytes); err != nil {
			return nil, err
		}
	}
	for i := range r.Resume {
		if s := r.Resume[i].Status; s != statusResolved && s != statusCancelled {
			return nil, parley.InvalidField(fmt.Sprintf("resume[%d].status", i), "must be resolved or cancelled")
		}
	}
	r.sort()
	return r, nil
}

// sort finds out what is new in the messages, and what the client has.
func (r *request) sort() {
	r.has, r.called = map[string]bool{}, map[string]bool{}
	for i := range r.Messages {
		m := &r.Messages[i]
		r.has[m.ID] = true
		switch m.Role {
		case roleUser:
			r.said = m
		case roleTool:
			r.results = append(r.results, m)
			r.called[resultOf(m.CallID)] = true
		case roleSystem, roleDeveloper:
			var text string
			if json.Unmarshal(m.Content, &text) == nil && text != "" {
				r.told = append(r.told, text)
			}
		case roleAssistant, roleReasoning:
			r.results, r.said = nil, nil
			for _, call := range m.Calls {
				r.called[call.ID] = true
			}
		}
	}
}

// resultOf is how a call's result is noted beside the calls.
func resultOf(call string) string { return "result of " + call }

// settings returns what the request sets for its turn.
func (r *request) settings(agent *parley.Agent) parley.Settings {
	s := parley.Settings{Model: r.Forwarded.Model}
	if len(r.told) > 0 {
		prompt := strings.ReplaceAll(strings.Join(r.told, "\n\n"), "{{", "{{{{") // what clients write is no template
		if own := parley.ValueOf(agent.SystemPrompt); own != "" {
			prompt = own + "\n\n" + prompt
		}
		s.SystemPrompt = &prompt
	}
	if len(r.Tools) == 0 {
		return s
	}
	refs := append([]parley.ToolRef{}, parley.ValueOf(agent.Tools)...)
	for i := range r.Tools {
		t := &r.Tools[i]
		parameters := t.Parameters
		if len(parameters) == 0 || string(parameters) == "null" {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		refs = append(refs, parley.ToolRef{Name: t.Name, Definition: &parley.ToolDefinition{
			Name: t.Name, Description: t.Description, Parameters: parameters,
		}})
	}
	s.Tools = &refs
	return s
}

// note is the metadata of a message that a client sent.
type note struct {
	ID    string          `json:"ag_ui_id,omitempty"`
	State json.RawMessage `json:"ag_ui_state,omitempty"` // of the application, when its user said this
}

// noted returns the metadata of one of the request's messages.
func noted(m *message, state json.RawMessage) (json.RawMessage, error) {
	if err := parley.CheckText("messages.id", m.ID, parley.MaxNameBytes); err != nil {
		return nil, err
	}
	return parley.EncodeJSON(note{m.ID, state})
}

// input makes the user's message, and uploads its files first.
func (r *request) input(ctx context.Context, a *api, x *protocol.Exchange, t *thread) (engine.MessageInput, error) {
	input := engine.MessageInput{Role: parley.RoleUser, Settings: r.settings(&t.agent)}
	var content parley.UserContent
	var err error
	if content.Parts, err = r.parts(ctx, a, x.Principal); err != nil {
		return input, err
	}
	if input.Content, err = parley.EncodeContent(content); err != nil {
		return input, err
	}
	var known []string
	for i := range r.Context {
		known = append(known, r.Context[i].Description+": "+r.Context[i].Value)
	}
	input.ContextNote = strings.Join(known, "\n")
	state := r.State
	switch {
	case string(state) == "null" || string(state) == "{}":
		state = nil
	case len(state) > maxState:
		state = nil
		r.warnings = append(r.warnings, fmt.Sprintf(
			"The state is longer than %d bytes: it is not kept, and a client that connects does not get it.", maxState))
	}
	input.Metadata, err = noted(r.said, state)
	return input, err
}

// part is a part of a message's content.
type part struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"`
}

// source says where a part's bytes are.
type source struct {
	Type      string `json:"type"`
	Value     string `json:"value"`
	MediaType string `json:"mimeType,omitempty"`
}

// The types of parts and sources.
const (
	partText     = "text"
	partImage    = "image"
	partAudio    = "audio"
	partVideo    = "video"
	partDocument = "document"

	sourceData = "data"
	sourceURL  = "url"
)

// The path under which a file's bytes are read, relative to the server.
const (
	filePath    = "/v1/files/"
	filePathEnd = "/content"
)

// partsOf reads a message's content: a text, or a list of parts.
func partsOf(content json.RawMessage) ([]part, error) {
	if len(content) == 0 {
		return nil, nil
	}
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []part{{Type: partText, Text: text}}, nil
	}
	var parts list[part]
	err := json.Unmarshal(content, &parts)
	return parts, err
}

func (part) bound() (int, string) { return maxParts, "messages.content" }

// parts returns the user's message as the record keeps it. Parts that cannot be used are left out, with a warning.
func (r *request) parts(ctx context.Context, a *api, principal parley.Principal) ([]parley.Part, error) {
	given, err := partsOf(r.said.Content)
	if err != nil {
		return nil, err
	}
	var parts []parley.Part
	for i := range given {
		p := &given[i]
		field := fmt.Sprintf("messages.content[%d]", i)
		switch {
		case p.Type == partText:
			if p.Text != "" {
				parts = append(parts, parley.Part{Type: parley.PartText, Text: p.Text})
			}
		case p.Source != nil && p.Source.Type == sourceURL:
			made, ok := linkTo(p.Source.Value)
			if !ok {
				return nil, parley.InvalidField(field, "must be a URL of http or https")
			}
			parts = append(parts, made)
		case p.Source != nil && p.Source.Type == sourceData:
			raw, err := base64.StdEncoding.DecodeString(p.Source.Value)
			if err != nil {
				return nil, parley.InvalidField(field, "is not base64")
			}
			file, _, err := a.engine.UploadFile(ctx, principal, "file", bytes.NewReader(raw))
			if err != nil {
				return nil, err
			}
			parts = append(parts, parley.FilePart(file))
		default:
			r.warnings = append(r.warnings, field+" cannot be used, and is left out.")
		}
	}
	return parts, nil
}

// linkTo returns the part of a URL: a file of the server, as a snapshot names it, or a page.
func linkTo(text string) (parley.Part, bool) {
	if id, ok := strings.CutPrefix(text, filePath); ok {
		file, err := parley.ParseID(strings.TrimSuffix(id, filePathEnd))
		return parley.Part{Type: parley.PartFile, FileID: file}, err == nil
	}
	link, err := url.Parse(text)
	return parley.Part{
			Type: parley.PartLink,
			URL:  text,
		}, err == nil &&
			(link.Scheme == "https" || link.Scheme == "http")
}
