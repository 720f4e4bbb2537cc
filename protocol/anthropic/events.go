package anthropic

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// sessionEvent is an event of a managed session. Its id follows from the record, so that a client which reads the list
// and the stream at once knows what it has.
type sessionEvent struct {
	ID          string          `json:"id"`
	Type        string          `json:"type"`
	ProcessedAt parley.Time     `json:"processed_at"`
	Content     []textBlock     `json:"content,omitempty"`
	Name        string          `json:"name,omitempty"`
	Server      string          `json:"mcp_server_name,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Permission  string          `json:"evaluated_permission,omitempty"`
	CustomID    string          `json:"custom_tool_use_id,omitempty"`
	ServerUseID string          `json:"mcp_tool_use_id,omitempty"`
	UseID       string          `json:"tool_use_id,omitempty"`
	Result      string          `json:"result,omitempty"`
	Deny        string          `json:"deny_message,omitempty"`
	IsError     bool            `json:"is_error,omitempty"`
	Stop        *stopReason     `json:"stop_reason,omitempty"`
	Error       *eventError     `json:"error,omitempty"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type stopReason struct {
	Type   string   `json:"type"`
	Events []string `json:"event_ids,omitempty"`
}

type eventError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Retry   struct {
		Type string `json:"type"`
	} `json:"retry_status"`
}

// ownServer is whose tools the agent's own are in this protocol: the runners leave calls of servers alone.
const ownServer = "parley"

// teller tells what happened in a session in the protocol's terms. One goroutine uses it.
type teller struct {
	api     *api
	x       *protocol.Exchange
	session parley.ID
	custom  map[string]bool // the client's tools
	open    []string        // events of calls that wait for the client, or for somebody's approval
	told    []sessionEvent  // what the last event says
}

// newTeller returns the teller of a session's next events.
func (a *api) newTeller(x *protocol.Exchange, s *parley.Session) (*teller, error) {
	agent, err := a.engine.Agent(x.R.Context(), x.Principal, s.AgentID.String())
	if err != nil {
		return nil, err
	}
	t := &teller{api: a, x: x, session: s.ID, custom: map[string]bool{parley.AskUserTool: true}}
	for _, tools := range []*[]parley.ToolRef{agent.Tools, s.Tools} {
		for _, ref := range parley.ValueOf(tools) {
			if ref.Definition != nil {
				t.custom[ref.Name] = true
			}
		}
	}
	return t, nil
}

// catchUp finds out what the session's running turn waits for.
func (t *teller) catchUp(turn parley.ID) error {
	if turn.IsZero() {
		return nil
	}
	ctx := t.x.R.Context()
	page, err := t.api.engine.Messages(ctx, t.x.Principal, t.session, engine.MessageList{
		Paging: engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}, TurnIDs: []parley.ID{turn},
		Roles: []parley.Role{parley.RoleToolCall, parley.RoleToolResult},
	})
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(page.Data) {
		switch {
		case m.Role == parley.RoleToolResult:
			t.close(m.ToolCallID)
		case t.custom[m.ToolName]:
			t.open = append(t.open, eventPrefix+m.ToolCallID)
		}
	}
	waiting, err := t.api.pending(ctx, t.x.Principal, t.session)
	for i := range waiting {
		t.open = append(t.open, eventPrefix+waiting[i].ToolCallID)
	}
	return err
}

// pending lists a session's open approvals.
func (a *api) pending(ctx context.Context, who parley.Principal, session parley.ID) ([]parley.Approval, error) {
	page, err := a.engine.SessionApprovals(ctx, who, session, engine.ApprovalList{
		Paging: engine.Paging{Limit: parley.MaxPage}, States: []parley.ApprovalState{parley.ApprovalPending},
	})
	return page.Data, err
}

func (t *teller) close(call string) {
	t.open = slices.DeleteFunc(t.open, func(id string) bool { return id == eventPrefix+call })
}

