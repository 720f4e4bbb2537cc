package a2a

import (
	"context"
	"encoding/json"
	"mime"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// clientID is the member of a message's metadata with the id that its client gave it.
type clientID struct {
	ID string `json:"a2a_message_id"`
}

// send passes a message on, and answers with its task: when it is over or waits, at once, or as a stream.
func (a *api) send(r *request) (any, error) {
	return a.followed(r, func(ctx context.Context, k *following) error { return k.post(ctx) })
}

// subscribe streams a task that is not over.
func (a *api) subscribe(r *request) (any, error) {
	return a.followed(r, func(ctx context.Context, k *following) error {
		f, err := a.find(ctx, r, r.Name)
		if err != nil {
			return err
		}
		if f.turn.Status.Finished() {
			return &fault{codeUnsupported, "The task is over. Read it with GetTask."}
		}
		return k.join(ctx, f, f.session.LastEvent)
	})
}

// followed begins to follow a task, and answers.
func (a *api) followed(r *request, begin func(context.Context, *following) error) (any, error) {
	ctx := r.x.R.Context()
	end, err := r.x.Room()
	if err != nil {
		return nil, err
	}
	defer end()
	k := &following{a: a, r: r, texts: map[parley.ID]*sent{}}
	stream.Aside(func() {
		if err = begin(ctx, k); err == nil {
			err = k.notify(ctx)
		}
		if err == nil && !k.returns() {
			flush := MaxWait // nobody reads the deltas
			if r.streams() {
				flush = r.x.Flush
			}
			k.watch, err = a.streams.Follow(ctx, r.x.Principal,
				stream.Turn(k.f.session.ID, k.after, k.f.turn.ID, flush))
		}
	})
	switch {
	case err != nil:
		return nil, err
	case k.returns():
		return k.result(ctx)
	}
	defer k.watch.Close()
	r.rpc.Params, r.Message = nil, nil // they are in the record
	r.x.Outlast()
	if r.streams() {
		return nil, k.stream(ctx)
	}
	return k.wait(ctx)
}

// returns reports whether the client does not wait for the task.
func (k *following) returns() bool { return k.r.Configuration.Immediately && !k.r.streams() }

// notify creates the configuration of push notifications that a message brings.
func (k *following) notify(ctx context.Context) error {
	given := k.r.Configuration.Push
	if given == nil {
		given = k.r.Configuration.GoPush
	}
	if given == nil || k.r.Message == nil {
		return nil
	}
	_, err := k.a.push(ctx, k.r, k.f, given)
	return err
}

// post does what a message asks for.
func (k *following) post(ctx context.Context) error {
	r := k.r
	m := r.Message
	switch {
	case m == nil:
		return invalid("message is missing")
	case m.Role != roleUser:
		return invalid("message.role must be " + roleUser)
	case m.ID == "":
		return invalid("message.messageId is missing")
	case !accepted(r.Configuration.Modes):
		return &fault{codeContentType, "Agents answer in " + textType + " and " + jsonType + ": accept one of them."}
	}
	if err := parley.CheckText("message.messageId", m.ID, parley.MaxForeignIDBytes); err != nil {
		return err
	}
	parts, err := m.parts()
	if err != nil {
		return err
	}
	if m.TaskID != "" {
		return k.continues(ctx, m, parts)
	}
	agent, err := k.a.agent(ctx, r)
	if err != nil {
		return err
	}
	if m.ContextID == "" {
		input, err := k.input(ctx, parts)
		if err != nil {
			return err
		}
		opened, err := k.a.engine.OpenSession(ctx, r.x.Principal, engine.SessionInput{
			AgentID: agent.ID.String(), Message: &input,
		}, k.once(agent.ID.String()))
		if err != nil {
			return err
		}
		return k.began(ctx, opened.Posted, &opened.Session)
	}
	session, err := k.a.context(ctx, r, m.ContextID)
	if err != nil {
		return err
	}
	if r.agent != "" && session.AgentID != agent.ID {
		return invalid("message.contextId is a context of another agent")
	}
	return k.add(ctx, &session, parts, "")
}

// input makes the user's message.
func (k *following) input(ctx context.Context, parts []part) (engine.MessageInput, error) {
	input, err := k.a.input(ctx, k.r, parts)
	if err == nil {
		input.Metadata, err = parley.EncodeJSON(clientID{k.r.Message.ID})
	}
	return input, err
}

// once makes a message safe to repeat: clients give each an id.
func (k *following) once(target string) store.Idempotency {
	key := parley.AppendJSONString([]byte(k.r.x.Principal.ID.String()+target), k.r.Message.ID)
	return k.r.x.Call.Idempotency(parley.HashOf(key).String(), Prefix, k.r.Message.Raw)
}

// add posts a message to a session.
func (k *following) add(ctx context.Context, session *parley.Session, parts []part, during parley.During) error {
	input, err := k.input(ctx, parts)
	if err != nil {
		return err
	}
	input.During = during
	defer k.a.streams.Expect(session.ID).Close()
	posted, err := k.a.engine.PostMessage(ctx, k.r.x.Principal, session.ID, input, k.once(session.ID.String()))
	if err != nil {
		return err
	}
	return k.began(ctx, &posted, session)
}

// began follows the turn that a message began, or has joined.
func (k *following) began(ctx context.Context, posted *store.Posted, session *parley.Session) error {
	turnID := posted.Message.TurnID
	if turnID.IsZero() && k.f != nil { // it steers the turn that runs
		turnID = k.f.turn.ID
	}
	if posted.Turn == nil || posted.Turn.ID != turnID || posted.Replayed {
		f, err := k.a.find(ctx, k.r, turnID.String())
		if err != nil {
			return err
		}
		return k.join(ctx, f, f.session.LastEvent)
	}
	k.after = posted.EventSequence
	k.f = &found{turn: *posted.Turn, session: *session, rows: []parley.Message{posted.Message}}
	return nil
}

// continues takes a message to a task: an answer if it waits for one, else something that the agent reads at its next
// step.
func (k *following) continues(ctx context.Context, m *said, parts []part) error {
	f, err := k.a.find(ctx, k.r, m.TaskID)
	if err != nil {
		return err
	}
	if m.ContextID != "" && m.ContextID != f.session.ID.String() {
		return invalid("message.contextId is not the context of message.taskId")
	}
	switch stateOf(&f.turn) {
	case completed, failed, canceled:
		return &fault{codeUnsupported, "The task is over. Send the message with its contextId alone to begin another."}
	case inputRequired:
		if err := k.a.answer(ctx, k.r, f, parts); err != nil {
			return err
		}
		return k.join(ctx, f, f.session.LastEvent)
	case submitted, working:
	}
	k.f = f
	return k.add(ctx, &f.session, parts, parley.DuringSteer)
}

// join follows a task that exists from an event before its state is read: what happens between the two comes twice, and
// is sent once.
func (k *following) join(ctx context.Context, f *found, after int64) (err error) {
	k.f, k.after = f, after
	f.rows = nil
	f.turn, err = k.a.engine.Turn(ctx, k.r.x.Principal, f.turn.ID)
	return err
}

// accepted reports whether a client that names media types takes those of answers.
func accepted(modes []string) bool {
	for _, mode := range modes {
		kind, _, _ := mime.ParseMediaType(mode) // one that cannot be read is not ours
		switch kind {
		case textType, jsonType, "text/*", "application/*", "*/*", "text", "text/markdown":
			return true
		}
	}
	return len(modes) == 0
}

// nameOf returns the id that a client gave a message; its own if none did.
func nameOf(m *parley.Message) string {
	var given clientID
	if strings.Contains(string(m.Metadata), "a2a_message_id") && json.Unmarshal(m.Metadata, &given) == nil &&
		given.ID != "" {
		return given.ID
	}
	return m.ID.String()
}
