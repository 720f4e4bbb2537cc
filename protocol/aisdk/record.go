package aisdk

import (
	"context"
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// The path under which a file's bytes are read, relative to the server.
const (
	filePath    = "/v1/files/"
	filePathEnd = "/content"
)

// The bounds of what is read of a chat, or of a turn.
const (
	maxRecordPages = 32
	maxRecordBytes = 2 * parley.MaxPageBytes // of content; the row that reaches it is the last

	recordHolds = 2 // times its content, a row takes: in the record's form and in the client's
)

// uiMessage is a message as clients keep it.
type uiMessage struct {
	ID       string          `json:"id"`
	Role     string          `json:"role"`
	Parts    []part          `json:"parts"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// chatMessages is what a client begins with after a reload.
type chatMessages struct {
	Messages  []uiMessage `json:"messages"`
	Truncated bool        `json:"truncated"` // older messages are left out
}

// projection turns rows of the record into the parts of answers. The record is authoritative; a part is what a client
// shows of it.
type projection struct {
	clients   map[string]bool            // tools that clients answer
	approvals map[string]parley.Approval // by call
	step      int                        // of the last part
	calls     map[string]*part           // without a result
}

// project begins a projection of a session. Approvals that are no longer of interest are not read.
func (a *api) project(
	ctx context.Context, principal parley.Principal, c *chat, session *parley.Session, trigger *parley.Message,
) (*projection, error) {
	p := &projection{approvals: map[string]parley.Approval{}, calls: map[string]*part{}}
	p.clients = clientTools(c.agent.Tools, session.Tools, trigger.Settings.Tools)
	page, err := a.engine.SessionApprovals(ctx, principal, c.session, engine.ApprovalList{
		Paging: engine.Paging{Limit: parley.MaxPage},
	})
	if err != nil {
		return nil, err
	}
	for i := range page.Data {
		if held := page.Data[i]; held.SessionID == c.session {
			p.approvals[held.ToolCallID] = held
		}
	}
	return p, nil
}

// clientTools names the tools that a client answers instead of the server, of an agent, its session and its turn.
func clientTools(chosen ...*[]parley.ToolRef) map[string]bool {
	names := map[string]bool{parley.AskUserTool: true}
	for _, tools := range chosen {
		for _, ref := range parley.ValueOf(tools) {
			if ref.Definition != nil {
				names[ref.Name] = true
			}
		}
	}
	return names
}

// add adds a row to an answer's parts.
func (p *projection) add(parts []*part, m *parley.Message) ([]*part, error) {
	if m.Internal || m.Status == parley.MessageFailed || m.Status == parley.MessageStreaming {
		return parts, nil
	}
	if m.Step > 0 && m.Step != p.step && m.Role != parley.RoleToolResult {
		p.step = m.Step
		parts = append(parts, &part{Type: partStep})
	}
	switch m.Role {
	case parley.RoleAssistant:
		var content parley.AssistantContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return parts, err
		}
		return append(parts, partsOf(m.ID, &content)...), nil
	case parley.RoleToolCall:
		var content parley.ToolCallContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return parts, err
		}
		made := p.call(&content)
		p.calls[made.CallID] = made
		return append(parts, made), nil
	case parley.RoleToolResult:
		var content parley.ToolResultContent
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return parts, err
		}
		if made := p.calls[m.ToolCallID]; made != nil {
			p.result(made, &content)
			delete(p.calls, m.ToolCallID)
		}
	}
	return parts, nil
}

// partsOf returns what an assistant said: its reasoning, its text and the sources of that.
func partsOf(id parley.ID, content *parley.AssistantContent) []*part {
	var parts []*part
	text := content.Text
	if text == "" {
		text = content.Refusal
	}
	for _, said := range []struct{ kind, text string }{{partReasoning, content.Reasoning}, {partText, text}} {
		if said.text != "" {
			made := &part{Type: said.kind, Text: &said.text, State: stateDone, Metadata: &ownMetadata{}}
			made.Metadata.Parley.Message = id
			parts = append(parts, made)
		}
	}
	for _, source := range sourcesOf(content) {
		parts = append(parts, &part{Type: partSource, SourceID: source.URL, URL: source.URL, Title: source.Title})
	}
	return parts
}

// sourcesOf returns the web pages that a text cites, each once.
func sourcesOf(content *parley.AssistantContent) []parley.Citation {
	var sources []parley.Citation
	for i := range content.Parts {
		for _, cited := range content.Parts[i].Citations {
			if cited.URL != "" &&
				!slices.ContainsFunc(sources, func(s parley.Citation) bool { return s.URL == cited.URL }) {
				sources = append(sources, cited)
			}
		}
	}
	return sources
}

// call returns the part of a tool call. Tools that the server runs are dynamic: a client knows only its own.
func (p *projection) call(content *parley.ToolCallContent) *part {
	made := &part{CallID: content.ID, State: stateInput, Input: inputOf(content)}
	if p.clients[content.Name] {
		made.Type = partTool + content.Name
	} else {
		made.Type, made.Tool, made.Executed = partDynamic, content.Name, true
	}
	if held, ok := p.approvals[content.ID]; ok {
		made.Approval = &approval{ID: held.ID.String()}
		if held.State == parley.ApprovalPending {
			made.State = stateAsked
		} else {
			approved := held.State == parley.ApprovalApproved
			made.State, made.Approval.Approved = stateResponded, &approved
		}
	}
	return made
}

// inputOf returns a call's arguments: as a text if they are not JSON.
func inputOf(content *parley.ToolCallContent) json.RawMessage {
	if content.ArgumentsText != "" {
		return parley.AppendJSONString(nil, content.ArgumentsText)
	}
	if len(content.Arguments) == 0 {
		return json.RawMessage("null")
	}
	return content.Arguments
}

// result adds its result to a call.
func (p *projection) result(made *part, content *parley.ToolResultContent) {
	switch {
	case content.Success:
		made.State, made.Output = stateOutput, outputOf(content)
	case made.Approval != nil && made.Approval.Approved != nil && !*made.Approval.Approved:
		made.State = stateDenied
	default:
		made.State, made.ErrorText = stateError, parley.ValueOf(content.Error)
	}
}

// outputOf returns a result as one JSON value: its parts if it has several.
func outputOf(content *parley.ToolResultContent) json.RawMessage {
	if len(content.Result) > 0 {
		return content.Result
	}
	if encoded, err := parley.EncodeJSON(content.Parts); err == nil {
		return encoded
	}
	return json.RawMessage("null")
}

// known returns the part in the forms of a version: older clients know no approvals.
func (p *part) known(version int) part {
	made := *p
	if version >= withApprovals {
		return made
	}
	made.Approval = nil
	switch made.State {
	case stateAsked, stateResponded:
		made.State = stateInput
	case stateDenied:
		made.State, made.ErrorText = stateError, "The call was denied."
	}
	return made
}

// ownParts returns the parts of a user's message.
func ownParts(raw json.RawMessage) ([]part, error) {
	var content parley.UserContent
	if err := json.Unmarshal(raw, &content); err != nil {
		return nil, err
	}
	parts := []part{}
	for i := range content.Parts {
		switch p := &content.Parts[i]; {
		case p.Type == parley.PartText:
			parts = append(parts, part{Type: partText, Text: &p.Text})
		case p.HoldsFile():
			parts = append(parts, part{
				Type: partFile, MediaType: p.MediaType, Filename: p.Name,
				URL: filePath + p.FileID.String() + filePathEnd,
			})
		case p.Type == parley.PartLink:
			parts = append(parts, part{Type: partFile, MediaType: "text/html", Filename: p.Title, URL: p.URL})
		}
	}
	return parts, nil
}

// list answers with the chat's messages. The answer of a turn that runs is left out: the client resumes its stream,
// which begins with what was said so far.
func (a *api) list(x *protocol.Exchange) error {
	known, err := version(x.R)
	if err != nil {
		return err
	}
	c, session, err := a.existing(x)
	if err != nil {
		return err
	}
	ctx := x.R.Context()
	rows, whole, free, err := a.rows(x, c.session, engine.MessageList{})
	if err != nil {
		return err
	}
	defer free()
	var running parley.ID
	if !session.TurnID.IsZero() && !waits(&session) {
		running = session.TurnID
	}
	p, err := a.project(ctx, x.Principal, c, &session, &parley.Message{})
	if err != nil {
		return err
	}
	answered := chatMessages{Messages: []uiMessage{}, Truncated: !whole}
	if err := p.messages(&answered, rows, running, known); err != nil {
		return err
	}
	body, err := parley.EncodeJSON(answered)
	if err != nil {
		return err
	}
	x.W.Header().Set(SessionHeader, c.session.String())
	x.W.Header().Set("Content-Type", "application/json")
	_, _ = x.W.Write(body) // the client may be gone
	return nil
}

// waits reports whether a session's turn waits for somebody, so that no stream would bring anything.
func waits(s *parley.Session) bool {
	return s.Status == parley.SessionWaiting && stopsFor(s.WaitReason)
}

// stopsFor reports whether a stream ends while its turn waits for a reason; for others the turn continues by itself.
func stopsFor(reason parley.WaitReason) bool {
	return reason != parley.WaitChild && reason != parley.WaitRateLimit && reason != parley.WaitOutside
}

// rows reads the newest rows of a session, oldest first; whole reports that these are all. Their memory is counted
// until free is called.
func (a *api) rows(
	x *protocol.Exchange, session parley.ID, list engine.MessageList,
) (rows []parley.Message, whole bool, free func(), err error) {
	var held []func()
	free = func() {
		for _, one := range held {
			one()
		}
	}
	defer func() {
		if err != nil {
			free()
		}
	}()
	list.Paging = engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}
	size := 0
	for range maxRecordPages {
		page, err := a.engine.Messages(x.R.Context(), x.Principal, session, list)
		if err != nil {
			return nil, false, free, err
		}
		before, full := size, false
		for i := range page.Data {
			if full = size >= maxRecordBytes; full {
				break
			}
			size += page.Data[i].Size()
			if page.Data[i].Sequence > 0 {
				rows = append(rows, page.Data[i])
			}
		}
		one, err := x.Hold(int64(recordHolds * (size - before)))
		if err != nil {
			return nil, false, free, err
		}
		held = append(held, one)
		if whole = page.Next == nil && !full; whole || full {
			break
		}
		list.Cursor = *page.Next
	}
	slices.Reverse(rows)
	return rows, whole, free, nil
}

// messages adds rows as messages. All that one turn says is one message, which has the turn's id.
func (p *projection) messages(to *chatMessages, rows []parley.Message, running parley.ID, version int) error {
	var parts []*part
	var of *parley.Message // the first row of the answer that parts belong to
	began := map[parley.ID]bool{}
	end := func() {
		if of != nil && len(parts) > 0 {
			id := of.TurnID
			if id.IsZero() || began[id] { // a second answer of a turn that somebody steered
				id = of.ID
			}
			began[of.TurnID] = true
			made := uiMessage{ID: id.String(), Role: "assistant"}
			for _, one := range parts {
				made.Parts = append(made.Parts, one.known(version))
			}
			to.Messages = append(to.Messages, made)
		}
		of, parts, p.step = nil, nil, 0
	}
	for i := range rows {
		m := &rows[i]
		if m.Role == parley.RoleUser {
			if m.Internal {
				continue
			}
			end()
			own, err := ownParts(m.Content)
			if err != nil {
				return err
			}
			to.Messages = append(to.Messages, uiMessage{ID: idOf(m), Role: "user", Parts: own})
			continue
		}
		if !running.IsZero() && m.TurnID == running {
			continue
		}
		if of != nil && of.TurnID != m.TurnID {
			end()
		}
		if of == nil {
			of = m
		}
		var err error
		if parts, err = p.add(parts, m); err != nil {
			return err
		}
	}
	end()
	return nil
}
