package agui

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// frame is an event of the protocol. Each type has some of the members.
type frame struct {
	Type         string          `json:"type"`
	ThreadID     string          `json:"threadId,omitempty"`
	RunID        string          `json:"runId,omitempty"`
	ParentRunID  string          `json:"parentRunId,omitempty"`
	Version      string          `json:"protocolVersion,omitempty"`
	MessageID    string          `json:"messageId,omitempty"`
	Role         string          `json:"role,omitempty"`
	Delta        string          `json:"delta,omitempty"`
	CallID       string          `json:"toolCallId,omitempty"`
	CallName     string          `json:"toolCallName,omitempty"`
	ParentID     string          `json:"parentMessageId,omitempty"`
	Content      json.RawMessage `json:"content,omitempty"`
	ActivityType string          `json:"activityType,omitempty"`
	Step         string          `json:"stepName,omitempty"`
	Messages     json.RawMessage `json:"messages,omitempty"`
	Snapshot     json.RawMessage `json:"snapshot,omitempty"`
	Name         string          `json:"name,omitempty"`
	Value        json.RawMessage `json:"value,omitempty"`
	Event        json.RawMessage `json:"event,omitempty"`
	Source       string          `json:"source,omitempty"`
	SubagentID   string          `json:"subagentRunId,omitempty"`
	Description  string          `json:"description,omitempty"`
	ParentCallID string          `json:"parentToolCallId,omitempty"`
	Message      string          `json:"message,omitempty"`
	Code         string          `json:"code,omitempty"`
	Outcome      *outcome        `json:"outcome,omitempty"`
	Usage        []usage         `json:"usage,omitempty"`
	Metadata     json.RawMessage `json:"metadata,omitempty"`
}

// outcome says why a run, or a subagent's part of one, ended.
type outcome struct {
	Type         string      `json:"type"`
	Interrupts   []interrupt `json:"interrupts,omitempty"`
	InterruptIDs []string    `json:"interruptIds,omitempty"`
	Pending      []string    `json:"pendingToolCallIds,omitempty"`
}

// The types of outcomes.
const (
	outcomeSuccess   = "success"
	outcomeInterrupt = "interrupt"
	outcomeCancelled = "cancelled"
	outcomeSuspended = "suspended"
)

// writer writes a run to its client. It implements stream.Writer.
type writer struct {
	request *request
	api     *api
	x       *protocol.Exchange
	thread  *thread
	turn    parley.ID // zero if none is followed
	after   int64     // the session's last event before
	watch   *stream.Stream
	frames  *protocol.Frames

	retold   json.RawMessage // the messages of a snapshot; nil for none
	state    json.RawMessage // of the application
	recorded []shown         // what the record has of the turn, to be sent first
	held     []func()        // give back the memory of that
	base     parley.Tokens   // what the turn had used before the run
	models   int             // how many models the run has used
	model    parley.ModelID  // the last of them

	texts     map[textKey]*said
	calls     map[string]*callState
	order     []string              // of calls
	streaming map[parley.ID]string  // calls whose arguments stream, by their messages
	agents    map[string]*agentTool // agents that serve as tools; nil until a call may need them
	step      string                // the open one
	spoke     bool                  // in the open step
	joined    int                   // the step that ran when the client came; 0 for none
	patient   bool                  // the client waits for a limit to be raised
	ending    *frame                // what ends the run; nil while it goes on
}

// said is how much of a text the client has.
type said struct {
	sent int // bytes
	open bool
	all  bool // the client has it from before
}

// callState is how much of a tool call the client has.
type callState struct {
	ours           bool // the run began it
	open, complete bool
	sent           int    // bytes of arguments
	subagent       string // that works on it; "" for none
}

// agentTool is an agent that serves as a tool.
type agentTool struct{ slug, description string }

func newWriter(a *api, x *protocol.Exchange, t *thread, r *request) *writer {
	return &writer{api: a, x: x, thread: t, request: r, texts: map[textKey]*said{}, calls: map[string]*callState{},
		streaming: map[parley.ID]string{}}
}

// answer writes the run.
func (w *writer) answer() error {
	if w.watch != nil {
		defer w.watch.Close()
	}
	defer w.free()
	w.x.Outlast()
	w.request.Messages, w.request.results, w.request.said = nil, nil, nil
	header := w.x.W.Header()
	if !w.thread.session.IsZero() {
		header.Set(SessionHeader, w.thread.session.String())
	}
	header.Set("X-Request-Id", w.x.RequestID.String())
	w.frames = protocol.NewFrames(w.x.W)
	defer w.frames.End()
	ctx := w.x.R.Context()
	var err error
	stream.Aside(func() { err = w.begin(ctx) })
	w.free()
	switch {
	case err == nil && w.turn.IsZero() && w.ending == nil:
		w.ending = &frame{Type: "RUN_FINISHED", Outcome: &outcome{Type: outcomeSuccess}}
	case err == nil && w.ending == nil:
		err = w.watch.CatchUpAndRelay(ctx, w, w.x.Leave)
	}
	switch {
	case ctx.Err() != nil:
		return nil // the client is gone; the turn continues
	case err != nil:
		problem := w.x.Problem(err)
		w.ending = &frame{Type: "RUN_ERROR", Message: problem.Detail, Code: string(problem.Code)}
	case w.ending == nil:
		w.ending = &frame{Type: "RUN_ERROR", Code: string(parley.CodeUnavailable),
			Message: "The stream ended before the answer, which continues. Connect again."}
	}
	w.end()
	_ = w.frames.Flush() // the client may be gone
	return nil
}

