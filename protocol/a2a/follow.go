package a2a

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// MaxWait is how long a message that is not streamed waits for its task, which continues without it.
const MaxWait = 10 * time.Minute

// following is a request that follows a task. It implements stream.Writer.
type following struct {
	a      *api
	r      *request
	f      *found
	after  int64 // the session's last event before
	watch  *stream.Stream
	frames *protocol.Frames // nil for a client that waits

	head  []byte // of every frame
	about []byte // the members that name the task
	texts map[parley.ID]*sent
	knows bool // the client knows that the task is being worked on
	over  bool // the stream is complete
}

// sent is how much of an artifact the client has.
type sent struct {
	bytes int
	whole bool
}

// wait answers when the task is over or waits for somebody.
func (k *following) wait(ctx context.Context) (any, error) {
	timed, stop := context.WithTimeout(ctx, MaxWait)
	defer stop()
	if state := stateOf(&k.f.turn); state == submitted || state == working {
		if err := k.watch.Relay(timed, k, k.r.x.Leave); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, nil // the client is gone; the turn continues
	}
	var made any
	var err error
	stream.Aside(func() {
		if err = k.join(ctx, k.f, k.after); err == nil {
			made, err = k.result(ctx)
		}
	})
	return made, err
}

// result is the task as the result of a message.
func (k *following) result(ctx context.Context) (any, error) {
	made, err := k.a.show(ctx, k.r, k.f, k.r.Configuration.HistoryLength)
	if err != nil {
		return nil, err
	}
	return struct {
		Task *task `json:"task"`
	}{made}, nil
}

// stream answers with the task, and with what happens to it.
func (k *following) stream(ctx context.Context) error {
	var state taskState
	var err error
	stream.Aside(func() { state, err = k.begin(ctx) })
	if err != nil {
		return err
	}
	defer k.frames.End()
	k.knows = state == working
	k.over = state != submitted && state != working
	if !k.over {
		err = k.watch.CatchUpAndRelay(ctx, k, k.r.x.Leave)
	}
	switch {
	case ctx.Err() != nil:
		return nil // the client is gone; the turn continues
	case err != nil:
		k.frames.Buffer = appendFrame(k.frames.Buffer, faultOf(k.r.x.Problem(err)).encode(k.r.rpc.ID))
	case !k.over:
		k.frames.Buffer = appendFrame(k.frames.Buffer, (&fault{codeInternal,
			"The stream ended before the task, which continues. Subscribe to it again."}).encode(k.r.rpc.ID))
	}
	_ = k.frames.Flush() // the client may be gone
	return nil
}

// begin begins the stream with the task as it is, and returns its state.
func (k *following) begin(ctx context.Context) (taskState, error) {
	first, err := k.a.show(ctx, k.r, k.f, k.r.Configuration.HistoryLength)
	if err != nil {
		return "", err
	}
	k.r.free()
	k.f.rows = nil
	k.head = append(response(k.r.rpc.ID), `"result":{`...)
	k.about = k.f.turn.ID.AppendJSON([]byte(`"taskId":`))
	k.about = k.f.session.ID.AppendJSON(append(k.about, `,"contextId":`...))
	k.frames = protocol.NewFrames(k.r.x.W)
	k.put("task", first)
	for i := range first.Artifacts {
		k.texts[first.Artifacts[i].ID] = &sent{whole: true}
	}
	return first.Status.State, nil
}

// put adds a frame with one member.
func (k *following) put(name string, value any) {
	encoded, err := parley.EncodeJSON(value)
	if err != nil { // what the record holds always encodes
		return
	}
	b := append(append(k.frames.Buffer, "data: "...), k.head...)
	b = append(append(parley.AppendJSONString(b, name), ':'), encoded...)
	k.frames.Buffer = append(b, "}}\n\n"...)
}

// update sends the task's status.
func (k *following) update(s status) {
	if k.frames != nil {
		k.put("statusUpdate", statusUpdate{k.f.turn.ID, k.f.session.ID, s})
	}
}

// statusUpdate is a change of a task's status, in streams and in push notifications.
type statusUpdate struct {
	TaskID    parley.ID `json:"taskId"`
	ContextID parley.ID `json:"contextId"`
	Status    status    `json:"status"`
}

