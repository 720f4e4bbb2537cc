package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// MaxWait is how long a request waits for the end of its turn. The turn continues without it.
const MaxWait = 10 * time.Minute

// keepTime bounds how long a request's names may take to be stored after its client is gone.
const keepTime = 10 * time.Second

// gap separates the texts of a turn's steps, which the client sees as one text.
const gap = "\n\n"

// complete answers a chat completion.
func (a *api) complete(x *protocol.Exchange) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var r *reply
	stream.Aside(func() { r, err = a.begun(x) })
	if err != nil {
		return err
	}
	defer r.watch.Close()
	x.Outlast()
	r.answer(a)
	return nil
}

// begun reads the request, begins its turn, and opens the turn's stream.
func (a *api) begun(x *protocol.Exchange) (*reply, error) {
	ctx := x.R.Context()
	asked, err := decode(x.Body)
	if err != nil {
		return nil, err
	}
	agent, model, err := a.asked(ctx, x.Principal, asked.Model)
	if err == nil && model != "" {
		agent, err = a.plainAgent(ctx, x.Principal)
	}
	if err != nil {
		return nil, err
	}
	instructions, said := asked.split()
	if len(said) == 0 {
		return nil, parley.InvalidField("messages", "has no message of the user")
	}
	c := &chat{
		x: x, metadata: asked.Metadata, search: len(asked.WebSearchOptions) > 0, agent: agent, body: x.Body,
	}
	if c.history, err = newHistory(agent.ID, asked.User, said); err != nil {
		return nil, err
	}
	if c.settings, err = asked.settings(&agent, model, instructions); err != nil {
		return nil, err
	}
	turn, err := a.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	flush := x.Flush
	if !asked.Stream {
		flush = MaxWait // nobody reads the deltas
	}
	r := &reply{
		x: x, turn: turn, model: asked.Model, history: c.end(), since: time.Now().Unix(),
		object: c.settings.Output.Wanted() && !asked.Stream, usage: asked.StreamOptions != nil &&
			asked.StreamOptions.IncludeUsage, streams: asked.Stream, kept: make(chan struct{}),
	}
	keep, ids := context.WithoutCancel(ctx), c.names
	go func() { // ends within keepTime; the answer waits for it
		defer close(r.kept)
		r.keep(keep, a, ids)
	}()
	r.watch, err = a.streams.Follow(ctx, x.Principal, stream.Turn(turn.session, turn.event, turn.turn, flush))
	return r, err
}

// reply is an answer on its way to its client. It implements stream.Writer.
type reply struct {
	x       *protocol.Exchange
	turn    begun
	model   string
	history parley.Hash // what was said before the answer
	since   int64       // seconds
	object  bool        // only the last text counts: the others were not of the schema
	usage   bool        // a last chunk says what was used
	streams bool
	watch   *stream.Stream
	kept    chan struct{} // closed once the positions of the request are kept

	frames *protocol.Frames // nil if the answer does not stream
	head   []byte           // of every chunk
	pieces []piece          // texts that the client has, in order
	text   []byte           // all of it, if it streams

	reason parley.WaitReason // what the turn waits for; "" once it ended
	over   bool              // the turn ended, or waits for somebody
	ended  parley.Turn       // as it ended
}

// piece is how much of a message's text was sent.
type piece struct {
	message parley.ID
	kind    parley.ContentKind
	sent    int // bytes
}

