package aisdk

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
	"example.org/parley/store"
)

// The bounds of a request.
const (
	maxMessages = 10_000 // of the chat; all but the last are skipped
	maxParts    = 4096   // of the last message: an answer has a few for each step
	maxTools    = 128    // of the client
	searchPages = 16     // of the user's messages that are searched for one that is asked again
)

// idempotencyHeader makes a request safe to repeat.
const idempotencyHeader = "Idempotency-Key"

// The triggers of a request.
const (
	triggerSubmit     = "submit-message"
	triggerRegenerate = "regenerate-message"
)

// request is the body that the standard transport sends. Applications add members of their own, which are ignored.
type request struct {
	ID        string         `json:"id"`
	Messages  []message      `json:"messages"`
	Trigger   string         `json:"trigger"`
	MessageID string         `json:"messageId"` // that is asked in other words, or whose answer is asked for again
	Model     parley.ModelID `json:"model"`     // Parley's: provider/model
	Tools     []clientTool   `json:"tools"`     // Parley's: what the client answers itself
}

// clientTool is a tool that the client answers.
type clientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// message is a UIMessage. Only the last one's parts are read.
type message struct {
	ID    string          `json:"id"`
	Role  string          `json:"role"`
	Parts json.RawMessage `json:"parts"`
}

// part is a part of a UIMessage, in a request and in an answer.
type part struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	State     string          `json:"state,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	URL       string          `json:"url,omitempty"`
	SourceID  string          `json:"sourceId,omitempty"`
	Title     string          `json:"title,omitempty"`
	CallID    string          `json:"toolCallId,omitempty"`
	Tool      string          `json:"toolName,omitempty"` // of type dynamic-tool
	Input     json.RawMessage `json:"input,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
	ErrorText string          `json:"errorText,omitempty"`
	Executed  bool            `json:"providerExecuted,omitempty"` // by the server
	Approval  *approval       `json:"approval,omitempty"`
	Metadata  *ownMetadata    `json:"providerMetadata,omitempty"`
}