// artifact sends a piece of an artifact, or all of it in place of what was sent.
func (k *following) artifact(id parley.ID, parts []byte, appends, last bool) {
	b := append(append(append(k.frames.Buffer, "data: "...), k.head...), `"artifactUpdate":{`...)
	b = append(append(b, k.about...), `,"artifact":{"artifactId":`...)
	b = append(append(append(id.AppendJSON(b), `,"parts":`...), parts...), '}')
	if appends {
		b = append(b, `,"append":true`...)
	}
	if last {
		b = append(b, `,"lastChunk":true`...)
	}
	k.frames.Buffer = append(b, "}}}\n\n"...)
}

// text returns the parts of an artifact that is a text.
func text(said string) []byte {
	return append(parley.AppendJSONString([]byte(`[{"text":`), said), "}]"...)
}

// Write implements stream.Writer.
func (k *following) Write(ctx context.Context, from *stream.Stream) error {
	return k.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		switch {
		case frame.Kind == stream.DeltaFrame && frame.Delta.Kind == parley.KindText && k.frames != nil:
			k.say(frame.Delta.MessageID, frame.Delta.Offset, frame.Delta.Text)
		case frame.Kind == stream.EventFrame:
			err := k.happened(k.r.x.R.Context(), &frame.Event)
			return k.over, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (k *following) Beat() error { return k.frames.Beat() }

// say sends what the client does not have yet of a text, of which some begins at an offset.
func (k *following) say(id parley.ID, offset int, said string) {
	t := k.texts[id]
	if t == nil {
		t = &sent{}
		k.texts[id] = t
	}
	if t.whole || offset > t.bytes || offset+len(said) <= t.bytes {
		return // a gap is filled when the step settles
	}
	k.works()
	said = said[t.bytes-offset:]
	k.artifact(id, text(said), t.bytes > 0, false)
	t.bytes += len(said)
}

// works tells the client once that the task is being worked on.
func (k *following) works() {
	if !k.knows {
		k.knows = true
		k.update(status{State: working})
	}
}

// happened sends what an event says.
func (k *following) happened(ctx context.Context, e *parley.Event) error {
	switch {
	case e.Type.EndsTurn():
		end, err := event.Read[event.TurnEnd](e)
		if k.over = true; err == nil && k.frames != nil {
			k.f.turn = end.Turn
			k.update(k.f.outline().Status)
		}
		return err
	case e.Type == parley.EventSessionWaiting:
		waiting, err := event.Read[event.SessionWaiting](e)
		if err != nil || !stopsFor(waiting.Reason) {
			return err
		}
		k.over = true
		return k.pauses(ctx, waiting)
	case k.frames == nil:
	case e.Type == parley.EventStepStarted:
		k.works()
	case e.Type == parley.EventStepGenerated, e.Type == parley.EventStepError:
		settled, err := event.Read[event.Settled](e)
		if err != nil {
			return err
		}
		return k.settled(settled)
	}
	return nil
}

// pauses sends what a task waits for.
func (k *following) pauses(ctx context.Context, waiting *event.SessionWaiting) (err error) {
	if k.frames == nil {
		return nil
	}
	var asks []question
	stream.Aside(func() { asks, err = k.a.pending(ctx, k.r, k.f) })
	if err != nil {
		return err
	}
	said := ""
	switch {
	case waiting.Refused != nil:
		said = waiting.Sentence
	case len(asks) == 0:
		said = waitsFor(waiting.Reason)
	}
	k.update(status{State: inputRequired, Message: k.f.statement(said, asks)})
	return nil
}

// settled sends what a step said as far as the client does not have it, and takes back what a failed attempt said.
func (k *following) settled(s *event.Settled) error {
	for i := range s.Messages {
		m := &s.Messages[i]
		t := k.texts[m.MessageID]
		if m.Role != parley.RoleAssistant || m.Content == nil || t != nil && t.whole {
			continue
		}
		if t == nil {
			t = &sent{}
			k.texts[m.MessageID] = t
		}
		t.whole = true
		parts := answered(m.Content)
		switch {
		case !settledWell(m.Status):
			if t.bytes > 0 {
				k.artifact(m.MessageID, text(""), false, true)
			}
		case len(parts) == 1 && parts[0].Text != nil && len(*parts[0].Text) >= t.bytes:
			k.works()
			k.artifact(m.MessageID, text((*parts[0].Text)[t.bytes:]), t.bytes > 0, true)
		case len(parts) > 0:
			encoded, err := parley.EncodeJSON(parts)
			if err != nil {
				return err
			}
			k.works()
			k.artifact(m.MessageID, encoded, false, true)
		}
	}
	return nil
}
