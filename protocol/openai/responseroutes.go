package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// responseRoutes are those of Responses.
func (a *api) responseRoutes() []protocol.Route {
	return []protocol.Route{
		{
			Method: http.MethodPost, Path: "/responses", Name: "createResponse", Verb: engine.PostMessages,
			Body: MaxBody, Makes: true, Serve: a.respond, Example: `{"model":"parley","input":"Hello"}`,
		},
		{
			Method: http.MethodGet, Path: "/responses", Name: "openResponseSocket", Verb: engine.ReadSessions,
			Serve: a.socket,
		},
		{
			Method: http.MethodPost, Path: "/responses/compact", Name: "compactResponse", Verb: engine.PostMessages,
			Body: MaxBody, Makes: true, Serve: a.compact, Example: `{"model":"parley","input":"Hello"}`,
		},
		{
			Method: http.MethodPost, Path: "/responses/input_tokens", Name: "countInputTokens",
			Verb: engine.PostMessages, Body: MaxBody, Makes: true, Serve: a.countTokens,
			Example: `{"model":"parley","input":"Hello"}`,
		},
		{
			Method: http.MethodGet, Path: "/responses/{response}", Name: "getResponse", Verb: engine.ReadSessions,
			Serve: a.retrieve,
		},
		{
			Method: http.MethodDelete, Path: "/responses/{response}", Name: "deleteResponse",
			Verb: engine.PostMessages, Serve: a.deleteResponse,
		},
		{
			Method: http.MethodPost, Path: "/responses/{response}/cancel", Name: "cancelResponse",
			Verb: engine.CancelTurns, Serve: a.cancelResponse,
		},
		{
			Method: http.MethodGet, Path: "/responses/{response}/input_items", Name: "listResponseInput",
			Verb: engine.ReadSessions, Serve: a.inputItems,
		},
	}
}

// respond creates a response.
func (a *api) respond(x *protocol.Exchange) error {
	if x.R.Context().Value(steerKey{}) != nil {
		return a.steerResponse(x)
	}
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w *responding
	var streams bool
	stream.Aside(func() { w, streams, err = a.responding(x) })
	if err != nil {
		return err
	}
	header := x.W.Header()
	header.Set(SessionHeader, w.anchor.SessionID.String())
	header.Set("X-Request-Id", x.RequestID.String())
	switch {
	case streams:
		w.frames = protocol.NewFrames(x.W)
	case w.note.Background:
		w.watch.Close()
		o, err := w.object()
		if err != nil {
			return err
		}
		return send(x, o)
	}
	if k := keptOf(x.R.Context()); k != nil {
		return a.relay(x, k, w)
	}
	return w.answer()
}

// prepared is a request for a response that was read: who answers, with what, and what it goes on with.
type prepared struct {
	*history.Request
	asked   *responseRequest
	own     parley.Agent    // of the session
	session *parley.Session // nil for a new one
	before  *response       // nil for none
	after   *parley.Message // the last one of what was compacted; nil for none
	note    responseNote
}

// prepare reads a request, and finds what it names.
func (a *api) prepare(x *protocol.Exchange, asked *responseRequest) (*prepared, error) {
	ctx := x.R.Context()
	agent, model, err := a.book.Asked(ctx, x.Principal, asked.Model)
	if err != nil {
		return nil, err
	}
	p := &prepared{asked: asked}
	if p.session, p.before, err = a.continued(x, asked); err == nil && asked.compacted != "" {
		p.session, p.after, err = a.compacted(ctx, x.Principal, asked.compacted)
	}
	if err != nil {
		return nil, err
	}
	p.own = agent
	switch {
	case p.session != nil && p.session.AgentID != agent.ID:
		p.own, err = a.engine.Agent(ctx, x.Principal, p.session.AgentID.String())
		if err == nil && model != "" {
			agent = p.own // it keeps its prompt and tools
		}
	case p.session == nil && model != "":
		agent, err = a.plainAgent(ctx, x.Principal)
		p.own = agent
	}
	if err != nil {
		return nil, err
	}
	if err := a.dereference(ctx, x.Principal, p); err != nil {
		return nil, err
	}
	c := &history.Request{X: x, Agent: agent, History: history.History{Said: asked.said}}
	if c.Settings, c.Search, err = asked.settings(&agent, model); err != nil {
		return nil, err
	}
	if agent.ID != p.own.ID {
		lend(&c.Settings, &agent)
	}
	p.Request, p.note = c, asked.noted(&agent, c.Settings.SystemPrompt)
	c.Note, err = p.note.encode(asked.Metadata)
	return p, err
}

