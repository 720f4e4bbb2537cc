package openai

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

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
	agent, model, err := a.book.Asked(ctx, x.Principal, asked.Model)
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
	c := &history.Request{
		X: x, Metadata: asked.Metadata, Search: len(asked.WebSearchOptions) > 0, Agent: agent,
	}
	if c.History, err = history.New(historyKind, agent.ID, asked.User, said); err != nil {
		return nil, err
	}
	if c.Settings, err = asked.settings(&agent, model, instructions); err != nil {
		return nil, err
	}
	turn, err := a.book.Begin(ctx, c)
	if err != nil {
		return nil, err
	}
	flush := x.Flush
	if !asked.Stream {
		flush = history.MaxWait // nobody reads the deltas
	}
	r := &reply{
		x: x, turn: turn, model: asked.Model, said: c.End(), since: time.Now().Unix(),
		object: c.Settings.Output.Wanted() && !asked.Stream, usage: asked.StreamOptions != nil &&
			asked.StreamOptions.IncludeUsage, streams: asked.Stream, kept: make(chan struct{}),
	}
	names := c.Names
	go func() { // ends within a bound; the answer waits for it
		defer close(r.kept)
		a.book.Keep(ctx, x.Principal, turn.Session, names)
	}()
	r.watch, err = a.streams.Follow(ctx, x.Principal, stream.Turn(turn.Session, turn.Event, turn.ID, flush))
	return r, err
}

