package openai

import (
	"context"
	"encoding/json"
	"strconv"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// agentWatch streams what happens in a session. It implements stream.Writer.
type agentWatch struct {
	api     *api
	x       *protocol.Exchange
	place   *agentPlace
	clients map[string]bool // tools that clients answer
	watch   *stream.Stream
	frames  *protocol.Frames
	number  int // of the next event: it makes its id

	untilIdle bool // the stream ends when the session has nothing to do
	nothing   bool // it has nothing to do
	gone      bool // the client is

	turn  parley.ID              // whose events were sent last
	index int                    // of its next item
	shown map[parley.ID]agentRow // rows whose item was added and is not done

	current parley.ID          // the message that streams
	kind    parley.ContentKind // of the item that is open; "" for none
	have    []byte             // its text, as far as it was sent
	done    parley.ID          // the last message that was settled
}

// agentRow is an item that is not done.
type agentRow struct {
	index int
	call  parley.ToolCallContent
	id    parley.ID // of the call's message
}

// agentWatch opens the stream of a session after one of its events.
func (a *api) agentWatch(x *protocol.Exchange, p *agentPlace, after int64) (*agentWatch, error) {
	ctx := x.R.Context()
	agent, err := a.engine.Agent(ctx, x.Principal, p.session.AgentID.String())
	if err != nil {
		return nil, err
	}
	w := &agentWatch{
		api: a, x: x, place: p, clients: clientTools(agent.Tools, p.session.Tools), turn: p.session.TurnID,
		shown: map[parley.ID]agentRow{},
	}
	if after == 0 {
		w.turn = parley.ID{}
	}
	w.watch, err = a.streams.Open(ctx, x.Principal, stream.Request{
		Sessions: []stream.Place{{SessionID: p.session.ID, After: after}}, Flush: x.Flush,
	})
	return w, err
}

// answer sends the session as it is, and then what happens.
func (w *agentWatch) answer() error {
	defer w.watch.Close()
	w.x.Outlast()
	ctx := w.x.R.Context()
	w.frames = protocol.NewFrames(w.x.W)
	defer w.frames.End()
	kind := "agent.session." + sessionState(&w.place.session)
	if w.untilIdle {
		kind = "agent.session.created"
	}
	var err error
	stream.Aside(func() { err = w.session(ctx, kind) })
	if err == nil && !w.nothing {
		err = w.watch.CatchUpAndRelay(ctx, w, w.x.Leave)
	}
	if err != nil && ctx.Err() == nil {
		f := failureOf(w.x.Problem(err))
		w.open("error")
		w.member("error", f.shape())
		w.close()
	}
	if len(w.frames.Buffer) > 0 {
		_ = w.frames.Flush() // the client may be gone
	}
	return nil
}

// shape is a failure as an object inside another.
func (f *failure) shape() json.RawMessage {
	body := f.encode()
	return body[len(`{"error":`) : len(body)-1]
}

// Write implements stream.Writer.
func (w *agentWatch) Write(ctx context.Context, from *stream.Stream) error {
	err := w.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		if w.gone {
			return false, stream.ErrGone
		}
		switch frame.Kind {
		case stream.DeltaFrame:
			w.grow(frame.Delta.MessageID, frame.Delta.Kind, frame.Delta.Offset, frame.Delta.Text)
		case stream.EventFrame:
			return w.happened(w.x.R.Context(), &frame.Event)
		}
		return false, nil
	})
	if cap(w.have) > pieceBytes<<10 && w.kind == "" {
		w.have = nil // an idle stream keeps none
	}
	return err
}

// Beat implements stream.Writer.
func (w *agentWatch) Beat() error { return w.frames.Beat() }

// open begins an event about the session.
func (w *agentWatch) open(kind string) {
	b := append(append(w.frames.Buffer, "event: "...), kind...)
	b = append(append(append(b, "\ndata: {\"type\":\""...), kind...), `","event_id":"evt_`...)
	b = strconv.AppendInt(append(append(b, w.x.RequestID.String()...), '_'), int64(w.number), 10)
	w.number++
	b = parley.AppendJSONString(append(b, `","session_id":`...), w.place.id)
	w.frames.Buffer = b
}

