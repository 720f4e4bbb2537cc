package agui

import (
	"context"
	"encoding/json"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// searchPages is how many pages of the user's messages are searched for one that is asked again.
const searchPages = 16

// idempotencyHeader makes a request safe to repeat.
const idempotencyHeader = "Idempotency-Key"

// run answers a request with the run that it begins or continues.
func (a *api) run(x *protocol.Exchange) error { return a.serve(x, false) }

// connect answers with the thread as it is, and what its turn still says. Nothing that the client sends is stored.
func (a *api) connect(x *protocol.Exchange) error { return a.serve(x, true) }

func (a *api) serve(x *protocol.Exchange, connects bool) error {
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	var w *writer
	stream.Aside(func() { w, err = a.begun(x, connects) })
	if err != nil {
		return err
	}
	return w.answer()
}

// begun does what the request asks for, and opens the turn's stream.
func (a *api) begun(x *protocol.Exchange, connects bool) (*writer, error) {
	r, err := decode(x.Body)
	if err != nil {
		return nil, err
	}
	ctx := x.R.Context()
	t, err := a.threadOf(ctx, x.Principal, x.R.PathValue("agent"), r.ThreadID)
	if err != nil {
		return nil, err
	}
	w := newWriter(a, x, t, r)
	switch {
	case connects:
		err = w.join(ctx)
	case len(r.Resume) > 0 || len(r.results) > 0:
		err = w.goOn(ctx)
	case r.said != nil:
		err = w.post(ctx)
	default:
		err = w.join(ctx)
	}
	if err == nil && !w.turn.IsZero() && w.ending == nil {
		w.watch, err = a.streams.Follow(ctx, x.Principal, stream.Turn(t.session, w.after, w.turn, x.Flush))
	}
	if err != nil {
		w.free()
		return nil, err
	}
	return w, nil
}

// post posts the user's message, or asks it again.
func (w *writer) post(ctx context.Context) error {
	a, x, t, r := w.api, w.x, w.thread, w.request
	input, err := r.input(ctx, a, x, t)
	if err != nil {
		return err
	}
	switch {
	case t.session.IsZero():
		opened, err := a.engine.OpenSession(ctx, x.Principal, engine.SessionInput{
			AgentID: t.agent.ID.String(), Message: &input,
		}.Named(foreignProtocol, x.Principal.ID, t.name), w.once())
		return w.opened(ctx, &opened, err)
	case r.Forwarded.Again:
		known, err := w.known(ctx, r.said.ID)
		if err != nil {
			return err
		}
		if known == nil {
			return parley.InvalidField("messages", "the last message is not known in this thread")
		}
		if string(known.Content) == string(input.Content) {
			opened, err := a.engine.Regenerate(ctx, x.Principal, known.ID,
				engine.RegenerateInput{SessionID: t.session}, w.once())
			return w.opened(ctx, &opened, err)
		}
		opened, err := a.engine.EditMessage(ctx, x.Principal, known.ID, engine.EditInput{
			SessionID: t.session, Content: input.Content,
		}, w.once())
		return w.opened(ctx, &opened, err)
	}
	first, err := protocol.SentAgain(ctx, a.engine, x.Principal, t.session, r.said.ID, func(m *parley.Message) bool {
		return idOf(m) == r.said.ID && string(m.Content) == string(input.Content)
	})
	if err != nil {
		return err
	}
	if first != nil {
		t.session, w.turn = first.SessionID, first.TurnID
		return nil
	}
	defer a.streams.Expect(t.session).Close()
	input.During = parley.DuringReject
	posted, err := a.engine.PostMessage(ctx, x.Principal, t.session, input, w.once())
	if parley.ErrorCode(err) == parley.CodeBusy {
		if err = w.refuseOpen(ctx); err == nil {
			input.During = parley.DuringQueue
			posted, err = a.engine.PostMessage(ctx, x.Principal, t.session, input, w.once())
		}
	}
	if err != nil {
		return err
	}
	w.turn, w.after = posted.Message.TurnID, posted.EventSequence
	return nil
}

// refuseOpen refuses a message while the turn waits for somebody: it would wait as long as that, unseen.
func (w *writer) refuseOpen(ctx context.Context) error {
	session, err := w.api.engine.Session(ctx, w.x.Principal, w.thread.session)
	if err != nil || session.Status != parley.SessionWaiting {
		return err
	}
	open, err := w.api.pending(ctx, w.x.Principal, session.ID, session.TurnID)
	if err != nil {
		return err
	}
	if session.WaitReason == parley.WaitBudget {
		open = append(open, limitReached(session.TurnID, ""))
	}
	switch {
	case len(open) > 0:
		return parley.Errorf(parley.CodeConflict,
			"The thread has open interrupts: answer or cancel each in resume. The first is %s.", open[0].ID)
	case session.WaitReason == parley.WaitToolResult:
		return parley.Errorf(parley.CodeConflict,
			"The thread waits for results of the client's tools: send a message of the role tool for each call.")
	}
	return nil
}

// opened notes the session that the thread goes on in.
func (w *writer) opened(ctx context.Context, opened *store.Opened, err error) error {
	if err != nil {
		return err
	}
	w.turn, w.after = opened.Posted.Message.TurnID, opened.Posted.EventSequence
	return w.api.keep(ctx, w.x.Principal, w.thread, opened.Session.ID)
}

// once makes a request safe to repeat: clients give each message an id, and each run one. A message has the same key
// before its thread has a session and after.
func (w *writer) once() store.Idempotency {
	r := w.request
	key := w.x.R.Header.Get(idempotencyHeader)
	if key == "" && r.said.ID != "" {
		key = hashed(w.x.Principal.ID.String(), w.thread.name, r.said.ID, string(r.said.Content))
		if r.Forwarded.Again {
			key = hashed(key, r.RunID)
		}
	}
	if key == "" {
		return store.Idempotency{}
	}
	return w.x.Call.Idempotency(key, Prefix, r.said.Content)
}

// known finds a message of the user by the id that the client gave it, or by its own; nil if none of the latest has it.
func (w *writer) known(ctx context.Context, id string) (*parley.Message, error) {
	free, err := w.x.Hold(parley.MaxPageBytes)
	if err != nil {
		return nil, err
	}
	defer free()
	own, _ := parley.ParseID(id) // few ids are a message's
	paging := engine.Paging{Limit: parley.MaxPage, Order: engine.Descending}
	for range searchPages {
		page, err := w.api.engine.Messages(ctx, w.x.Principal, w.thread.session, engine.MessageList{
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

// goOn passes answers and results to the turn that waits for them, and takes up what the client does not have of it.
func (w *writer) goOn(ctx context.Context) error {
	a, x, t, r := w.api, w.x, w.thread, w.request
	if t.session.IsZero() {
		r.warnings = append(r.warnings, "The thread is not known: nothing waits for these answers.")
		return nil
	}
	session, err := a.engine.Session(ctx, x.Principal, t.session)
	if err != nil {
		return err
	}
	w.turn, w.after = session.TurnID, session.LastEvent
	if w.turn.IsZero() && r.said != nil { // the turn that asked is over
		return w.post(ctx)
	}
	if w.turn.IsZero() {
		return w.join(ctx)
	}
	before, err := a.engine.Turn(ctx, x.Principal, w.turn)
	if err != nil {
		return err
	}
	w.base = before.Usage
	if len(r.Resume) > 0 {
		open, err := a.pending(ctx, x.Principal, t.session, w.turn)
		if err != nil {
			return err
		}
		if before.WaitReason == parley.WaitBudget {
			limit := limitReached(w.turn, "")
			open = append(open, limit)
			for i := range r.Resume {
				w.patient = w.patient || r.Resume[i].ID == limit.ID && r.Resume[i].Status == statusResolved
			}
		}
		decided, err := r.decisions(open)
		if err != nil {
			return err
		}
		for _, decide := range decided {
			if err := decide(ctx, a, x, t.session); parley.ErrorCode(err) == parley.CodeConflict {
				r.warnings = append(r.warnings, "An answer to an interrupt is ignored: another one came first.")
			} else if err != nil {
				return err
			}
		}
	}
	if r.said != nil { // said beside the answers: the turn hears it at its next step
		input, err := r.input(ctx, a, x, t)
		if err != nil {
			return err
		}
		input.During = parley.DuringSteer
		if _, err := a.engine.PostMessage(ctx, x.Principal, t.session, input, w.once()); err != nil {
			return err
		}
	}
	for _, m := range r.results {
		if err := w.postResult(ctx, m); parley.ErrorCode(err) == parley.CodeConflict {
			r.warnings = append(r.warnings, "A tool's result is ignored: the call has one.")
		} else if err != nil {
			return err
		}
	}
	return w.takeUp(ctx)
}

// postResult posts what one of the client's tools answered.
func (w *writer) postResult(ctx context.Context, m *message) error {
	parts, err := partsOf(m.Content)
	if err != nil {
		return err
	}
	var texts []string
	for i := range parts {
		if parts[i].Type == partText {
			texts = append(texts, parts[i].Text)
		} else {
			w.request.warnings = append(w.request.warnings,
				"A tool's result has parts that are not text: they are left out.")
		}
	}
	metadata, err := noted(m, nil)
	if err != nil {
		return err
	}
	var failed *string
	if m.Error != "" {
		failed = &m.Error
	}
	value := parley.AppendJSONString(nil, strings.Join(texts, "\n"))
	_, err = w.api.result(ctx, w.x, w.thread.session, m.CallID, value, failed, metadata)
	return err
}

// takeUp reads what the record has of the turn, and ends the run if the turn waits for somebody. The stream is followed
// from an event before that, so nothing is missed between the two; what comes twice is sent once. The turn is read
// first: what it did before it waited is in the record then.
func (w *writer) takeUp(ctx context.Context) error {
	turn, err := w.api.engine.Turn(ctx, w.x.Principal, w.turn)
	if err != nil {
		return err
	}
	rows, whole, err := w.rows(engine.MessageList{TurnIDs: []parley.ID{w.turn}})
	if err != nil {
		return err
	}
	if !whole {
		return parley.Errorf(parley.CodeTooLarge,
			"The answer is too long for one message. Read it in the session %s.", w.thread.session)
	}
	for i := range rows {
		if rows[i].Role == parley.RoleUser {
			continue
		}
		made, err := shownOf(&rows[i])
		if err != nil {
			return err
		}
		w.recorded = append(w.recorded, made...)
	}
	return w.stopped(ctx, &turn)
}

// stopped ends the run if the turn waited for somebody before its record was read, and still does. Otherwise the stream
// tells what came of it.
func (w *writer) stopped(ctx context.Context, before *parley.Turn) error {
	if before.Status != parley.TurnWaiting || w.patient && before.WaitReason == parley.WaitBudget {
		return nil
	}
	turn, err := w.api.engine.Turn(ctx, w.x.Principal, w.turn)
	if err != nil || turn.WaitReason != before.WaitReason {
		return err
	}
	return w.paused(ctx, &turn, "")
}

// join takes the whole thread up, and follows its turn if one is at work.
func (w *writer) join(ctx context.Context) error {
	if w.thread.session.IsZero() {
		return nil
	}
	session, err := w.api.engine.Session(ctx, w.x.Principal, w.thread.session)
	if err != nil {
		return err
	}
	var turn parley.Turn
	if w.turn, w.after = session.TurnID, session.LastEvent; !w.turn.IsZero() {
		if turn, err = w.api.engine.Turn(ctx, w.x.Principal, w.turn); err != nil {
			return err
		}
		w.base, w.joined = turn.Usage, turn.Step
	}
	messages, state, whole, err := w.snapshot()
	if err != nil {
		return err
	}
	if !whole {
		w.request.warnings = append(w.request.warnings, "The thread is long: its oldest messages are left out.")
	}
	if w.retold, err = parley.EncodeJSON(messages); err != nil {
		return err
	}
	w.state = state
	w.has(messages)
	if w.turn.IsZero() {
		return nil
	}
	return w.stopped(ctx, &turn)
}

// has notes that the client has just these messages.
func (w *writer) has(messages []shown) {
	r := w.request
	r.has, r.called = map[string]bool{}, map[string]bool{}
	for i := range messages {
		r.has[messages[i].ID] = true
		for _, call := range messages[i].Calls {
			r.called[call.ID] = true
		}
		if messages[i].Role == roleTool {
			r.called[resultOf(messages[i].CallID)] = true
		}
	}
}

// usage is what a run's model calls took.
type usage struct {
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Input    int64  `json:"inputTokens"`
	Output   int64  `json:"outputTokens"`
	Total    int64  `json:"totalTokens"`
	Cached   int64  `json:"cachedInputTokens,omitempty"`
}

// used returns what the turn took since the run began; nothing if the providers said nothing.
func (w *writer) used(turn *parley.Turn) []usage {
	input, output := turn.Usage.InputTokens-w.base.InputTokens, turn.Usage.OutputTokens-w.base.OutputTokens
	if input <= 0 && output <= 0 {
		return nil
	}
	made := usage{Input: input, Output: output, Total: input + output,
		Cached: turn.Usage.CachedTokens - w.base.CachedTokens}
	if w.models == 1 {
		made.Provider, made.Model, _ = strings.Cut(string(w.model), "/")
	}
	return []usage{made}
}

// about is the metadata of a run's end.
func about(turn *parley.Turn) json.RawMessage {
	encoded, err := parley.EncodeJSON(struct {
		Parley any `json:"parley"`
	}{struct {
		Status   parley.TurnStatus `json:"status"`
		WaitsFor parley.WaitReason `json:"waits_for,omitempty"`
		Cost     *parley.Money     `json:"cost"`
	}{turn.Status, turn.WaitReason, turn.Cost}})
	if err != nil { // a turn always encodes
		return nil
	}
	return encoded
}