// tell returns what an event of the record says; nothing for most. It is valid until the next call.
func (t *teller) tell(e *parley.Event) ([]sessionEvent, error) {
	t.told = t.told[:0]
	var err error
	switch {
	case e.Type == parley.EventMessageCreated:
		err = reading(e, t.created)
	case e.Type == parley.EventSessionStarted:
		t.add(e, "r", sessionEvent{Type: "session.status_running"})
	case e.Type == parley.EventStepGenerated, e.Type == parley.EventStepError:
		err = reading(e, t.settled)
	case e.Type == parley.EventToolStarted:
		err = reading(e, func(e *parley.Event, tool *event.ToolStarted) error {
			if t.custom[tool.Name] {
				return nil
			}
			return t.call(e, tool.MessageID, tool.ToolCallID, tool.Name, "allow")
		})
	case e.Type == parley.EventApprovalCreated:
		err = reading(e, func(e *parley.Event, asked *event.Approval) error {
			if asked.SessionID != t.session { // of a tool session below
				return nil
			}
			t.open = append(t.open, eventPrefix+asked.ToolCallID)
			return t.call(e, asked.MessageID, asked.ToolCallID, asked.Name, "ask")
		})
	case e.Type == parley.EventApprovalResolved:
		err = reading(e, t.decided)
	case e.Type == parley.EventToolCompleted:
		err = reading(e, t.completed)
	case e.Type == parley.EventSessionWaiting:
		err = reading(e, t.waits)
	case e.Type.EndsTurn():
		err = reading(e, t.ends)
	}
	return t.told, err
}

// reading reads an event's data and passes it on.
func reading[T any](e *parley.Event, to func(*parley.Event, *T) error) error {
	data, err := event.Read[T](e)
	if err != nil {
		return err
	}
	return to(e, data)
}

// add adds an event. id is its own, or the mark of one that has its number's.
func (t *teller) add(e *parley.Event, id string, told sessionEvent) {
	if told.ID = eventPrefix + id; len(id) == 1 {
		told.ID = eventPrefix + strconv.FormatInt(e.Sequence, 10) + id
	}
	told.ProcessedAt = e.CreatedAt
	t.told = append(t.told, told)
}

func (t *teller) message(id parley.ID) (parley.Message, error) {
	return t.api.engine.Message(t.x.R.Context(), t.x.Principal, id)
}

// created tells what somebody said.
func (t *teller) created(e *parley.Event, data *event.MessageCreated) error {
	if data.Role != parley.RoleUser {
		return nil
	}
	m, err := t.message(data.MessageID)
	if err != nil || m.Internal {
		return err
	}
	var content parley.UserContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err
	}
	t.add(e, m.ID.String(), sessionEvent{Type: "user.message", Content: texts(content.Text)})
	return nil
}

func texts(text string) []textBlock { return []textBlock{{"text", text}} }

// settled tells what the model said, and which tools of the client it calls.
func (t *teller) settled(e *parley.Event, step *event.Settled) error {
	for i := range step.Messages {
		m := &step.Messages[i]
		if m.Status == parley.MessageFailed {
			continue
		}
		switch m.Role {
		case parley.RoleAssistant:
			var content parley.AssistantContent
			if err := json.Unmarshal(m.Content, &content); err != nil {
				return err
			}
			if content.Reasoning != "" {
				t.add(e, m.MessageID.String()+"t", sessionEvent{Type: "agent.thinking"})
			}
			if text := content.Text + content.Refusal; text != "" {
				t.add(e, m.MessageID.String(), sessionEvent{Type: "agent.message", Content: texts(text)})
			}
		case parley.RoleToolCall:
			var call parley.ToolCallContent
			if err := json.Unmarshal(m.Content, &call); err != nil {
				return err
			}
			if t.custom[call.Name] && m.Status == parley.MessageCompleted {
				t.open = append(t.open, eventPrefix+call.ID)
				t.add(e, call.ID, sessionEvent{
					Type: "agent.custom_tool_use", Name: call.Name, Input: inputOf(&call),
				})
			}
		}
	}
	return nil
}

// inputOf returns a call's arguments as an object: that is what runners read.
func inputOf(call *parley.ToolCallContent) json.RawMessage {
	if len(call.Arguments) == 0 || call.Arguments[0] != '{' {
		return json.RawMessage("{}")
	}
	return call.Arguments
}