// answer waits for the turn and writes the answer.
func (r *reply) answer(a *api) {
	header := r.x.W.Header()
	header.Set(SessionHeader, r.turn.session.String())
	header.Set("X-Request-Id", r.x.RequestID.String())
	if r.streams {
		r.frames = protocol.NewFrames(r.x.W)
		defer r.frames.End()
		r.head = r.chunkHead()
		r.chunk(`{"role":"assistant","content":""}`, "")
	}
	ctx := r.x.R.Context()
	timed, stop := context.WithTimeout(ctx, MaxWait)
	defer stop()
	var err error
	if r.reason = r.turn.waits; r.reason != "" {
		r.over = true // not all of its calls have results: nothing happens before they do
	} else {
		err = r.watch.Relay(timed, r, r.x.Leave)
	}
	<-r.kept
	switch {
	case ctx.Err() != nil:
		return // the client is gone; the turn continues
	case err != nil:
		failure := failureOf(r.x.Problem(err))
		r.fail(&failure)
	case !r.over && timed.Err() != nil:
		r.fail(&failure{
			status: http.StatusGatewayTimeout, kind: serverError, code: "turn_unfinished", final: true,
			message: "The turn takes longer than a request may wait. It goes on in the session " +
				r.turn.session.String() + ".",
		})
	case !r.over:
		r.fail(&failure{
			status: http.StatusServiceUnavailable, kind: serverError, code: "unavailable",
			message: "The stream ended before the turn. The turn goes on in the session " +
				r.turn.session.String() + ".",
		})
	default:
		stream.Aside(func() { r.finish(a) })
	}
}

// keep stores names of positions. If it fails, the next request finds out by itself, or begins a session.
func (r *reply) keep(ctx context.Context, a *api, ids []parley.ForeignID) {
	ctx, stop := context.WithTimeout(ctx, keepTime)
	defer stop()
	if most := parley.MaxForeignIDsAtOnce; len(ids) > most {
		ids = ids[len(ids)-most:]
	}
	_ = a.engine.KeepForeignIDs(ctx, r.x.Principal, r.turn.session, ids)
}