// responding reads the request, begins or resumes its turn, and opens the turn's stream.
func (a *api) responding(x *protocol.Exchange) (w *responding, streams bool, err error) {
	ctx := x.R.Context()
	asked, err := decodeResponse(x.Body)
	if err != nil {
		return nil, false, err
	}
	p, err := a.prepare(x, asked)
	if err == nil && asked.prepares() {
		w, err = a.prepareResponse(x, p)
		return w, asked.Stream, err
	}
	if err == nil {
		err = asked.asks()
	}
	if err != nil {
		return nil, false, err
	}
	c, session, before, own, note := p.Request, p.session, p.before, p.own, p.note
	if note.Discarded {
		c.Tags = []string{discardedTag}
		a.purgeForgotten(ctx, x.Principal)
	} else if before != nil && before.note.Discarded {
		c.Tags = []string{} // the fork is stored
	}
	var turn history.Turn
	switch {
	case before != nil:
		turn, err = a.goOnFrom(ctx, c, before)
	case p.after != nil:
		turn, err = a.goOnBehind(ctx, c, session.ID, p.after)
	case session != nil:
		turn, err = a.goOnIn(ctx, c, session)
	default:
		turn, err = a.book.Open(ctx, c)
	}
	if err != nil {
		return nil, false, err
	}
	r := &response{anchor: turn.Last, settings: turn.Last.Settings, note: note, event: turn.Event}
	_, r.metadata, _ = noteOf(&turn.Last)
	if turn.State != nil {
		r.turn = *turn.State
	}
	if turn.Last.Role != parley.RoleUser { // the turn's settings are those that it began with
		trigger, err := a.engine.Message(ctx, x.Principal, r.turn.TriggerMessageID)
		if err != nil {
			return nil, false, err
		}
		r.settings = trigger.Settings
	}
	chosen := []*[]parley.ToolRef{own.Tools, r.settings.Tools}
	if session != nil {
		chosen = append(chosen, session.Tools)
	}
	r.clients = clientTools(chosen...)
	w = &responding{response: r, api: a, x: x, after: -1, done: map[parley.ID]bool{}, followed: true}
	if turn.Waits != "" {
		w.ended, w.reason = true, turn.Waits
	}
	flush := x.Flush
	if !asked.Stream {
		flush = history.MaxWait // nobody reads the deltas
	}
	w.watch, err = a.streams.Follow(ctx, x.Principal, stream.Turn(turn.Session, turn.Event, turn.ID, flush))
	return w, asked.Stream, err
}

// continued finds what a request goes on with: a session, and the response in it that it follows; nil for none.
func (a *api) continued(x *protocol.Exchange, r *responseRequest) (*parley.Session, *response, error) {
	var id parley.ID
	var before *response
	switch {
	case r.Previous != "":
		var err error
		before, err = a.response(x, r.Previous)
		if err == nil && before.note.Discarded && !keptOf(x.R.Context()).has(r.Previous) {
			err = noResponse(r.Previous) // it is as good as purged
		}
		if parley.ErrorCode(err) == parley.CodeNotFound {
			return nil, nil, &parley.Error{
				Code: parley.CodeNotFound, Field: previousMember,
				Message: fmt.Sprintf("Previous response with id '%s' not found.", parley.Clip(r.Previous, 64)),
			}
		} else if err != nil {
			return nil, nil, err
		}
		id = before.anchor.SessionID
	case r.conversation != "":
		id = idOf(r.conversation, conversationPrefix)
	default:
		return nil, nil, nil
	}
	session, err := a.engine.Session(x.R.Context(), x.Principal, id)
	return &session, before, err
}