// call tells that a tool of the agent is called.
func (t *teller) call(e *parley.Event, message parley.ID, id, name, permission string) error {
	m, err := t.message(message)
	if err != nil {
		return err
	}
	var call parley.ToolCallContent
	if err := json.Unmarshal(m.Content, &call); err != nil {
		return err
	}
	t.add(e, id, sessionEvent{
		Type: "agent.mcp_tool_use", Name: name, Server: ownServer, Input: inputOf(&call), Permission: permission,
	})
	return nil
}

// decided tells what somebody decided about a call.
func (t *teller) decided(e *parley.Event, asked *event.Approval) error {
	if asked.SessionID != t.session {
		return nil
	}
	t.close(asked.ToolCallID)
	told := sessionEvent{Type: "user.tool_confirmation", UseID: eventPrefix + asked.ToolCallID, Result: "deny"}
	if asked.State == parley.ApprovalApproved {
		told.Result = "allow"
	} else {
		told.Deny = parley.ValueOf(asked.Comment)
	}
	t.add(e, "c", told)
	return nil
}

// completed tells a call's result.
func (t *teller) completed(e *parley.Event, done *event.ToolCompleted) error {
	t.close(done.ToolCallID)
	m, err := t.message(done.MessageID)
	if err != nil {
		return err
	}
	var content parley.ToolResultContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err
	}
	text := content.Plain()
	if content.Error != nil {
		text = *content.Error
	}
	told := sessionEvent{Type: "agent.mcp_tool_result", Content: texts(text), IsError: !done.Success}
	if id := eventPrefix + done.ToolCallID; t.custom[done.Name] {
		told.Type, told.CustomID = "user.custom_tool_result", id
	} else {
		told.ServerUseID = id
	}
	t.add(e, m.ID.String(), told)
	return nil
}

// waits tells that the session is idle until somebody acts.
func (t *teller) waits(e *parley.Event, waiting *event.SessionWaiting) error {
	switch waiting.Reason {
	case parley.WaitChild, parley.WaitRateLimit, parley.WaitOutside: // it continues by itself
		return nil
	case parley.WaitBudget:
		t.idle(e, stopReason{Type: "budget_reached"})
	default:
		t.idle(e, stopReason{"requires_action", slices.Clone(t.open)})
	}
	return nil
}

func (t *teller) idle(e *parley.Event, why stopReason) {
	t.add(e, "i", sessionEvent{Type: "session.status_idle", Stop: &why})
}

// ends tells that a turn ended.
func (t *teller) ends(e *parley.Event, end *event.TurnEnd) error {
	t.open = nil
	why := stopReason{Type: "end_turn"}
	if end.Turn.Status == parley.TurnFailed {
		why.Type = "retries_exhausted" // Parley has tried again by itself
		told := sessionEvent{
			Type:  "session.error",
			Error: &eventError{Type: "unknown_error", Message: "The turn failed."},
		}
		if end.Turn.Error != nil {
			told.Error.Message = end.Turn.Error.Sentence
		}
		told.Error.Retry.Type = "exhausted"
		t.add(e, "e", told)
	}
	t.idle(e, why)
	return nil
}

// listEvents lists a session's events, the oldest first.
func (a *api) listEvents(x *protocol.Exchange) error {
	session, err := a.managedSession(x)
	if err != nil {
		return err
	}
	query := x.R.URL.Query()
	limit, after := parley.MaxPage, int64(0)
	if text := query.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > parley.MaxPage {
			return parley.InvalidField("limit", "must be from 1 to %d", parley.MaxPage)
		}
	}
	if text := query.Get("page"); text != "" {
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return parley.InvalidField("page", "is not a page of this list")
		}
	}
	if order := query.Get("order"); order != "" && order != "asc" {
		return parley.InvalidField("order", "must be asc")
	}
	t, err := a.newTeller(x, &session)
	if err != nil {
		return err
	}
	rows, err := a.engine.Events(x.R.Context(), x.Principal, session.ID, after, limit)
	if err != nil {
		return err
	}
	var page struct {
		Data []sessionEvent `json:"data"`
		Next *string        `json:"next_page"`
	}
	page.Data = []sessionEvent{}
	types := append(query["types[]"], query["types"]...)
	size, held := 0, 0 // events are small, what they tell of is not
	for i := 0; i < len(rows) && size < parley.MaxPageBytes; i++ {
		told, err := t.tell(&rows[i])
		if err != nil {
			return err
		}
		for j := range told {
			if len(types) == 0 || slices.Contains(types, told[j].Type) {
				size += told[j].size()
				page.Data = append(page.Data, told[j])
			}
		}
		if size-held >= eventStep {
			free, err := x.Hold(int64(eventHolds * (size - held)))
			if err != nil {
				return err
			}
			defer free()
			held = size
		}
		if after = rows[i].Sequence; after < session.LastEvent {
			next := strconv.FormatInt(after, 10)
			page.Next = &next
		} else {
			page.Next = nil
		}
	}
	return send(x, page)
}