// approval is what a part knows of the approval of its call.
type approval struct {
	ID       string `json:"id"`
	Approved *bool  `json:"approved,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// ownMetadata says which message of the record a text is from. Clients send it back.
type ownMetadata struct {
	Parley struct {
		Message parley.ID `json:"message"`
	} `json:"parley"`
}

// The types and states of parts.
const (
	partText      = "text"
	partReasoning = "reasoning"
	partFile      = "file"
	partStep      = "step-start"
	partSource    = "source-url"
	partDynamic   = "dynamic-tool"
	partTool      = "tool-" // and the tool's name

	stateDone      = "done"
	stateInput     = "input-available"
	stateAsked     = "approval-requested"
	stateResponded = "approval-responded"
	stateOutput    = "output-available"
	stateError     = "output-error"
	stateDenied    = "output-denied"
)

// isCall reports whether the part is a tool call.
func (p *part) isCall() bool {
	return p.CallID != "" && (p.Type == partDynamic || strings.HasPrefix(p.Type, partTool))
}

// decode reads a request.
func decode(body []byte) (*request, error) {
	if err := parley.CheckJSON(body); err != nil {
		return nil, parley.Errorf(parley.CodeInvalid, "The body is not JSON that can be stored: %s",
			parley.Clip(err.Error(), 200))
	}
	r := &request{}
	if err := json.Unmarshal(body, r); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return nil, parley.InvalidField(parley.Clip(wrong.Field, 64), "has the wrong JSON type")
		}
		return nil, parley.Errorf(parley.CodeInvalid, "The body is not a JSON object of a chat.")
	}
	switch {
	case len(r.Messages) == 0:
		return nil, parley.InvalidField("messages", "is missing or empty")
	case len(r.Messages) > maxMessages:
		return nil, parley.InvalidField("messages", "at most %d", maxMessages)
	case len(r.Tools) > maxTools:
		return nil, parley.InvalidField("tools", "at most %d", maxTools)
	case r.Trigger != "" && r.Trigger != triggerSubmit && r.Trigger != triggerRegenerate:
		return nil, parley.InvalidField("trigger", "must be %s or %s", triggerSubmit, triggerRegenerate)
	}
	return r, nil
}

// last returns the last message, whose parts count.
func (r *request) last() *message { return &r.Messages[len(r.Messages)-1] }

// read reads the message's parts.
func (m *message) read() ([]part, error) {
	wrong := parley.InvalidField("messages.parts", "must be a list of parts")
	var raw []json.RawMessage // counted first: a part takes far more than its text
	if json.Unmarshal(m.Parts, &raw) != nil {
		return nil, wrong
	}
	if len(raw) > maxParts {
		return nil, parley.InvalidField("messages.parts", "at most %d", maxParts)
	}
	parts := make([]part, len(raw))
	for i := range raw {
		if json.Unmarshal(raw[i], &parts[i]) != nil {
			return nil, wrong
		}
	}
	return parts, nil
}

// settings returns what the request sets for its turn.
func (r *request) settings(agent *parley.Agent) parley.Settings {
	s := parley.Settings{Model: r.Model}
	if len(r.Tools) == 0 {
		return s
	}
	refs := append([]parley.ToolRef{}, parley.ValueOf(agent.Tools)...)
	for i := range r.Tools {
		t := &r.Tools[i]
		parameters := t.InputSchema
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

// clientID is the member of a message's metadata with the id that its client gave it.
type clientID struct {
	ID string `json:"ai_sdk_id"`
}

// input makes the user's message, and uploads its files first.
func (a *api) input(ctx context.Context, x *protocol.Exchange, c *chat, r *request) (engine.MessageInput, error) {
	last := r.last()
	parts, err := last.read()
	if err != nil {
		return engine.MessageInput{}, err
	}
	if len(parts) > parley.MaxParts { // files are stored before the message is checked
		return engine.MessageInput{}, parley.InvalidField("messages.parts", "at most %d", parley.MaxParts)
	}
	var content parley.UserContent
	for i := range parts {
		made, ok, err := a.partOf(ctx, x.Principal, &parts[i])
		var unfit unfitPart
		if errors.As(err, &unfit) {
			return engine.MessageInput{}, parley.InvalidField(fmt.Sprintf("messages.parts[%d]", i), "%s", unfit)
		}
		if err != nil {
			return engine.MessageInput{}, err
		}
		if ok {
			content.Parts = append(content.Parts, made)
		}
	}
	input := engine.MessageInput{Role: parley.RoleUser}
	if input.Content, err = parley.EncodeContent(content); err != nil {
		return input, err
	}
	if input.Settings = r.settings(&c.agent); last.ID == "" {
		return input, nil
	}
	if err := parley.CheckText("messages.id", last.ID, parley.MaxNameBytes); err != nil {
		return input, err
	}
	input.Metadata, err = parley.EncodeJSON(clientID{last.ID})
	return input, err
}

// unfitPart says why a part cannot be read. Other errors stay what they are: only some may be shown.
type unfitPart string

func (u unfitPart) Error() string { return string(u) }

// partOf returns a part of the user as the record keeps it; false for one that says nothing to a model.
func (a *api) partOf(ctx context.Context, principal parley.Principal, p *part) (_ parley.Part, ok bool, err error) {
	switch {
	case p.Type == partText && p.Text != nil:
		return parley.Part{Type: parley.PartText, Text: *p.Text}, *p.Text != "", nil
	case p.Type != partFile:
		return parley.Part{}, false, nil
	}
	if id, ok := strings.CutPrefix(p.URL, filePath); ok { // as list names it
		file, err := parley.ParseID(strings.TrimSuffix(id, filePathEnd))
		if err != nil {
			return parley.Part{}, false, unfitPart("url names no file")
		}
		return parley.Part{Type: parley.PartFile, FileID: file}, true, nil
	}
	meta, data, ok := strings.Cut(p.URL, ",")
	if !ok || !strings.HasPrefix(meta, "data:") {
		link, err := url.Parse(p.URL)
		if err != nil || link.Scheme != "https" && link.Scheme != "http" {
			return parley.Part{}, false, unfitPart("url must be a data URL, or one of http or https")
		}
		return parley.Part{Type: parley.PartLink, URL: p.URL, Title: p.Filename}, true, nil
	}
	if !strings.HasSuffix(meta, ";base64") {
		return parley.Part{}, false, unfitPart("url must be a data URL in base64")
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return parley.Part{}, false, unfitPart("url is not base64")
	}
	name := p.Filename
	if name == "" {
		name = "file"
	}
	file, _, err := a.engine.UploadFile(ctx, principal, name, bytes.NewReader(raw))
	if err != nil {
		return parley.Part{}, false, err
	}
	return parley.FilePart(file), true, nil
}

// begun is a turn that a request began or resumed.
type begun struct {
	session, turn parley.ID
	after         int64 // the session's last event before
}

func begunBy(posted *store.Posted) begun {
	m := &posted.Message
	return begun{session: m.SessionID, turn: m.TurnID, after: posted.EventSequence}
}

// begin posts the user's message, or asks it again.
func (a *api) begin(ctx context.Context, x *protocol.Exchange, c *chat, r *request) (begun, error) {
	if c.session.IsZero() {
		return a.beginNew(ctx, x, c, r)
	}
	if r.Trigger == triggerRegenerate || r.MessageID != "" {
		known, err := a.said(ctx, x, c, r.last().ID)
		if err != nil {
			return begun{}, err
		}
		if known != nil {
			return a.beginAgain(ctx, x, c, r, known)
		}
		if r.Trigger == triggerRegenerate {
			return begun{}, parley.InvalidField("messages", "the last message is not known in this chat")
		}
	}
	input, err := a.input(ctx, x, c, r)
	if err != nil {
		return begun{}, err
	}
	first, err := protocol.SentAgain(ctx, a.engine, x.Principal, c.session, r.last().ID,
		func(m *parley.Message) bool {
			return idOf(m) == r.last().ID && string(m.Content) == string(input.Content)
		})
	if err != nil {
		return begun{}, err
	}
	if first != nil {
		return begun{session: first.SessionID, turn: first.TurnID}, nil
	}
	defer a.streams.Expect(c.session).Close()
	posted, err := a.engine.PostMessage(ctx, x.Principal, c.session, input, once(x, c, r, parley.ID{}))
	if err != nil {
		return begun{}, err
	}
	return begunBy(&posted), nil
}

// once makes a request safe to repeat: clients give each message an id. A message has the same key before its chat has
// a session and after; what is asked again has one in each session of the chat.
func once(x *protocol.Exchange, c *chat, r *request, again parley.ID) store.Idempotency {
	key := x.R.Header.Get(idempotencyHeader)
	last := r.last()
	if key == "" && r.Trigger != triggerRegenerate && last.ID != "" {
		key = hashed(x.Principal.ID.String(), c.name, again.String(), last.ID, string(last.Parts))
	}
	if key == "" {
		return store.Idempotency{}
	}
	return x.Call.Idempotency(key, Prefix, append([]byte(r.Trigger), last.Parts...))
}

// beginNew opens the chat's session.
func (a *api) beginNew(ctx context.Context, x *protocol.Exchange, c *chat, r *request) (begun, error) {
	first, err := a.input(ctx, x, c, r)
	if err != nil {
		return begun{}, err
	}
	opened, err := a.engine.OpenSession(ctx, x.Principal, engine.SessionInput{
		AgentID: c.agent.ID.String(), Message: &first,
	}.Named(foreignProtocol, x.Principal.ID, c.name), once(x, c, r, parley.ID{}))
	if err != nil {
		return begun{}, err
	}
	return begunBy(opened.Posted), a.keep(ctx, x, c, opened.Session.ID)
}

// keep notes the session that the chat goes on in.
func (a *api) keep(ctx context.Context, x *protocol.Exchange, c *chat, session parley.ID) error {
	return a.engine.KeepForeignIDs(ctx, x.Principal, session,
		[]parley.ForeignID{{Protocol: foreignProtocol, Name: c.name}})
}

// beginAgain asks a message of the record again, in other words if the request has some: in a fork, which becomes the
// chat's session. What was said before stays in the session before.
func (a *api) beginAgain(
	ctx context.Context, x *protocol.Exchange, c *chat, r *request, known *parley.Message,
) (begun, error) {
	if turn, again, err := a.askedAnew(ctx, x, c, r, known); again || err != nil {
		return turn, err
	}
	branch := engine.BranchInput{}
	var opened store.Opened
	var err error
	if r.Trigger == triggerRegenerate {
		opened, err = a.engine.Regenerate(ctx, x.Principal, known.ID,
			engine.RegenerateInput{SessionID: c.session, BranchInput: branch}, once(x, c, r, c.session))
	} else {
		var input engine.MessageInput
		if input, err = a.input(ctx, x, c, r); err == nil {
			opened, err = a.engine.EditMessage(ctx, x.Principal, known.ID, engine.EditInput{
				SessionID: c.session, Content: input.Content, BranchInput: branch,
			}, once(x, c, r, c.session))
		}
	}
	if err != nil {
		return begun{}, err
	}
	return begunBy(opened.Posted), a.keep(ctx, x, c, opened.Session.ID)
}

// said finds a message of the user by the id that the client gave it, or by its own; nil if none of the latest has it.
func (a *api) said(ctx context.Context, x *protocol.Exchange, c *chat, id string) (*parley.Message, error) {
	free, err := x.Hold(parley.MaxPageBytes)
	if err != nil {
		return nil, err
	}
	defer free()
	own, _ := parley.ParseID(id)
	paging := engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}
	for range searchPages {
		page, err := a.engine.Messages(ctx, x.Principal, c.session, engine.MessageList{
			Paging: paging, Roles: []parley.Role{parley.RoleUser},
		})
		if err != nil {
			return nil, err
		}
		for i := range page.Data {
			m := &page.Data[i]
			if m.Sequence > 0 && !m.Internal && (m.ID == own || idOf(m) == id) {
				return m, nil
			}
		}
		if page.Next == nil {
			return nil, nil
		}
		paging.Cursor = *page.Next
	}
	return nil, nil
}

// idOf returns the id that a client gave a message; its own if none did.
func idOf(m *parley.Message) string {
	var given clientID
	if json.Unmarshal(m.Metadata, &given) == nil && given.ID != "" {
		return given.ID
	}
	return m.ID.String()
}

// answer passes the decisions and results in an answer's parts on to the turn that waits for them. Each is settled
// once: what was settled before is skipped.
func (a *api) answer(ctx context.Context, x *protocol.Exchange, turn parley.Turn, parts []part) error {
	for i := range parts {
		p := &parts[i]
		if !p.isCall() {
			continue
		}
		var err error
		switch {
		case p.State == stateResponded && p.Approval != nil && p.Approval.Approved != nil:
			err = a.decide(ctx, x.Principal, p.Approval)
		case !p.Executed && (p.State == stateOutput || p.State == stateError):
			err = a.result(ctx, x, turn.SessionID, p)
		}
		if err != nil && parley.ErrorCode(err) != parley.CodeConflict {
			return err
		}
	}
	return nil
}

// decide answers an approval.
func (a *api) decide(ctx context.Context, principal parley.Principal, said *approval) error {
	id, err := parley.ParseID(said.ID)
	if err != nil {
		return parley.InvalidField("approval.id", "is not the id of an approval")
	}
	decision := parley.DecideDeny
	if *said.Approved {
		decision = parley.DecideApprove
	}
	_, err = a.engine.Decide(ctx, principal, id, engine.DecisionInput{Decision: decision, Comment: said.Reason})
	return err
}

// result posts the result of a call that the client has answered.
func (a *api) result(ctx context.Context, x *protocol.Exchange, session parley.ID, p *part) error {
	made := parley.ToolResultContent{Result: p.Output, Success: true}
	if p.State == stateError {
		made = parley.ToolResultContent{Error: &p.ErrorText}
	} else if len(made.Result) == 0 {
		made.Result = json.RawMessage("null")
	}
	content, err := parley.EncodeContent(made)
	if err != nil {
		return err
	}
	_, err = a.engine.PostMessage(ctx, x.Principal, session, engine.MessageInput{
		Role: parley.RoleToolResult, ToolCallID: p.CallID, Content: content,
	}, store.Idempotency{})
	return err
}