// about begins an event about the turn.
func (w *agentWatch) about(kind string) {
	w.open("agent.session.turn." + kind)
	w.member("turn_id", turnName(w.turn))
}

// item writes an event about an item; index is negative for one that is not the agent's.
func (w *agentWatch) item(kind string, index int, item any) {
	w.about("item." + kind)
	if index < 0 {
		w.member("output_index", nil)
	} else {
		w.member("output_index", index)
	}
	w.member("item", item)
	w.close()
}

// part writes an event about a part of the item that is open.
func (w *agentWatch) part(kind, id, member string, value any) {
	w.about(kind)
	w.member("item_id", id)
	w.member("output_index", w.index)
	if w.kind == parley.KindReasoning {
		w.frames.Buffer = append(w.frames.Buffer, `,"summary_index":0`...)
	} else {
		w.frames.Buffer = append(w.frames.Buffer, `,"content_index":0`...)
	}
	w.member(member, value)
	w.close()
}

func (w *agentWatch) close() {
	w.frames.Buffer = append(w.frames.Buffer, "}\n\n"...)
	if len(w.frames.Buffer) >= protocol.FullBuffer && w.frames.Flush() != nil {
		w.frames.Buffer, w.gone = w.frames.Buffer[:0], true
	}
}

// member adds a member to an event.
func (w *agentWatch) member(name string, value any) {
	w.frames.Buffer = appendMember(w.frames.Buffer, name, value)
}

// session reads the session, and writes an event with it.
func (w *agentWatch) session(ctx context.Context, kind string) error {
	s, err := w.api.engine.Session(ctx, w.x.Principal, w.place.session.ID)
	if err != nil {
		return err
	}
	w.place.session = s
	o, err := w.api.agentSessionObject(ctx, w.x.Principal, &s)
	if err != nil {
		return err
	}
	if kind == "" {
		kind = "agent.session." + o.Status
		for i := range o.RequiredActions {
			w.asks(&o.RequiredActions[i])
		}
	}
	w.open(kind)
	w.member("session", o)
	w.close()
	return nil
}

// asks shows a call that the client answers. Only now: while its turn runs, no output is taken.
func (w *agentWatch) asks(action *requiredAction) {
	if _, shown := w.shown[action.message]; shown || action.message.IsZero() {
		return
	}
	row := agentRow{index: w.index, id: action.message, call: parley.ToolCallContent{
		ID: action.CallID, Name: action.Name, Arguments: action.Arguments,
	}}
	w.shown[action.message] = row
	w.item("added", row.index, newAgentCall(row.id, action.TurnID, &row.call))
	w.index++
}

// happened follows the session.
func (w *agentWatch) happened(ctx context.Context, e *parley.Event) (over bool, err error) {
	switch {
	case e.Type.EndsTurn():
		end, err := event.Read[event.TurnEnd](e)
		if err != nil {
			return false, err
		}
		w.abandon()
		w.ended(&end.Turn)
		stream.Aside(func() { err = w.session(ctx, "") })
		return w.untilIdle && sessionState(&w.place.session) == sessionIdle, err
	case e.Type == parley.EventSessionStarted:
		started, err := event.Read[event.SessionStarted](e)
		if err != nil {
			return false, err
		}
		stream.Aside(func() { err = w.started(ctx, started.TurnID) })
	case e.Type == parley.EventMessageCreated:
		made, err := event.Read[event.MessageCreated](e)
		if err != nil {
			return false, err
		}
		if made.Role == parley.RoleUser || made.Role == parley.RoleToolResult {
			stream.Aside(func() { err = w.said(ctx, made.MessageID) })
		}
	case e.Type == parley.EventSessionWaiting:
		waiting, err := event.Read[event.SessionWaiting](e)
		if err != nil {
			return false, err
		}
		if forClient(waiting.Reason) || waiting.Reason == parley.WaitApproval {
			stream.Aside(func() { err = w.session(ctx, "") })
		}
	case e.Type == parley.EventStepStarted:
		step, err := event.Read[event.StepStarted](e)
		if err != nil {
			return false, err
		}
		w.abandon()
		w.current = step.MessageID
	case e.Type == parley.EventStepGenerated, e.Type == parley.EventStepError:
		step, err := event.Read[event.Settled](e)
		if err != nil {
			return false, err
		}
		w.settled(step)
	case e.Type == parley.EventToolCompleted:
		done, err := event.Read[event.ToolCompleted](e)
		if err != nil {
			return false, err
		}
		stream.Aside(func() { err = w.said(ctx, done.MessageID) })
	}
	return false, err
}