// previousMember names the response that a request follows.
const previousMember = "previous_response_id"

// noted is what the record keeps of a request beside its settings.
func (r *responseRequest) noted(agent *parley.Agent, prompt *string) responseNote {
	note := responseNote{
		Model: r.Model, Previous: r.Previous, Conversation: r.conversation != "", Background: r.Background,
		Discarded: r.discards(),
		Tools:     0, User: r.User, Safety: r.SafetyIdentifier, CacheKey: parley.ValueOf(r.PromptCacheKey),
		Truncation: parley.ValueOf(r.Truncation),
	}
	for i := range r.Tools {
		if r.Tools[i].Type == "function" {
			note.Tools++
		}
	}
	if r.instructions() != "" && prompt != nil {
		note.Instructed = true
		if own := parley.ValueOf(agent.SystemPrompt); own != "" {
			note.Prompt = len(own) + len("\n\n")
		}
	}
	return note
}

// encode puts the note beside the client's metadata.
func (n *responseNote) encode(metadata map[string]string) (json.RawMessage, error) {
	members := map[string]any{noteMember: n}
	for name, value := range metadata {
		members[name] = value
	}
	return parley.EncodeJSON(members)
}

// lend sets for one turn what an agent would do, in the session of another.
func lend(s *parley.Settings, agent *parley.Agent) {
	own := agent.Settings
	if s.Model == "" {
		s.Model = own.Model
	}
	if s.SystemPrompt == nil {
		s.SystemPrompt = own.SystemPrompt
	}
	if s.Tools == nil {
		s.Tools = own.Tools
	}
	if s.Output == nil {
		s.Output = own.Output
	}
	p, from := &s.Parameters, &own.Parameters
	if p.Temperature == nil {
		p.Temperature = from.Temperature
	}
	if p.TopP == nil {
		p.TopP = from.TopP
	}
	if p.MaxTokens == nil {
		p.MaxTokens = from.MaxTokens
	}
	if p.ReasoningEffort == nil {
		p.ReasoningEffort = from.ReasoningEffort
	}
}

// outputs reports whether the input has outputs of functions, and moves them to its beginning.
func outputs(c *history.Request) bool {
	sort.SliceStable(c.Said, func(i, j int) bool { return c.Said[i].Role == "tool" && c.Said[j].Role != "tool" })
	return c.Said[0].Role == "tool"
}

// unanswered returns an error for a call of a waiting turn that the input does not answer.
func unanswered(c *history.Request, calls []string) error {
	for _, call := range calls {
		if !slices.ContainsFunc(c.Said, func(m history.Message) bool { return m.Answers == call }) {
			return parley.InvalidField("input", "No tool output found for function call %s.", parley.Clip(call, 64))
		}
	}
	return nil
}

// goOnFrom continues the session of a response, or forks it there if it has moved on.
func (a *api) goOnFrom(ctx context.Context, c *history.Request, before *response) (history.Turn, error) {
	session := before.anchor.SessionID
	switch status := before.status(); {
	case !over(status):
		return history.Turn{}, &parley.Error{
			Code: parley.CodeConflict, Field: previousMember, Message: "The previous response is " + status +
				". Retrieve it until it is over, or cancel it.",
		}
	case before.resumed && before.steer.IsZero():
		return history.Turn{}, &parley.Error{
			Code: parley.CodeConflict, Field: previousMember, Message: "The function calls of this response have " +
				"their outputs: name the response that came after them.",
		}
	case before.resumed: // by a steer: it is forked there
	case before.turn.Status == parley.TurnWaiting && before.note.Discarded != (len(c.Tags) > 0):
		return history.Turn{}, parley.InvalidField(
			"store",
			"must be as in the response whose turn waits for these outputs",
		)
	case before.turn.Status == parley.TurnWaiting:
		if err := unanswered(c, openCalls(before.rows)); err != nil {
			return history.Turn{}, err
		}
		outputs(c)
		return a.book.GoOn(ctx, c, session, 0)
	}
	if before.last().ID.IsZero() { // it was prepared, without a message
		if own, err := a.engine.Session(
			ctx,
			c.X.Principal,
			session,
		); err != nil || c.Tags != nil ||
			own.LastSequence > 0 {
			return a.book.Open(ctx, c)
		}
		defer a.streams.Expect(session).Close()
		return a.book.Post(ctx, c, session, 0, 0)
	}
	return a.goOnBehind(ctx, c, session, before.last())
}