// Write implements stream.Writer.
func (r *reply) Write(ctx context.Context, from *stream.Stream) error {
	return r.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		switch frame.Kind {
		case stream.DeltaFrame:
			if d := &frame.Delta; r.frames != nil && d.Kind != parley.KindArguments {
				r.say(d.MessageID, d.Kind, d.Offset, d.Text)
			}
		case stream.EventFrame:
			err := r.happened(&frame.Event)
			return r.over, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (r *reply) Beat() error { return r.frames.Beat() }

// happened follows the turn: it is over when it ends, or waits for somebody.
func (r *reply) happened(e *parley.Event) error {
	switch {
	case e.Type.EndsTurn():
		var end event.TurnEnd
		if err := json.Unmarshal(e.Data, &end); err != nil {
			return err
		}
		r.over, r.ended = true, end.Turn
	case e.Type == parley.EventSessionWaiting:
		var waiting event.SessionWaiting
		if err := json.Unmarshal(e.Data, &waiting); err != nil {
			return err
		}
		switch waiting.Reason {
		case parley.WaitChild, parley.WaitRateLimit, parley.WaitOutside: // it continues by itself
		default:
			r.over, r.reason = true, waiting.Reason
		}
	case e.Type == parley.EventStepGenerated && r.frames != nil:
		var step event.StepGenerated
		if err := json.Unmarshal(e.Data, &step); err != nil {
			return err
		}
		for i := range step.Messages {
			m := &step.Messages[i]
			var content parley.AssistantContent
			if m.Role != parley.RoleAssistant || json.Unmarshal(m.Content, &content) != nil {
				continue
			}
			r.say(m.MessageID, parley.KindReasoning, 0, content.Reasoning)
			r.say(m.MessageID, parley.KindText, 0, content.Text)
		}
	}
	return nil
}

// say sends what the client does not have yet of a message's text, of which some begins at an offset.
func (r *reply) say(message parley.ID, kind parley.ContentKind, offset int, text string) {
	var p *piece
	for i := len(r.pieces) - 1; i >= 0 && p == nil; i-- {
		if r.pieces[i].message == message && r.pieces[i].kind == kind {
			p = &r.pieces[i]
		}
	}
	sent := 0
	if p != nil {
		sent = p.sent
	}
	if offset > sent || offset+len(text) <= sent {
		return // a gap is filled when the step settles
	}
	if p == nil {
		r.pieces = append(r.pieces, piece{message: message, kind: kind})
		p = &r.pieces[len(r.pieces)-1]
	}
	text = text[sent-offset:]
	p.sent += len(text)
	member := `{"reasoning_content":`
	if kind == parley.KindText {
		member = `{"content":`
		if sent == 0 && len(r.text) > 0 {
			text = gap + text
		}
		r.text = append(r.text, text...)
	}
	b := append(append(r.frames.Buffer, r.head...), member...)
	b = parley.AppendJSONString(b, text)
	r.frames.Buffer = append(append(b, `},"logprobs":null,"finish_reason":null}]`...), r.tail()...)
}

// chunkHead is what all chunks begin with.
func (r *reply) chunkHead() []byte {
	head := r.identity([]byte(`data: `), "chat.completion.chunk")
	return append(head, `"choices":[{"index":0,"delta":`...)
}

// identity begins an answer.
func (r *reply) identity(to []byte, object string) []byte {
	to = r.turn.turn.AppendText(append(to, `{"id":"chatcmpl-`...))
	to = append(append(append(to, `","object":"`...), object...), `","created":`...)
	to = strconv.AppendInt(to, r.since, 10)
	to = parley.AppendJSONString(append(to, `,"model":`...), r.model)
	return append(to, ',')
}

// tail ends a chunk.
func (r *reply) tail() string {
	if r.usage {
		return `,"usage":null}` + "\n\n"
	}
	return "}\n\n"
}

// chunk writes one chunk with a delta; finish is "" for all but the last.
func (r *reply) chunk(delta, finish string) {
	b := append(append(append(r.frames.Buffer, r.head...), delta...), `,"logprobs":null,"finish_reason":`...)
	b = append(appendOrNull(b, finish), "}]"...)
	r.frames.Buffer = append(b, r.tail()...)
}

// fail ends the answer with an error, also in the middle of a stream.
func (r *reply) fail(f *failure) {
	if r.frames == nil {
		f.answer(r.x)
		return
	}
	b := append(append(append(r.frames.Buffer, "data: "...), f.encode()...), "\n\n"...)
	r.frames.Buffer = b
	_ = r.frames.Flush() // the client may be gone
}

// finish writes the end of an answer whose turn ended, or waits for somebody.
func (r *reply) finish(a *api) {
	ctx := r.x.R.Context()
	from := r.turn
	if from.waits != "" {
		from.sequence = 0 // the calls that still wait stand before the results
	}
	seen, err := a.seen(ctx, r.x.Principal, from)
	if err != nil {
		f := failureOf(r.x.Problem(err))
		r.fail(&f)
		return
	}
	if f := r.failure(&r.ended); f != nil {
		r.fail(f)
		return
	}
	recorded := answered(seen.text, seen.refusal, seen.calls)
	if r.reason == parley.WaitToolResult {
		seen.finish = "tool_calls"
	} else {
		seen.calls = nil // the turn answered them itself
	}
	if r.turn.waits != "" {
		seen.text, seen.reasoning = "", "" // the client has them
	}
	if r.object {
		seen.text = seen.lastText
	}
	if r.frames != nil {
		seen.text = string(r.text)
	}
	said := answered(seen.text, seen.refusal, seen.calls)
	if name := said.hash(r.history); r.turn.waits != "" || name != recorded.hash(r.history) {
		// The next request finds any other answer by what the record has of it; see recognise.
		r.keep(context.WithoutCancel(ctx), a, []parley.ForeignID{{
			Protocol: foreignProtocol, Name: name.String(), TargetID: seen.last,
		}})
	}
	if r.frames == nil {
		r.x.W.Header().Set("Content-Type", "application/json")
		_, _ = r.x.W.Write(r.whole(&seen)) // the client may be gone
		return
	}
	r.ends(&seen)
	r.frames.Buffer = append(r.frames.Buffer, "data: [DONE]\n\n"...)
	_ = r.frames.Flush() // the client may be gone
}

// ends writes the chunks behind the text.
func (r *reply) ends(seen *segment) {
	if seen.refusal != "" {
		r.chunk(string(append(parley.AppendJSONString([]byte(`{"refusal":`), seen.refusal), '}')), "")
	}
	for i := range seen.calls {
		c := &seen.calls[i]
		b := strconv.AppendInt([]byte(`{"tool_calls":[{"index":`), int64(i), 10)
		b = append(appendCall(append(b, ','), c, ""), "]}"...)
		r.chunk(string(b), "")
		b = strconv.AppendInt([]byte(`{"tool_calls":[{"index":`), int64(i), 10)
		b = parley.AppendJSONString(append(b, `,"function":{"arguments":`...), c.Function.Arguments)
		r.chunk(string(append(b, "}}]}"...)), "")
	}
	r.chunk("{}", seen.finish)
	if r.usage {
		b := r.identity(append(r.frames.Buffer, "data: "...), "chat.completion.chunk")
		r.frames.Buffer = append(seen.appendUsage(append(b, `"choices":[],`...)), "}\n\n"...)
	}
}

// appendCall writes the members of a call; the first { is written already.
func appendCall(to []byte, c *toolCall, arguments string) []byte {
	to = parley.AppendJSONString(append(to, `"id":`...), c.ID)
	to = parley.AppendJSONString(append(to, `,"type":"function","function":{"name":`...), c.Function.Name)
	to = parley.AppendJSONString(append(to, `,"arguments":`...), arguments)
	return append(to, "}}"...)
}

// whole is the answer of a request that does not stream.
func (r *reply) whole(seen *segment) []byte {
	b := r.identity(nil, "chat.completion")
	b = append(b, `"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	if seen.text == "" && (len(seen.calls) > 0 || seen.refusal != "") {
		b = append(b, "null"...)
	} else {
		b = parley.AppendJSONString(b, seen.text)
	}
	b = appendOrNull(append(b, `,"refusal":`...), seen.refusal)
	if seen.reasoning != "" {
		b = parley.AppendJSONString(append(b, `,"reasoning_content":`...), seen.reasoning)
	}
	for i := range seen.calls {
		lead := ","
		if i == 0 {
			lead = `,"tool_calls":[`
		}
		b = appendCall(append(append(b, lead...), '{'), &seen.calls[i], seen.calls[i].Function.Arguments)
	}
	if len(seen.calls) > 0 {
		b = append(b, ']')
	}
	b = parley.AppendJSONString(append(b, `,"annotations":[]},"logprobs":null,"finish_reason":`...), seen.finish)
	return append(seen.appendUsage(append(b, "}],"...)), '}')
}

// failure is why the turn has no answer; nil if it has one.
func (r *reply) failure(turn *parley.Turn) *failure {
	f := failure{status: http.StatusBadGateway, kind: serverError, final: true} // Parley has tried again by itself
	switch {
	case r.reason == parley.WaitToolResult:
		return nil
	case r.reason != "":
		f.status, f.kind, f.code = http.StatusConflict, invalidRequest, "turn_waiting"
		f.message = "The turn waits (" + string(r.reason) + ") for somebody to decide in Parley, in the session " +
			r.turn.session.String() + ". It goes on by itself then."
		return &f
	case turn.Status == parley.TurnCompleted:
		return nil
	case turn.Status == parley.TurnCancelled:
		f.status, f.kind, f.code = http.StatusConflict, invalidRequest, "turn_cancelled"
		f.message = "The turn was cancelled."
		return &f
	case turn.Error == nil:
		f.code, f.message = string(parley.ClassInternal), "The turn failed."
		return &f
	}
	f.code, f.message = string(turn.Error.Class), turn.Error.Sentence
	switch turn.Error.Class {
	case parley.ClassContextLength:
		f.status, f.kind, f.code = http.StatusBadRequest, invalidRequest, "context_length_exceeded"
	case parley.ClassContentFilter, parley.ClassLimit, parley.ClassSchema:
		f.status, f.kind = http.StatusBadRequest, invalidRequest
	case parley.ClassRateLimit:
		f.status, f.kind, f.code = http.StatusTooManyRequests, rateLimited, "rate_limit_exceeded"
	}
	return &f
}

// segment is what a client sees of a turn behind its own last message.
type segment struct {
	text, lastText, reasoning, refusal string
	calls                              []toolCall // without results
	finish                             string
	input, output, cached, thought     int64 // tokens
	last                               parley.ID
}

// seen reads the part of a turn that a client sees: the texts of its steps as one, and the calls that wait for results.
// CodeTooLarge if the turn has more messages than maxAnswerPages hold.
func (a *api) seen(ctx context.Context, principal parley.Principal, turn begun) (segment, error) {
	s := segment{finish: "stop"}
	paging := engine.Paging{Limit: parley.MaxPage}
	for range maxAnswerPages {
		page, err := a.engine.Messages(ctx, principal, turn.session, engine.MessageList{
			Paging: paging, TurnIDs: []parley.ID{turn.turn}, From: turn.sequence + 1,
		})
		if err != nil {
			return s, err
		}
		for i := range page.Data {
			m := &page.Data[i]
			if m.Sequence <= turn.sequence || m.Internal { // also queued ones
				continue
			}
			if err := s.add(m); err != nil {
				return s, err
			}
		}
		if page.Next == nil {
			return s, nil
		}
		paging.Cursor = *page.Next
	}
	return s, parley.Errorf(parley.CodeTooLarge,
		"The turn is too long for one answer of this API. Read it in the session %s.", turn.session)
}

// add adds a message of the record.
func (s *segment) add(m *parley.Message) (err error) {
	s.use(m.Usage)
	if m.Status == parley.MessageFailed {
		return nil
	}
	switch m.Role {
	case parley.RoleAssistant:
		err = s.hears(m)
	case parley.RoleToolCall:
		err = s.asks(m)
	case parley.RoleToolResult:
		s.answers(m.ToolCallID)
	default:
		return nil
	}
	s.last = m.ID
	return err
}

// hears adds an assistant's message.
func (s *segment) hears(m *parley.Message) error {
	var content parley.AssistantContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err
	}
	if content.Text != "" {
		if s.text != "" {
			s.text += gap
		}
		s.text += content.Text
		s.lastText = content.Text
	}
	s.reasoning += content.Reasoning
	s.refusal = content.Refusal
	var about struct {
		Finish parley.FinishReason `json:"finish"`
	}
	if json.Unmarshal(m.Metadata, &about) == nil && about.Finish == parley.FinishLength {
		s.finish = "length"
	}
	return nil
}

// asks adds a call.
func (s *segment) asks(m *parley.Message) error {
	var content parley.ToolCallContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		return err
	}
	call := toolCall{ID: content.ID}
	call.Function.Name, call.Function.Arguments = content.Name, content.ArgumentsText
	if len(content.Arguments) > 0 && string(content.Arguments) != "null" {
		call.Function.Arguments = string(content.Arguments)
	}
	s.calls = append(s.calls, call)
	return nil
}

// answers removes a call that has its result.
func (s *segment) answers(id string) {
	for i := range s.calls {
		if s.calls[i].ID == id {
			s.calls = append(s.calls[:i], s.calls[i+1:]...)
			return
		}
	}
}

// use adds a step's usage.
func (s *segment) use(u *parley.Usage) {
	if u == nil {
		return
	}
	for _, sum := range []struct {
		to   *int64
		from *int64
	}{{&s.input, u.InputTokens}, {&s.output, u.OutputTokens}, {&s.cached, u.CachedTokens},
		{&s.thought, u.ReasoningTokens}} {
		*sum.to += parley.ValueOf(sum.from)
	}
}

// appendUsage writes the member usage.
func (s *segment) appendUsage(to []byte) []byte {
	to = strconv.AppendInt(append(to, `"usage":{"prompt_tokens":`...), s.input, 10)
	to = strconv.AppendInt(append(to, `,"completion_tokens":`...), s.output, 10)
	to = strconv.AppendInt(append(to, `,"total_tokens":`...), s.input+s.output, 10)
	to = strconv.AppendInt(append(to, `,"prompt_tokens_details":{"cached_tokens":`...), s.cached, 10)
	to = append(to, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`...)
	to = strconv.AppendInt(to, s.thought, 10)
	return append(to, `,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}
