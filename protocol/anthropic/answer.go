package anthropic

import (
	"context"
	"net/http"
	"strconv"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// create answers a message.
func (a *api) create(x *protocol.Exchange) error {
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

// plain is the agent of the registry's models.
func plain() engine.AgentInput {
	return engine.AgentInput{
		Slug: "anthropic-messages", Name: "Messages",
		Description: "Answers clients of Anthropic's API that name a model instead of an agent.",
	}
}

// vendorModels is how the names of the vendor's models begin. Clients send them without their provider.
const vendorModels = "claude-"

// asked finds what a request's model names. A model of the registry has a plain agent, which is made if it is needed.
func (a *api) asked(
	ctx context.Context, principal parley.Principal, name string,
) (agent parley.Agent, model parley.ModelID, err error) {
	agent, model, err = a.book.Asked(ctx, principal, name)
	own := parley.ModelID("anthropic/" + name)
	if parley.ErrorCode(err) == parley.CodeNotFound && len(name) > len(vendorModels) &&
		name[:len(vendorModels)] == vendorModels && own.Validate() == nil {
		return agent, own, nil
	}
	return agent, model, err
}

// begun reads the request, begins its turn, and opens the turn's stream.
func (a *api) begun(x *protocol.Exchange) (*reply, error) {
	ctx := x.R.Context()
	asked, err := decode(x.Body)
	if err != nil {
		return nil, err
	}
	if asked.MaxTokens == nil {
		return nil, parley.InvalidField("max_tokens", "is missing")
	}
	instructions, said, err := asked.split()
	if err != nil {
		return nil, err
	}
	agent, model, err := a.asked(ctx, x.Principal, asked.Model)
	if err == nil && model != "" {
		agent, err = a.book.PlainAgent(ctx, x.Principal, plain())
	}
	if err != nil {
		return nil, err
	}
	c := &history.Request{X: x, Agent: agent}
	if c.Think, err = asked.thinks(); err != nil {
		return nil, err
	}
	if c.Settings, c.Search, err = asked.settings(&agent, model, instructions); err != nil {
		return nil, err
	}
	turn, err := a.begin(ctx, c, asked, said)
	if err != nil {
		return nil, err
	}
	flush := x.Flush
	if !asked.Stream {
		flush = history.MaxWait // nobody reads the deltas
	}
	r := &reply{
		x: x, turn: turn, model: asked.Model, object: c.Settings.Output.Wanted() && !asked.Stream,
		streams: asked.Stream, threaded: asked.Thread.continues(), kept: make(chan struct{}),
	}
	if !r.threaded {
		r.said = c.End()
	}
	names := c.Names
	go func() { // ends within a bound; the answer waits for it
		defer close(r.kept)
		a.book.Keep(ctx, x.Principal, turn.Session, names)
	}()
	r.watch, err = a.streams.Follow(ctx, x.Principal, stream.Turn(turn.Session, turn.Event, turn.ID, flush))
	return r, err
}

// begin begins or resumes the turn that the request asks for.
func (a *api) begin(
	ctx context.Context, c *history.Request, asked *request, said []history.Message,
) (turn history.Turn, err error) {
	if !asked.Thread.continues() {
		if c.History, err = history.New(historyKind, c.Agent.ID, asked.user(), said); err != nil {
			return turn, err
		}
		return a.book.Begin(ctx, c)
	}
	anchor, err := a.anchor(ctx, c.X.Principal, asked.Thread.Previous)
	if err != nil {
		return turn, err
	}
	kept, err := a.begunWith(ctx, c.X.Principal, &anchor)
	if err != nil {
		return turn, err
	}
	if c.Settings.SystemPrompt == nil {
		c.Settings.SystemPrompt = kept.SystemPrompt
	}
	if c.Settings.Tools == nil {
		c.Settings.Tools = kept.Tools
	}
	c.Said = said
	return a.goOn(ctx, c, &anchor)
}

// reply is an answer on its way to its client. It implements stream.Writer.
type reply struct {
	x       *protocol.Exchange
	turn    history.Turn
	model   string
	said    parley.Hash // what was said before the answer
	object  bool        // only the last text counts: the others were not of the schema
	streams bool
	watch   *stream.Stream

	threaded bool          // the client names the answer that it continues: no hash does
	kept     chan struct{} // closed once the positions of the request are kept

	out writer // of the answer, if it streams
	history.Progress
}

// answer waits for the turn and writes the answer.
func (r *reply) answer(a *api) {
	header := r.x.W.Header()
	header.Set(SessionHeader, r.turn.Session.String())
	header.Set("X-Request-Id", r.x.RequestID.String())
	header.Set(requestHeader, r.x.RequestID.String())
	if r.streams {
		r.out.frames = protocol.NewFrames(r.x.W)
		defer r.out.frames.End()
		r.out.event("message_start", append(r.message([]byte(`"message":`), nil, "", &history.Segment{}), "}}"...))
		r.out.ping()
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
		f := failureOf(r.x.Problem(err))
		r.fail(&f)
	case !r.Over && timed.Err() != nil:
		r.fail(&failure{
			status: http.StatusGatewayTimeout, kind: timeout, code: "turn_unfinished", final: true,
			message: "The turn takes longer than a request may wait. It goes on in the session " +
				r.turn.Session.String() + ".",
		})
	case !r.Over:
		r.fail(&failure{
			status: http.StatusServiceUnavailable, kind: overloaded, code: string(parley.CodeUnavailable),
			message: "The stream ended before the turn. The turn goes on in the session " +
				r.turn.Session.String() + ".",
		})
	default:
		stream.Aside(func() { r.finish(a) })
	}
}

// Write implements stream.Writer.
func (r *reply) Write(ctx context.Context, from *stream.Stream) error {
	return r.out.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		switch frame.Kind {
		case stream.DeltaFrame:
			if d := &frame.Delta; r.streams && d.Kind != parley.KindArguments {
				r.out.say(d.MessageID, d.Kind, d.Offset, d.Text)
			}
		case stream.EventFrame:
			err := r.happened(&frame.Event)
			return r.Over, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (r *reply) Beat() error {
	if !r.streams {
		return nil
	}
	r.out.ping()
	return r.out.frames.Flush()
}

// happened follows the turn: it is over when it ends, or waits for somebody.
func (r *reply) happened(e *parley.Event) error {
	if err := r.Happened(e); err != nil || r.Settled == nil || !r.streams {
		return err
	}
	for i := range r.Settled.Messages {
		m := &r.Settled.Messages[i]
		var content parley.AssistantContent
		if m.Role != parley.RoleAssistant || content.UnmarshalJSON(m.Content) != nil {
			continue
		}
		r.out.say(m.MessageID, parley.KindReasoning, 0, content.Reasoning)
		r.out.say(m.MessageID, parley.KindText, 0, content.Text)
	}
	return nil
}

// fail ends the answer with an error, also in the middle of a stream.
func (r *reply) fail(f *failure) {
	f.request = r.x.RequestID
	if !r.streams {
		f.answer(r.x)
		return
	}
	r.out.frames.Buffer = append(append(append(r.out.frames.Buffer, "event: error\ndata: "...), f.encode()...),
		"\n\n"...)
	_ = r.out.frames.Flush() // the client may be gone
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
	if f := r.failure(); f != nil {
		r.fail(f)
		return
	}
	recorded := seen.Answer()
	stop := "end_turn"
	switch {
	case r.Reason == parley.WaitToolResult:
		stop = "tool_use"
	case seen.Refusal != "":
		stop = "refusal"
	case seen.Cut:
		stop = "max_tokens"
	}
	if r.Reason == "" {
		seen.Calls = nil // the turn answered them itself
	}
	if r.turn.Waits != "" {
		seen.Text, seen.Steps = "", nil // the client has them
	}
	if r.object && len(seen.Steps) > 0 {
		seen.Text, seen.Steps = seen.LastText, seen.Steps[len(seen.Steps)-1:]
	}
	if refusal := seen.Refusal; refusal != "" { // the protocol has it as text
		if seen.Refusal = ""; seen.Text != "" {
			seen.Text += history.Gap
		}
		seen.Text += refusal
		seen.Steps = append(seen.Steps, history.Step{Message: seen.Last, Text: refusal})
		if r.streams {
			r.out.say(seen.Last, kindRefusal, 0, refusal)
		}
	}
	if r.streams {
		seen.Text = string(r.out.text)
	}
	if !r.threaded {
		a.book.KeepAnswer(ctx, r.x.Principal, r.turn, r.said, recorded, &seen)
	}
	if !r.streams {
		r.x.W.Header().Set("Content-Type", "application/json")
		_, _ = r.x.W.Write(append(r.message(nil, &seen, stop, &seen), '}')) // the client may be gone
		return
	}
	r.out.ends(&seen, stop)
	_ = r.out.frames.Flush() // as above
}

// message writes a message but its last brace; content is nil and stop "" at its beginning.
func (r *reply) message(to []byte, content *history.Segment, stop string, used *history.Segment) []byte {
	to = r.turn.Last.ID.AppendText(append(to, `{"id":"`+messagePrefix...))
	to = parley.AppendJSONString(append(to, `","type":"message","role":"assistant","model":`...), r.model)
	to = append(to, `,"content":[`...)
	if content != nil {
		to = appendBlocks(to, content)
	}
	to = appendStop(append(to, "],"...), stop)
	return appendUsage(append(to, `,"diagnostics":null,"usage":`...), used, true)
}

// appendBlocks writes the blocks of a whole answer.
func appendBlocks(to []byte, seen *history.Segment) []byte {
	first := len(to)
	next := func() {
		if len(to) > first {
			to = append(to, ',')
		}
	}
	for i := range seen.Steps {
		s := &seen.Steps[i]
		if s.Reasoning != "" {
			next()
			to = parley.AppendJSONString(append(to, `{"type":"thinking","thinking":`...), s.Reasoning)
			to = append(appendSignature(append(to, `,"signature":`...), s.Message), '}')
		}
		if s.Text != "" {
			next()
			to = parley.AppendJSONString(append(to, `{"type":"text","citations":null,"text":`...), s.Text)
			to = append(to, '}')
		}
	}
	for i := range seen.Calls {
		next()
		arguments := history.Arguments(&seen.Calls[i])
		if len(seen.Calls[i].Arguments) == 0 { // the model wrote no object
			arguments = string(parley.AppendJSONString([]byte(nil), arguments))
		}
		to = append(append(append(appendCall(to, &seen.Calls[i]), `,"input":`...), arguments...), '}')
	}
	return to
}

// appendSignature writes the signature of what the agent thought: where it stands in the record, where the provider's
// own is kept unchanged.
func appendSignature(to []byte, message parley.ID) []byte {
	return append(message.AppendText(append(to, `"parley_`...)), '"')
}

// appendCall writes a call but its input and last brace.
func appendCall(to []byte, c *parley.ToolCallContent) []byte {
	to = parley.AppendJSONString(append(to, `{"type":"tool_use","id":`...), c.ID)
	to = parley.AppendJSONString(append(to, `,"name":`...), c.Name)
	return append(to, `,"caller":{"type":"direct"}`...)
}

// appendStop writes why an answer ended; "" while it has not.
func appendStop(to []byte, stop string) []byte {
	to = append(to, `"stop_reason":`...)
	if stop == "" {
		to = append(to, "null"...)
	} else {
		to = parley.AppendJSONString(to, stop)
	}
	return append(to, `,"stop_sequence":null,"stop_details":null,"container":null`...)
}

// appendUsage writes what was used. The protocol counts what caches gave and took apart from the input.
func appendUsage(to []byte, s *history.Segment, whole bool) []byte {
	to = strconv.AppendInt(append(to, `{"input_tokens":`...), max(0, s.Input-s.Cached-s.CacheWritten), 10)
	to = strconv.AppendInt(append(to, `,"cache_creation_input_tokens":`...), s.CacheWritten, 10)
	to = strconv.AppendInt(append(to, `,"cache_read_input_tokens":`...), s.Cached, 10)
	to = strconv.AppendInt(append(to, `,"output_tokens":`...), s.Output, 10)
	to = strconv.AppendInt(append(to, `,"output_tokens_details":{"thinking_tokens":`...), s.Thought, 10)
	to = append(to, `},"server_tool_use":null`...)
	if whole {
		to = append(to, `,"cache_creation":null,"inference_geo":null,"service_tier":"standard","speed":null`...)
	}
	return append(to, '}')
}

// failure is why the turn has no answer; nil if it has one.
func (r *reply) failure() *failure {
	f := failure{status: http.StatusBadGateway, kind: serverError, final: true} // Parley has tried again by itself
	turn := &r.Ended
	switch {
	case r.Reason == parley.WaitToolResult:
		return nil
	case r.Reason != "":
		f.status, f.kind, f.code = http.StatusConflict, conflict, "turn_waiting"
		f.message = "The turn waits (" + string(r.Reason) + ") for somebody to decide in Parley, in the session " +
			r.turn.Session.String() + ". It goes on by itself then."
		return &f
	case turn.Status == parley.TurnCompleted:
		return nil
	case turn.Status == parley.TurnCancelled:
		f.status, f.kind, f.code = http.StatusConflict, conflict, "turn_cancelled"
		f.message = "The turn was cancelled."
		return &f
	case turn.Error == nil:
		f.code, f.message = string(parley.ClassInternal), "The turn failed."
		return &f
	}
	f.code, f.message = string(turn.Error.Class), turn.Error.Sentence
	switch turn.Error.Class {
	case parley.ClassContextLength, parley.ClassContentFilter, parley.ClassLimit, parley.ClassSchema:
		f.status, f.kind = http.StatusBadRequest, invalidRequest
	case parley.ClassRateLimit:
		f.status, f.kind = http.StatusTooManyRequests, rateLimited
	}
	return &f
}
