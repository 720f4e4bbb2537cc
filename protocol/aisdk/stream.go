package aisdk

import (
	"context"
	"encoding/json"
	"net/http"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// streamHeader tells clients the protocol of a stream.
const streamHeader = "X-Vercel-AI-UI-Message-Stream"

// chunk is a frame of the stream. Each type has some of the members.
type chunk struct {
	Type         string          `json:"type"`
	ID           string          `json:"id,omitempty"`
	MessageID    string          `json:"messageId,omitempty"`
	CallID       string          `json:"toolCallId,omitempty"`
	Tool         string          `json:"toolName,omitempty"`
	Dynamic      bool            `json:"dynamic,omitempty"`
	Executed     bool            `json:"providerExecuted,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	InputDelta   string          `json:"inputTextDelta,omitempty"`
	Output       json.RawMessage `json:"output,omitempty"`
	ErrorText    string          `json:"errorText,omitempty"`
	ApprovalID   string          `json:"approvalId,omitempty"`
	SourceID     string          `json:"sourceId,omitempty"`
	URL          string          `json:"url,omitempty"`
	Title        string          `json:"title,omitempty"`
	Data         any             `json:"data,omitempty"`
	Transient    bool            `json:"transient,omitempty"`
	Reason       string          `json:"reason,omitempty"`
	FinishReason string          `json:"finishReason,omitempty"`
	Metadata     any             `json:"messageMetadata,omitempty"`
	Own          *ownMetadata    `json:"providerMetadata,omitempty"`
}

// begins is the metadata of an answer from its beginning on, and ends what its end adds.
type (
	begins struct {
		Session parley.ID `json:"session_id"`
		Turn    parley.ID `json:"turn_id"`
	}
	ends struct {
		Status parley.TurnStatus `json:"status"`
		Usage  parley.Tokens     `json:"usage"`
		Cost   *parley.Money     `json:"cost"`
	}
)

// send answers the messages of a chat with the stream of the turn that they begin, or go on with.
func (a *api) send(x *protocol.Exchange) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w *writer
	stream.Aside(func() { w, err = a.begun(x) })
	if err != nil {
		return err
	}
	return w.answer()
}

// begun does what the request asks for, and opens the turn's stream.
func (a *api) begun(x *protocol.Exchange) (*writer, error) {
	ctx := x.R.Context()
	known, err := version(x.R)
	if err != nil {
		return nil, err
	}
	r, err := decode(x.Body)
	if err != nil {
		return nil, err
	}
	c, err := a.chatOf(ctx, x.Principal, x.R.PathValue("agent"), r.ID)
	if err != nil {
		return nil, err
	}
	w := newWriter(a, x, c, known)
	switch last := r.last(); {
	case last.Role == "user":
		turn, err := a.begin(ctx, x, c, r)
		if err != nil {
			return nil, err
		}
		w.turn, w.request = turn, r
	case last.Role == "assistant" && r.Trigger != triggerRegenerate && !c.session.IsZero():
		parts, err := last.read()
		if err != nil {
			return nil, err
		}
		session, err := a.engine.Session(ctx, x.Principal, c.session)
		if err != nil {
			return nil, err
		}
		id, err := parley.ParseID(last.ID)
		if err != nil {
			id = session.TurnID
		}
		turn, err := a.engine.Turn(ctx, x.Principal, id)
		if err != nil {
			return nil, err
		}
		if turn.SessionID != c.session {
			return nil, parley.InvalidField("messages", "the last answer is not of this chat")
		}
		if err := a.answer(ctx, x, turn, parts); err != nil {
			return nil, err
		}
		w.has(parts)
		if err := w.fromRecord(ctx, turn.ID); err != nil {
			w.free()
			return nil, err
		}
	default:
		return nil, parley.InvalidField("messages", "the last one must be of the user, or an answer of this chat")
	}
	return w, w.open(ctx)
}

// resume replays the answer of the turn that runs, and goes on with it. 204 if no turn runs.
func (a *api) resume(x *protocol.Exchange) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w *writer
	stream.Aside(func() { w, err = a.resumed(x) })
	if err != nil {
		return err
	}
	if w == nil {
		x.W.WriteHeader(http.StatusNoContent)
		return nil
	}
	return w.answer()
}

// resumed opens the stream of the chat's turn; nil if none runs.
func (a *api) resumed(x *protocol.Exchange) (*writer, error) {
	known, err := version(x.R)
	if err != nil {
		return nil, err
	}
	ctx := x.R.Context()
	c, err := a.chatOf(ctx, x.Principal, x.R.PathValue("agent"), x.R.PathValue("chat"))
	if err != nil {
		return nil, err
	}
	if c.session.IsZero() {
		return nil, nil
	}
	session, err := a.engine.Session(ctx, x.Principal, c.session)
	if err != nil {
		return nil, err
	}
	if session.TurnID.IsZero() || waits(&session) {
		return nil, nil
	}
	w := newWriter(a, x, c, known)
	if err := w.fromRecord(ctx, session.TurnID); err != nil {
		w.free()
		return nil, err
	}
	return w, w.open(ctx)
}

// writer writes a turn's stream to its client. It implements stream.Writer.
type writer struct {
	*projection // nil until the first call needs it; see project

	request *request // that began the turn; nil if the record has it
	api     *api
	x       *protocol.Exchange
	chat    *chat
	version int
	turn    begun
	watch   *stream.Stream
	frames  *protocol.Frames

	recorded []*part      // what the record has of the turn, to be sent first
	free     func()       // gives back the memory of recorded, more than once if need be
	state    *parley.Turn // the turn as it was before that was read; nil if it has just begun
	texts    map[textKey]*said
	calls    map[string]*callState
	sources  map[string]bool
	ids      []streamed // calls whose arguments stream
	inStep   bool
	last     parley.ID            // the last message with text
	stopped  *parley.FinishReason // why the last answer ended; nil if no event told
	over     bool                 // the stream is complete
}

func newWriter(a *api, x *protocol.Exchange, c *chat, version int) *writer {
	return &writer{
		api: a, x: x, chat: c, version: version, texts: map[textKey]*said{}, calls: map[string]*callState{},
		sources: map[string]bool{}, free: func() {},
	}
}

// textKey names a text that grows.
type textKey struct {
	message parley.ID
	kind    parley.ContentKind
}

// said is how much of a text the client has.
type said struct {
	sent int // bytes
	open bool
	all  bool // the client has it from before
}

// callState is how much of a tool call the client has.
type callState struct {
	started, shown, asked, completed bool
	denied                           bool
}

// has notes what the client has of the answer already.
func (w *writer) has(parts []part) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.isCall():
			w.calls[p.CallID] = &callState{
				started: true, shown: true, asked: p.Approval != nil,
				completed: p.State == stateOutput || p.State == stateError || p.State == stateDenied,
			}
		case p.Metadata != nil && (p.Type == partText || p.Type == partReasoning):
			kind := parley.KindText
			if p.Type == partReasoning {
				kind = parley.KindReasoning
			}
			w.texts[textKey{p.Metadata.Parley.Message, kind}] = &said{all: true}
		case p.Type == partSource:
			w.sources[p.URL] = true
		}
	}
}

// fromRecord reads what the record has of a turn. The stream is followed from an event before that, so nothing is
// missed between the two; what comes twice is sent once.
func (w *writer) fromRecord(ctx context.Context, id parley.ID) error {
	session, err := w.api.engine.Session(ctx, w.x.Principal, w.chat.session)
	if err != nil {
		return err
	}
	turn, err := w.api.engine.Turn(ctx, w.x.Principal, id)
	if err != nil {
		return err
	}
	trigger, err := w.api.engine.Message(ctx, w.x.Principal, turn.TriggerMessageID)
	if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
		return err
	}
	if w.projection, err = w.api.project(ctx, w.x.Principal, w.chat, &session, &trigger); err != nil {
		return err
	}
	rows, whole, free, err := w.api.rows(w.x, session.ID, engine.MessageList{TurnIDs: []parley.ID{id}})
	if err != nil {
		return err
	}
	w.free = free
	if !whole {
		return parley.Errorf(parley.CodeTooLarge,
			"The answer is too long for one message. Read it in the session %s.", session.ID)
	}
	for i := range rows {
		if w.recorded, err = w.add(w.recorded, &rows[i]); err != nil {
			return err
		}
	}
	w.turn = begun{session: session.ID, turn: id, after: session.LastEvent}
	w.state = &turn
	return nil
}

// open opens the turn's stream.
func (w *writer) open(ctx context.Context) (err error) {
	w.watch, err = w.api.streams.Follow(ctx, w.x.Principal,
		stream.Turn(w.turn.session, w.turn.after, w.turn.turn, w.x.Flush))
	if err != nil {
		w.free()
	}
	return err
}

// answer writes the stream.
func (w *writer) answer() error {
	defer w.watch.Close()
	defer w.free()
	w.x.Outlast()
	header := w.x.W.Header()
	header.Set(streamHeader, "v1")
	header.Set(SessionHeader, w.turn.session.String())
	header.Set("X-Request-Id", w.x.RequestID.String())
	w.frames = protocol.NewFrames(w.x.W)
	defer w.frames.End()
	ctx := w.x.R.Context()
	var err error
	stream.Aside(func() { err = w.replay() })
	w.free()
	if err == nil && !w.over {
		err = w.watch.CatchUpAndRelay(ctx, w, w.x.Leave)
	}
	switch {
	case ctx.Err() != nil:
		return nil // the client is gone; the turn continues
	case err != nil:
		w.put(&chunk{Type: "error", ErrorText: w.x.Problem(err).Detail})
	case !w.over:
		w.put(&chunk{Type: "error", ErrorText: "The stream ended before the answer, which continues. Resume it."})
	}
	w.frames.Buffer = append(w.frames.Buffer, "data: [DONE]\n\n"...)
	_ = w.frames.Flush() // the client may be gone
	return nil
}

// replay begins the stream with what the record has, and ends the stream if nothing more is to come.
func (w *writer) replay() error {
	w.put(&chunk{
		Type: "start", MessageID: w.turn.turn.String(), Metadata: begins{w.turn.session, w.turn.turn},
	})
	for i, p := range w.recorded {
		w.part(p)
		w.recorded[i] = nil
		if len(w.frames.Buffer) >= protocol.FullBuffer && w.frames.Flush() != nil {
			return stream.ErrGone
		}
	}
	w.recorded = nil
	switch {
	case w.state == nil:
	case w.state.Status.Finished():
		w.finish(w.state)
	case w.state.Status == parley.TurnWaiting && stopsFor(w.state.WaitReason):
		w.pause(w.state.WaitReason, "")
	}
	return nil
}

// part sends a part of the record, as far as the client does not have it.
func (w *writer) part(p *part) {
	switch {
	case p.Type == partStep:
		w.endStep()
	case p.Text != nil:
		kind := parley.KindText
		if p.Type == partReasoning {
			kind = parley.KindReasoning
		}
		key := textKey{p.Metadata.Parley.Message, kind}
		w.say(key, 0, *p.Text)
		w.endText(key)
	case p.Type == partSource:
		w.source(p.URL, p.Title)
	case p.isCall():
		state := w.call(p.CallID)
		w.showCall(state, p)
		switch p.State {
		case stateAsked:
			w.ask(state, p.CallID, p.Approval.ID)
		case stateOutput, stateError, stateDenied:
			w.complete(state, p)
		}
	}
}

// put adds a chunk to the frames.
func (w *writer) put(c *chunk) {
	encoded, err := parley.EncodeJSON(c)
	if err != nil { // what the record holds always encodes
		return
	}
	b := append(append(w.frames.Buffer, "data: "...), encoded...)
	w.frames.Buffer = append(b, "\n\n"...)
}

// step begins a step, unless one is open.
func (w *writer) step() {
	if !w.inStep {
		w.inStep = true
		w.put(&chunk{Type: "start-step"})
	}
}

// endStep ends the open step with its texts.
func (w *writer) endStep() {
	for key := range w.texts {
		w.endText(key)
	}
	if w.inStep {
		w.inStep = false
		w.put(&chunk{Type: "finish-step"})
	}
}

// textID returns the id of a text in the stream.
func (k textKey) textID() string { return k.message.String() + "/" + string(k.kind) }

// prefix is what the chunks of a text's type begin with.
func (k textKey) prefix() string {
	if k.kind == parley.KindReasoning {
		return partReasoning
	}
	return partText
}

// say sends what the client does not have yet of a text, of which some begins at an offset.
func (w *writer) say(key textKey, offset int, text string) {
	t := w.texts[key]
	if t == nil {
		t = &said{}
	}
	if t.all || offset > t.sent || offset+len(text) <= t.sent {
		return // a gap is filled when the step settles
	}
	w.texts[key] = t
	w.last = key.message
	if !t.open {
		t.open = true
		if key.kind == parley.KindText {
			w.endText(textKey{key.message, parley.KindReasoning})
		}
		w.step()
		own := &ownMetadata{}
		own.Parley.Message = key.message
		w.put(&chunk{Type: key.prefix() + "-start", ID: key.textID(), Own: own})
	}
	text = text[t.sent-offset:]
	t.sent += len(text)
	b := append(append(append(w.frames.Buffer, `data: {"type":"`...), key.prefix()...), `-delta","id":"`...)
	b = append(append(append(key.message.AppendText(b), '/'), key.kind...), `","delta":`...)
	w.frames.Buffer = append(parley.AppendJSONString(b, text), "}\n\n"...)
}

// endText ends an open text.
func (w *writer) endText(key textKey) {
	if t := w.texts[key]; t != nil && t.open {
		t.open, t.all = false, true
		w.put(&chunk{Type: key.prefix() + "-end", ID: key.textID()})
	}
}

// source sends a web page that a text cites, once.
func (w *writer) source(url, title string) {
	if w.sources[url] {
		return
	}
	w.sources[url] = true
	w.step()
	w.put(&chunk{Type: partSource, SourceID: url, URL: url, Title: title})
}

// call returns the state of a call.
func (w *writer) call(id string) *callState {
	state := w.calls[id]
	if state == nil {
		state = &callState{}
		w.calls[id] = state
	}
	return state
}

// showCall sends a call with its arguments.
func (w *writer) showCall(state *callState, p *part) {
	if state.shown {
		return
	}
	state.started, state.shown = true, true
	w.step()
	made := &chunk{Type: "tool-input-available", CallID: p.CallID, Input: p.Input}
	w.named(made, p)
	w.put(made)
}

// named says which tool a chunk is about, and whether the server runs it.
func (w *writer) named(c *chunk, p *part) {
	c.Tool, c.Dynamic, c.Executed = p.Tool, p.Type == partDynamic, p.Executed
	if !c.Dynamic {
		c.Tool = p.Type[len(partTool):]
	}
}

// ask asks the client for an approval of its session's call.
func (w *writer) ask(state *callState, call, id string) {
	if state.asked {
		return
	}
	state.asked = true
	if w.version >= withApprovals {
		w.put(&chunk{Type: "tool-approval-request", ApprovalID: id, CallID: call})
	}
}

// complete sends a call's result.
func (w *writer) complete(state *callState, p *part) {
	if state.completed {
		return
	}
	state.completed = true
	made := p.known(w.version)
	c := &chunk{Type: "tool-" + made.State, CallID: p.CallID}
	switch made.State {
	case stateOutput:
		c.Output = made.Output
	case stateError:
		c.ErrorText = made.ErrorText
	}
	if made.State != stateDenied {
		c.Dynamic, c.Executed = p.Type == partDynamic, p.Executed
	}
	w.put(c)
}

// Write implements stream.Writer.
func (w *writer) Write(ctx context.Context, from *stream.Stream) error {
	return w.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		switch frame.Kind {
		case stream.DeltaFrame:
			d := &frame.Delta
			if d.Kind == parley.KindArguments {
				w.arguments(w.x.R.Context(), d.MessageID, d.Offset, d.Text)
			} else {
				w.say(textKey{d.MessageID, d.Kind}, d.Offset, d.Text)
			}
		case stream.EventFrame:
			err := w.happened(w.x.R.Context(), &frame.Event)
			return w.over, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (w *writer) Beat() error { return w.frames.Beat() }