// begin opens the run, and sends what there is already.
func (w *writer) begin(ctx context.Context) error {
	r := w.request
	opens := &frame{
		Type: "RUN_STARTED", ThreadID: r.ThreadID, RunID: r.RunID, ParentRunID: r.Parent, Version: protocolVersion,
	}
	if !w.thread.session.IsZero() {
		b := w.thread.session.AppendJSON([]byte(`{"parley":{"session_id":`))
		if !w.turn.IsZero() {
			b = w.turn.AppendJSON(append(b, `,"turn_id":`...))
		}
		opens.Metadata = append(b, "}}"...)
	}
	w.put(opens)
	for _, warning := range r.warnings {
		w.put(&frame{Type: "CUSTOM", Name: "parley.warning", Value: parley.AppendJSONString(nil, warning)})
	}
	if w.retold != nil {
		w.put(&frame{Type: "MESSAGES_SNAPSHOT", Messages: w.retold})
		w.retold = nil
	}
	if len(w.state) > 0 {
		w.put(&frame{Type: "STATE_SNAPSHOT", Snapshot: w.state})
	}
	for i := range w.recorded {
		w.tell(ctx, &w.recorded[i])
		w.recorded[i] = shown{}
		if len(w.frames.Buffer) >= protocol.FullBuffer && w.frames.Flush() != nil {
			return stream.ErrGone
		}
	}
	w.recorded = nil
	return nil
}

// end closes what the run has opened, and the run.
func (w *writer) end() {
	last := w.ending
	if last.Type == "RUN_ERROR" { // it ends everything
		w.put(last)
		return
	}
	for key := range w.texts {
		w.endText(key)
	}
	for _, id := range w.order {
		w.endCall(id)
	}
	w.endStep()
	for _, id := range w.order {
		state := w.calls[id]
		switch {
		case state.subagent == "" || state.complete:
		case last.Outcome.Type == outcomeInterrupt:
			suspended := &outcome{Type: outcomeSuspended}
			for i := range last.Outcome.Interrupts {
				if one := &last.Outcome.Interrupts[i]; one.SubagentID == state.subagent {
					suspended.InterruptIDs = append(suspended.InterruptIDs, one.ID)
				}
			}
			w.put(&frame{Type: "SUBAGENT_FINISHED", SubagentID: state.subagent, Outcome: suspended})
		default:
			w.put(&frame{
				Type: "SUBAGENT_ERROR", SubagentID: state.subagent, Message: "The turn ended before its agent's work.",
			})
		}
		if last.Outcome.Type == outcomeSuccess && state.ours && !state.complete {
			last.Outcome.Pending = append(last.Outcome.Pending, id)
		}
	}
	last.ThreadID, last.RunID = w.request.ThreadID, w.request.RunID
	w.put(last)
}

// put adds an event to the frames.
func (w *writer) put(f *frame) {
	encoded, err := parley.EncodeJSON(f)
	if err != nil { // what the record holds always encodes
		return
	}
	b := append(append(w.frames.Buffer, "data: "...), encoded...)
	w.frames.Buffer = append(b, "\n\n"...)
}

// putText adds an event about a text that has no other members than, perhaps, one more.
func (w *writer) putText(kind string, key textKey, more string) {
	b := append(append(append(w.frames.Buffer, `data: {"type":"`...), kind...), `","messageId":"`...)
	b = append(key.appendTo(b), '"')
	w.frames.Buffer = append(append(b, more...), "}\n\n"...)
}

// tell sends a message as far as the client does not have it.
func (w *writer) tell(ctx context.Context, s *shown) {
	switch {
	case s.Role == roleTool:
		w.complete(s)
	case len(s.Calls) > 0:
		w.showCall(ctx, s)
	case s.Role == roleActivity:
		if !w.request.has[s.ID] {
			w.request.has[s.ID] = true
			w.put(&frame{
				Type: "ACTIVITY_SNAPSHOT", MessageID: s.ID, ActivityType: s.Activity, Content: s.Content,
			})
		}
	case s.text != "":
		w.say(s.key, 0, s.text)
		w.endText(s.key)
	}
}

// text returns how much the client has of a text.
func (w *writer) text(key textKey) *said {
	t := w.texts[key]
	if t == nil {
		t = &said{all: w.request.has[key.String()]}
		w.texts[key] = t
	}
	return t
}