// goOnBehind continues a session behind one of its messages, or forks it there if it has moved on.
func (a *api) goOnBehind(
	ctx context.Context,
	c *history.Request,
	session parley.ID,
	last *parley.Message,
) (history.Turn, error) {
	fork := func() (history.Turn, error) {
		moved, err := a.movedTo(ctx, c.X.Principal, session, last.Sequence)
		if err != nil {
			return history.Turn{}, err
		}
		if moved > 0 && c.Tags == nil {
			if turn, err := a.book.Post(ctx, c, session, 0, moved); err == nil || !movedOn(err) {
				return turn, err
			}
		}
		return a.book.Fork(ctx, c, history.Point{Session: session, Message: last.ID, At: -1})
	}
	if c.Tags != nil { // nothing of it shall stay in the session
		return fork()
	}
	return a.postOr(ctx, c, session, last.Sequence, fork)
}

// postOr adds the input to a session that ends with a message, or does something else if it does not end there.
func (a *api) postOr(
	ctx context.Context, c *history.Request, session parley.ID, follows int64, other func() (history.Turn, error),
) (history.Turn, error) {
	expected := a.streams.Expect(session)
	turn, err := a.book.Post(ctx, c, session, 0, follows)
	expected.Close()
	if movedOn(err) {
		return other()
	}
	return turn, err
}

// movedOn reports whether a post was refused since its session does not rest where the post wants to follow.
func movedOn(err error) bool {
	code := parley.ErrorCode(err)
	return code == parley.CodeChanged || code == parley.CodeBusy || code == parley.CodeArchived
}

// movedTo returns a session's last message if everything behind a place is Parley's own: a summary goes on with the
// conversation. 0 if somebody said something.
func (a *api) movedTo(ctx context.Context, principal parley.Principal, session parley.ID, from int64) (int64, error) {
	page, err := a.engine.Messages(ctx, principal, session, engine.MessageList{
		Paging: engine.Paging{Limit: pageOfItems}, From: from + 1,
	})
	if err != nil || page.Next != nil {
		return 0, err
	}
	var last int64
	for i := range page.Data {
		m := &page.Data[i]
		if m.Sequence <= from {
			continue
		}
		if m.Role != parley.RoleSummary && !m.Internal {
			return 0, nil
		}
		last = m.Sequence
	}
	return last, nil
}

// goOnIn continues a conversation.
func (a *api) goOnIn(ctx context.Context, c *history.Request, session *parley.Session) (history.Turn, error) {
	if session.TurnID.IsZero() || session.Status != parley.SessionWaiting || !forClient(session.WaitReason) {
		defer a.streams.Expect(session.ID).Close()
		return a.book.Post(ctx, c, session.ID, 0, 0)
	}
	page, err := a.engine.Messages(ctx, c.X.Principal, session.ID, engine.MessageList{
		Paging: engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}, TurnIDs: []parley.ID{session.TurnID},
	})
	if err != nil {
		return history.Turn{}, err
	}
	slices.Reverse(page.Data)
	if err := unanswered(c, openCalls(page.Data)); err != nil {
		return history.Turn{}, err
	}
	outputs(c)
	return a.book.GoOn(ctx, c, session.ID, 0)
}

// openCalls returns the calls among rows that have no result.
func openCalls(rows []parley.Message) (calls []string) {
	for i := range rows {
		switch m := &rows[i]; m.Role {
		case parley.RoleToolCall:
			calls = append(calls, m.ToolCallID)
		case parley.RoleToolResult:
			calls = slices.DeleteFunc(calls, func(id string) bool { return id == m.ToolCallID })
		}
	}
	return calls
}