// started says that a turn runs, for the first time or again.
func (w *agentWatch) started(ctx context.Context, id parley.ID) error {
	if err := w.session(ctx, "agent.session.in_progress"); err != nil {
		return err
	}
	if err := w.begins(ctx, id); err != nil {
		return err
	}
	return w.aboutTurn(ctx, "in_progress", id)
}

// begins says that a turn was created, unless the client knows.
func (w *agentWatch) begins(ctx context.Context, id parley.ID) error {
	if w.turn == id {
		return nil
	}
	w.turn, w.index, w.shown = id, 0, map[parley.ID]agentRow{}
	return w.aboutTurn(ctx, "created", id)
}

// aboutTurn reads a turn, and writes an event with it: as it was then, since it may have gone on.
func (w *agentWatch) aboutTurn(ctx context.Context, kind string, id parley.ID) error {
	t, err := w.api.engine.Turn(ctx, w.x.Principal, id)
	if err != nil {
		return err
	}
	o := newTurn(&t, w.place)
	o.CompletedAt, o.Error, o.Usage, o.Status = nil, nil, nil, statusInProgress
	if kind == "created" {
		o.Status = statusQueued
	}
	w.about(kind)
	w.member("turn", o)
	w.close()
	return nil
}

// ended says how a turn ended.
func (w *agentWatch) ended(t *parley.Turn) {
	w.turn = t.ID
	o := newTurn(t, w.place)
	w.about(o.Status)
	w.member("turn", o)
	w.member("usage", o.Usage)
	w.close()
}

// said shows a message of the user, or the result of a call.
func (w *agentWatch) said(ctx context.Context, id parley.ID) error {
	m, err := w.api.engine.Message(ctx, w.x.Principal, id)
	if err != nil || m.Internal || m.TurnID.IsZero() {
		return err
	}
	if m.Role == parley.RoleUser {
		if err := w.begins(ctx, m.TurnID); err != nil {
			return err
		}
		items, err := agentItems(&m, nil, nil, false)
		if err == nil {
			w.item("added", -1, items[0])
		}
		return err
	}
	var content parley.ToolResultContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err
	}
	for key, row := range w.shown {
		if row.call.ID != m.ToolCallID {
			continue
		}
		delete(w.shown, key)
		if !w.clients[row.call.Name] {
			w.item("done", row.index, newToolCall(row.id, m.TurnID, &row.call, &content))
			return nil
		}
		item := newAgentCall(row.id, turnName(m.TurnID), &row.call)
		item.Status = statusCompleted
		w.item("done", row.index, item)
		w.item("added", -1, newOutput(&m, &content))
	}
	return nil
}

// grow adds a piece to the text of a message.
func (w *agentWatch) grow(message parley.ID, kind parley.ContentKind, offset int, text string) {
	if w.current.IsZero() && offset == 0 && message != w.done { // the client came in the middle of it
		w.current = message
	}
	if message != w.current || kind != parley.KindText && kind != parley.KindReasoning {
		return
	}
	if kind != w.kind {
		if offset > 0 || kind == parley.KindReasoning && w.kind != "" {
			return // it is in the whole
		}
		w.endReasoning(statusCompleted, nil)
		w.begin(kind)
	}
	if offset > len(w.have) || offset+len(text) <= len(w.have) {
		return
	}
	w.say(text[len(w.have)-offset:])
}