// say sends what the client does not have yet of a text, of which some begins at an offset.
func (w *writer) say(key textKey, offset int, text string) {
	t := w.text(key)
	if t.all || offset > t.sent || offset+len(text) <= t.sent {
		return // a gap is filled when the step settles
	}
	kind := "TEXT_MESSAGE_CONTENT"
	if key.kind == parley.KindReasoning {
		kind = "REASONING_MESSAGE_CONTENT"
	}
	if !t.open {
		t.open, w.spoke = true, true
		if key.kind == parley.KindReasoning {
			w.putText("REASONING_START", key, "")
			w.putText("REASONING_MESSAGE_START", key, `,"role":"reasoning"`)
		} else {
			w.endText(textKey{key.message, parley.KindReasoning})
			w.putText("TEXT_MESSAGE_START", key, `,"role":"assistant"`)
		}
	}
	text = text[t.sent-offset:]
	t.sent += len(text)
	b := append(append(append(w.frames.Buffer, `data: {"type":"`...), kind...), `","messageId":"`...)
	b = append(key.appendTo(b), `","delta":`...)
	w.frames.Buffer = append(parley.AppendJSONString(b, text), "}\n\n"...)
}

// endText ends an open text.
func (w *writer) endText(key textKey) {
	t := w.texts[key]
	if t == nil || !t.open {
		return
	}
	t.open, t.all = false, true
	if key.kind == parley.KindReasoning {
		w.putText("REASONING_MESSAGE_END", key, "")
		w.putText("REASONING_END", key, "")
		return
	}
	w.putText("TEXT_MESSAGE_END", key, "")
}

// endStep ends the open step.
func (w *writer) endStep() {
	if w.step != "" {
		w.put(&frame{Type: "STEP_FINISHED", Step: w.step})
		w.step = ""
	}
	w.spoke = false
}

// call returns the state of a call.
func (w *writer) call(id string) *callState {
	state := w.calls[id]
	if state == nil {
		state = &callState{complete: w.request.called[resultOf(id)]}
		if w.request.called[id] {
			state.sent = -1
		}
		w.calls[id] = state
		w.order = append(w.order, id)
	}
	return state
}

// openCall begins a call, unless the client has it.
func (w *writer) openCall(id, name, message string) *callState {
	state := w.call(id)
	if state.sent == 0 && !state.ours {
		state.ours, state.open = true, true
		w.put(&frame{Type: "TOOL_CALL_START", CallID: id, CallName: name, ParentID: message})
	}
	return state
}

// argue sends a piece of a call's arguments.
func (w *writer) argue(id string, state *callState, offset int, text string) {
	if !state.open || offset > state.sent || offset+len(text) <= state.sent {
		return
	}
	text = text[state.sent-offset:]
	state.sent += len(text)
	w.put(&frame{Type: "TOOL_CALL_ARGS", CallID: id, Delta: text})
}

// endCall ends a call's arguments.
func (w *writer) endCall(id string) {
	if state := w.calls[id]; state.open {
		state.open = false
		w.put(&frame{Type: "TOOL_CALL_END", CallID: id})
	}
}

// showCall sends a call with its arguments.
func (w *writer) showCall(ctx context.Context, s *shown) {
	one := &s.Calls[0]
	state := w.openCall(one.ID, one.Function.Name, s.ID)
	w.argue(one.ID, state, 0, one.Function.Arguments)
	w.endCall(one.ID)
	if id, err := parley.ParseID(s.ID); err == nil && !state.ours && !state.complete {
		w.delegated(ctx, one.ID, one.Function.Name, id, true)
	}
}

// complete sends a call's result.
func (w *writer) complete(s *shown) {
	state := w.call(s.CallID)
	if state.complete || !state.ours && !w.request.called[s.CallID] {
		return
	}
	state.complete = true
	w.put(&frame{Type: "TOOL_CALL_RESULT", MessageID: s.ID, CallID: s.CallID, Content: s.Content, Role: roleTool})
	switch {
	case state.subagent == "":
	case s.Error != "":
		w.put(&frame{Type: "SUBAGENT_ERROR", SubagentID: state.subagent, Message: s.Error})
	default:
		w.put(&frame{
			Type: "SUBAGENT_FINISHED", SubagentID: state.subagent, Outcome: &outcome{Type: outcomeSuccess},
		})
	}
}

// Write implements stream.Writer.
func (w *writer) Write(ctx context.Context, from *stream.Stream) error {
	return w.frames.Pass(ctx, from, func(f *stream.Frame) (bool, error) {
		switch f.Kind {
		case stream.DeltaFrame:
			d := &f.Delta
			if d.Kind == parley.KindArguments {
				w.arguments(w.x.R.Context(), d.MessageID, d.Offset, d.Text)
			} else {
				w.say(textKey{d.MessageID, d.Kind}, d.Offset, d.Text)
			}
		case stream.EventFrame:
			err := w.happened(w.x.R.Context(), &f.Event)
			return w.ending != nil, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (w *writer) Beat() error { return w.frames.Beat() }