// reply is an answer on its way to its client. It implements stream.Writer.
type reply struct {
	x       *protocol.Exchange
	turn    history.Turn
	model   string
	said    parley.Hash // what was said before the answer
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

	history.Progress
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
	header.Set(SessionHeader, r.turn.Session.String())
	header.Set("X-Request-Id", r.x.RequestID.String())
	if r.streams {
		r.frames = protocol.NewFrames(r.x.W)
		defer r.frames.End()
		r.head = r.chunkHead()
		r.chunk(`{"role":"assistant","content":""}`, "")
	}
	ctx := r.x.R.Context()
	timed, stop := context.WithTimeout(ctx, history.MaxWait)
	defer stop()
	var err error
	if r.Reason = r.turn.Waits; r.Reason != "" {
		r.Over = true // not all of its calls have results: nothing happens before they do
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
	case !r.Over && timed.Err() != nil:
		r.fail(&failure{
			status: http.StatusGatewayTimeout, kind: serverError, code: "turn_unfinished", final: true,
			message: "The turn takes longer than a request may wait. It goes on in the session " +
				r.turn.Session.String() + ".",
		})
	case !r.Over:
		r.fail(&failure{
			status: http.StatusServiceUnavailable, kind: serverError, code: "unavailable",
			message: "The stream ended before the turn. The turn goes on in the session " +
				r.turn.Session.String() + ".",
		})
	default:
		stream.Aside(func() { r.finish(a) })
	}
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
			return r.Over, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (r *reply) Beat() error { return r.frames.Beat() }

// happened follows the turn: it is over when it ends, or waits for somebody.
func (r *reply) happened(e *parley.Event) error {
	if err := r.Progress.Happened(e); err != nil || r.Settled == nil || r.frames == nil {
		return err
	}
	for i := range r.Settled.Messages {
		m := &r.Settled.Messages[i]
		var content parley.AssistantContent
		if m.Role != parley.RoleAssistant || content.UnmarshalJSON(m.Content) != nil {
			continue
		}
		r.say(m.MessageID, parley.KindReasoning, 0, content.Reasoning)
		r.say(m.MessageID, parley.KindText, 0, content.Text)
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
			text = history.Gap + text
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
	to = r.turn.ID.AppendText(append(to, `{"id":"chatcmpl-`...))
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
	seen, err := a.book.SeenBy(ctx, r.x.Principal, r.turn, &r.Progress)
	if err != nil {
		f := failureOf(r.x.Problem(err))
		r.fail(&f)
		return
	}
	if f := r.failure(&r.Ended); f != nil {
		r.fail(f)
		return
	}
	recorded := seen.Answer()
	finish := finishOf(&seen)
	if r.Reason == parley.WaitToolResult {
		finish = "tool_calls"
	} else {
		seen.Calls = nil // the turn answered them itself
	}
	if r.turn.Waits != "" {
		seen.Text, seen.Reasoning = "", "" // the client has them
	}
	if r.object {
		seen.Text = seen.LastText
	}
	if r.frames != nil {
		seen.Text = string(r.text)
	}
	a.book.KeepAnswer(ctx, r.x.Principal, r.turn, r.said, recorded, &seen)
	if r.frames == nil {
		r.x.W.Header().Set("Content-Type", "application/json")
		_, _ = r.x.W.Write(r.whole(&seen, finish)) // the client may be gone
		return
	}
	r.ends(&seen, finish)
	r.frames.Buffer = append(r.frames.Buffer, "data: [DONE]\n\n"...)
	_ = r.frames.Flush() // the client may be gone
}

// ends writes the chunks behind the text.
func (r *reply) ends(seen *history.Segment, finish string) {
	if seen.Refusal != "" {
		r.chunk(string(append(parley.AppendJSONString([]byte(`{"refusal":`), seen.Refusal), '}')), "")
	}
	for i := range seen.Calls {
		c := &seen.Calls[i]
		b := strconv.AppendInt([]byte(`{"tool_calls":[{"index":`), int64(i), 10)
		b = append(appendCall(append(b, ','), c, ""), "]}"...)
		r.chunk(string(b), "")
		b = strconv.AppendInt([]byte(`{"tool_calls":[{"index":`), int64(i), 10)
		b = parley.AppendJSONString(append(b, `,"function":{"arguments":`...), history.Arguments(c))
		r.chunk(string(append(b, "}}]}"...)), "")
	}
	r.chunk("{}", finish)
	if r.usage {
		b := r.identity(append(r.frames.Buffer, "data: "...), "chat.completion.chunk")
		r.frames.Buffer = append(appendUsage(append(b, `"choices":[],`...), seen), "}\n\n"...)
	}
}

// appendCall writes the members of a call; the first { is written already.
func appendCall(to []byte, c *parley.ToolCallContent, arguments string) []byte {
	to = parley.AppendJSONString(append(to, `"id":`...), c.ID)
	to = parley.AppendJSONString(append(to, `,"type":"function","function":{"name":`...), c.Name)
	to = parley.AppendJSONString(append(to, `,"arguments":`...), arguments)
	return append(to, "}}"...)
}

// whole is the answer of a request that does not stream.
func (r *reply) whole(seen *history.Segment, finish string) []byte {
	b := r.identity(nil, "chat.completion")
	b = append(b, `"choices":[{"index":0,"message":{"role":"assistant","content":`...)
	if seen.Text == "" && (len(seen.Calls) > 0 || seen.Refusal != "") {
		b = append(b, "null"...)
	} else {
		b = parley.AppendJSONString(b, seen.Text)
	}
	b = appendOrNull(append(b, `,"refusal":`...), seen.Refusal)
	if seen.Reasoning != "" {
		b = parley.AppendJSONString(append(b, `,"reasoning_content":`...), seen.Reasoning)
	}
	for i := range seen.Calls {
		lead := ","
		if i == 0 {
			lead = `,"tool_calls":[`
		}
		b = appendCall(append(append(b, lead...), '{'), &seen.Calls[i], history.Arguments(&seen.Calls[i]))
	}
	if len(seen.Calls) > 0 {
		b = append(b, ']')
	}
	b = parley.AppendJSONString(append(b, `,"annotations":[]},"logprobs":null,"finish_reason":`...), finish)
	return append(appendUsage(append(b, "}],"...), seen), '}')
}

// failure is why the turn has no answer; nil if it has one.
func (r *reply) failure(turn *parley.Turn) *failure {
	f := failure{status: http.StatusBadGateway, kind: serverError, final: true} // Parley has tried again by itself
	switch {
	case r.Reason == parley.WaitToolResult:
		return nil
	case r.Reason != "":
		f.status, f.kind, f.code = http.StatusConflict, invalidRequest, "turn_waiting"
		f.message = "The turn waits (" + string(r.Reason) + ") for somebody to decide in Parley, in the session " +
			r.turn.Session.String() + ". It goes on by itself then."
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

// finishOf says why the answer ended, if it calls no tool of the client.
func finishOf(seen *history.Segment) string {
	if seen.Cut {
		return "length"
	}
	return "stop"
}

// appendUsage writes the member usage.
func appendUsage(to []byte, s *history.Segment) []byte {
	to = strconv.AppendInt(append(to, `"usage":{"prompt_tokens":`...), s.Input, 10)
	to = strconv.AppendInt(append(to, `,"completion_tokens":`...), s.Output, 10)
	to = strconv.AppendInt(append(to, `,"total_tokens":`...), s.Input+s.Output, 10)
	to = strconv.AppendInt(append(to, `,"prompt_tokens_details":{"cached_tokens":`...), s.Cached, 10)
	to = append(to, `,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":`...)
	to = strconv.AppendInt(to, s.Thought, 10)
	return append(to, `,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`...)
}