// say sends a piece of the open text.
func (w *agentWatch) say(text string) {
	if text == "" {
		return
	}
	w.have = append(w.have, text...)
	if w.kind == parley.KindReasoning {
		w.part("reasoning_summary_text.delta", reasoningPrefix+w.current.String(), "delta", text)
	} else {
		w.part("output_text.delta", messagePrefix+w.current.String(), "delta", text)
	}
}

// begin opens an item with a text.
func (w *agentWatch) begin(kind parley.ContentKind) {
	w.kind, w.have = kind, w.have[:0]
	turn := turnName(w.turn)
	if kind == parley.KindReasoning {
		item := newAgentReasoning(w.current, turn, statusInProgress)
		w.item("added", w.index, item)
		w.part("reasoning_summary_part.added", item.ID, "part", plainText{"summary_text", ""})
		return
	}
	item := newAgentMessage(w.current, turn, "assistant", statusInProgress, "")
	w.item("added", w.index, item)
	w.part("content_part.added", item.ID, "part", plainText{"output_text", ""})
}

// endReasoning ends the reasoning that is open, if any; whole is all of it if that is known.
func (w *agentWatch) endReasoning(status string, whole *string) {
	if w.kind != parley.KindReasoning {
		return
	}
	if whole != nil && len(*whole) > len(w.have) {
		w.say((*whole)[len(w.have):])
	}
	part := plainText{"summary_text", string(w.have)}
	item := newAgentReasoning(w.current, turnName(w.turn), status, part)
	w.part("reasoning_summary_text.done", item.ID, "text", part.Text)
	w.part("reasoning_summary_part.done", item.ID, "part", part)
	w.item("done", w.index, item)
	w.kind = ""
	w.index++
}

// endText ends the text that is open, if any.
func (w *agentWatch) endText(status, phase string) {
	if w.kind != parley.KindText {
		return
	}
	part := plainText{"output_text", string(w.have)}
	item := newAgentMessage(w.current, turnName(w.turn), "assistant", status, phase, part)
	w.part("output_text.done", item.ID, "text", part.Text)
	w.part("content_part.done", item.ID, "part", part)
	w.item("done", w.index, item)
	w.kind = ""
	w.index++
}

// abandon ends items whose message was never settled in sight.
func (w *agentWatch) abandon() {
	w.endReasoning(statusIncomplete, nil)
	w.endText(statusIncomplete, phaseCommentary)
	w.current = parley.ID{}
}

// settled writes what is missing of a step.
func (w *agentWatch) settled(step *event.Settled) {
	w.turn = step.TurnID
	called := false
	for i := range step.Messages {
		called = called || step.Messages[i].Role == parley.RoleToolCall
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		if len(m.Content) == 0 || !m.Status.Settled() {
			continue
		}
		switch m.Role {
		case parley.RoleAssistant:
			w.settleText(m, called)
		case parley.RoleToolCall:
			row := agentRow{id: m.MessageID, index: w.index}
			if json.Unmarshal(m.Content, &row.call) != nil || w.clients[row.call.Name] ||
				m.Status == parley.MessageFailed {
				continue
			}
			w.shown[m.MessageID] = row
			w.item("added", row.index, newToolCall(row.id, step.TurnID, &row.call, nil))
			w.index++
		}
	}
	w.abandon()
}

// settleText ends the items of an assistant's message.
func (w *agentWatch) settleText(m *event.SettledMessage, called bool) {
	var content parley.AssistantContent
	if json.Unmarshal(m.Content, &content) != nil {
		return
	}
	if m.MessageID != w.current {
		w.abandon()
		w.current = m.MessageID
	}
	w.done = m.MessageID
	status := itemStatus(m.Status)
	if w.kind == "" && content.Reasoning != "" {
		w.begin(parley.KindReasoning)
	}
	w.endReasoning(status, &content.Reasoning)
	text := spoken(&content)
	if w.kind == "" && text != "" {
		w.begin(parley.KindText)
	}
	if w.kind == parley.KindText && len(text) > len(w.have) {
		w.say(text[len(w.have):])
	}
	w.endText(status, phaseOf(called))
}