const (
	eventHolds = 3        // times what it says, an event takes: in the record's form, in the client's, and encoded
	eventStep  = 64 << 10 // bytes that are counted at once
)

// size is about how many bytes the event takes.
func (e *sessionEvent) size() int {
	n := len(e.Name) + len(e.Input) + len(e.Deny)
	for i := range e.Content {
		n += len(e.Content[i].Text)
	}
	if e.Error != nil {
		n += len(e.Error.Message)
	}
	return n
}

// streamEvents streams a session's events from now on.
func (a *api) streamEvents(x *protocol.Exchange) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w watching
	stream.Aside(func() { err = a.watch(x, &w) })
	if err != nil {
		return err
	}
	defer w.from.Close()
	x.Outlast() // else it would keep one of the few places of its principal's reads
	x.W.Header().Set(requestHeader, x.RequestID.String())
	w.frames = protocol.NewFrames(x.W)
	defer w.frames.End()
	if stream.Aside(func() { err = w.frames.Flush() }); err != nil {
		return nil // the client is gone
	}
	if err := w.from.CatchUpAndRelay(x.R.Context(), &w, x.Leave); err != nil && x.R.Context().Err() == nil {
		f := failureOf(x.Problem(err))
		if f.status != http.StatusNotFound { // the session was deleted
			w.frames.Buffer = append(
				append(append(w.frames.Buffer, "event: error\ndata: "...), f.encode()...),
				"\n\n"...)
			_ = w.frames.Flush() // the client may be gone
		}
	}
	return nil
}

// watch opens the stream behind the session's last event.
func (a *api) watch(x *protocol.Exchange, w *watching) error {
	session, err := a.managedSession(x)
	if err != nil {
		return err
	}
	if w.teller, err = a.newTeller(x, &session); err != nil {
		return err
	}
	if err := w.teller.catchUp(session.TurnID); err != nil {
		return err
	}
	w.from, err = a.streams.Open(x.R.Context(), x.Principal, stream.Request{
		Sessions: []stream.Place{{SessionID: session.ID, After: session.LastEvent}}, Flush: x.Flush,
	})
	return err
}

// watching is a stream on its way to its client. It implements stream.Writer.
type watching struct {
	teller *teller
	from   *stream.Stream
	frames *protocol.Frames
}

// Write implements stream.Writer.
func (w *watching) Write(ctx context.Context, from *stream.Stream) error {
	return w.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		if frame.Kind != stream.EventFrame {
			return false, nil
		}
		var told []sessionEvent
		var err error
		stream.Aside(func() { told, err = w.teller.tell(&frame.Event) })
		if err != nil {
			return false, err
		}
		for i := range told {
			data, err := parley.EncodeJSON(&told[i])
			if err != nil {
				return false, err
			}
			b := append(append(append(w.frames.Buffer, "event: "...), told[i].Type...), "\ndata: "...)
			w.frames.Buffer = append(append(b, data...), "\n\n"...)
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (w *watching) Beat() error {
	w.frames.Buffer = append(w.frames.Buffer, "event: ping\ndata: {\"type\":\"ping\"}\n\n"...)
	return w.frames.Flush()
}

// callOf is the call that an event's id names.
func callOf(id string) string { return strings.TrimPrefix(id, eventPrefix) }
