package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"unicode/utf8"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// pieceBytes is how much text an event of a stream brings. Events are cut where the text says, not where the model
// happened to pause: so a stream that is read again has the same events with the same numbers.
const pieceBytes = 16

// responding is a response on its way to its client. It implements stream.Writer.
type responding struct {
	*response
	api   *api
	x     *protocol.Exchange
	watch *stream.Stream // nil if nothing more is to come

	frames *protocol.Frames // nil if the answer does not stream
	number int64            // of the next event
	after  int64            // the client has the events up to this one
	index  int              // of the next item
	done   map[parley.ID]bool

	current parley.ID          // the message that streams; other texts of its step wait for the step's end
	kind    parley.ContentKind // of the item that is open; "" for none
	head    []byte             // of the events of its part
	have    []byte             // its text
	sent    int                // bytes of that

	history.Progress
	followed bool // the events from the response's beginning on

	ended  bool              // the response is over, or waits for somebody else
	reason parley.WaitReason // whom it waits for
	gone   bool              // the client is
}

// answer writes the response once it is over or, as a stream, as it comes about.
func (w *responding) answer() error {
	if w.watch != nil {
		defer w.watch.Close()
	}
	w.x.Outlast()
	if w.note.Discarded && w.watch != nil {
		defer stream.Aside(w.discard)
	}
	ctx := w.x.R.Context()
	var err error
	if w.frames != nil {
		defer w.frames.End()
		stream.Aside(w.start)
		if w.watch != nil && !w.ended {
			err = w.watch.CatchUpAndRelay(ctx, w, w.x.Leave)
		}
	} else if w.watch != nil && !w.ended {
		timed, stop := context.WithTimeout(ctx, history.MaxWait)
		defer stop()
		err = w.watch.Relay(timed, w, w.x.Leave)
	}
	switch {
	case ctx.Err() != nil || w.gone:
		return nil // the turn continues
	case err != nil:
		f := failureOf(w.x.Problem(err))
		w.fail(&f)
	case w.watch != nil && !w.ended:
		w.fail(&failure{
			status: http.StatusGatewayTimeout, kind: serverError, code: "response_unfinished", final: true,
			message: "The response takes longer than a request may wait. It goes on: retrieve " + w.id() + ".",
		})
	case w.reason != "" && !forClient(w.reason):
		w.fail(&failure{
			status: http.StatusConflict, kind: invalidRequest, code: "turn_waiting", final: true,
			message: "The turn waits (" + string(w.reason) + ") for somebody to decide in Parley, in the session " +
				w.anchor.SessionID.String() + ". It goes on by itself then: retrieve " + w.id() + ".",
		})
	default:
		stream.Aside(func() { err = w.finish(context.WithoutCancel(ctx)) })
		if err != nil {
			f := failureOf(w.x.Problem(err))
			w.fail(&f)
		}
	}
	return nil
}

// start begins the stream with what the record has.
func (w *responding) start() {
	w.lifecycle(statusInProgress, "response.created", "response.in_progress")
	for i := range w.rows {
		m := &w.rows[i]
		if m.Status == parley.MessageStreaming {
			w.current = m.ID
			break
		}
		w.settle(m.ID, m.Role, m.Status, m.Content)
	}
}

// finish reads the response back, and writes what the client does not have of it.
func (w *responding) finish(ctx context.Context) error {
	if m := w.Answer(); m != nil && w.followed && w.anchor.Sequence > 0 && len(w.rows)+len(w.heard) == 0 {
		w.rows = append(w.rows, *m)
	} else if w.watch != nil {
		if err := w.api.readRows(ctx, w.x, w.response); err != nil {
			return err
		}
	}
	o, err := w.object()
	if err != nil {
		return err
	}
	if w.frames == nil {
		return send(w.x, o)
	}
	for i := range w.rows {
		m := &w.rows[i]
		w.settle(m.ID, m.Role, m.Status, m.Content)
	}
	switch o.Status {
	case statusCompleted, statusFailed:
		w.put("response."+o.Status, "response", o)
	default: // the protocol has no event for a cancelled one
		w.put("response.incomplete", "response", o)
	}
	w.frames.Buffer = append(w.frames.Buffer, "data: [DONE]\n\n"...)
	_ = w.frames.Flush() // the client may be gone
	return nil
}

// fail ends the answer with an error, also in the middle of a stream.
func (w *responding) fail(f *failure) {
	if w.frames == nil {
		f.answer(w.x)
		return
	}
	if socket := keptOf(w.x.R.Context()) != nil; socket && w.open("error") { // the same shape as before a response
		b := strconv.AppendInt(append(w.frames.Buffer, `,"status":`...), int64(f.status), 10)
		w.frames.Buffer = append(append(b, `,"error":`...), f.shape()...)
		w.close()
	} else if !socket && w.open("error") {
		b := parley.AppendJSONString(append(w.frames.Buffer, `,"message":`...), f.message)
		b = appendOrNull(append(b, `,"code":`...), f.code)
		w.frames.Buffer = appendOrNull(append(b, `,"param":`...), f.param)
		w.close()
	}
	w.frames.Buffer = append(w.frames.Buffer, "data: [DONE]\n\n"...)
	_ = w.frames.Flush() // the client may be gone
}

// Write implements stream.Writer.
func (w *responding) Write(ctx context.Context, from *stream.Stream) error {
	return w.frames.Pass(ctx, from, func(frame *stream.Frame) (bool, error) {
		switch frame.Kind {
		case stream.DeltaFrame:
			if d := &frame.Delta; w.frames != nil && d.MessageID == w.current {
				w.grow(d.Kind, d.Offset, d.Text)
			}
		case stream.EventFrame:
			err := w.happened(&frame.Event)
			return w.ended, err
		}
		return false, nil
	})
}

// Beat implements stream.Writer.
func (w *responding) Beat() error { return w.frames.Beat() }

// happened follows the turn.
func (w *responding) happened(e *parley.Event) error {
	if err := w.Happened(e); err != nil {
		return err
	}
	switch {
	case e.Type.EndsTurn():
		w.ended, w.turn = true, w.Ended
	case e.Type == parley.EventSessionWaiting:
		waiting, err := event.Read[event.SessionWaiting](e)
		if err != nil {
			return err
		}
		switch {
		case forClient(waiting.Reason), !w.note.Background && !passes(waiting.Reason):
			w.ended, w.reason = true, waiting.Reason
			w.turn.Status, w.turn.WaitReason = parley.TurnWaiting, waiting.Reason
		}
	case e.Type == parley.EventMessageCreated:
		created, err := event.Read[event.MessageCreated](e)
		if err != nil {
			return err
		}
		if created.Role == parley.RoleUser && created.MessageID != w.anchor.ID { // a steer, which may end the response
			var err error
			ctx := context.WithoutCancel(w.x.R.Context())
			stream.Aside(func() { err = w.api.readRows(ctx, w.x, w.response) })
			w.ended = w.resumed
			return err
		}
	case w.frames == nil:
	case e.Type == parley.EventStepStarted:
		step, err := event.Read[event.StepStarted](e)
		if err != nil {
			return err
		}
		w.abandon()
		w.current = step.MessageID
	case e.Type == parley.EventStepGenerated, e.Type == parley.EventStepError:
		step := w.Settled
		if step == nil {
			var err error
			if step, err = event.Read[event.Settled](e); err != nil {
				return err
			}
		}
		for i := range step.Messages {
			m := &step.Messages[i]
			w.settle(m.MessageID, m.Role, m.Status, m.Content)
		}
	}
	return nil
}

// passes reports whether a turn that waits for a reason continues by itself.
func passes(reason parley.WaitReason) bool {
	return reason == parley.WaitChild || reason == parley.WaitRateLimit || reason == parley.WaitOutside
}

// open begins an event; false if the client has it already.
func (w *responding) open(kind string) bool {
	n := w.number
	w.number++
	if n <= w.after {
		return false
	}
	b := append(append(w.frames.Buffer, "event: "...), kind...)
	b = append(append(append(b, "\ndata: {\"type\":\""...), kind...), `","sequence_number":`...)
	w.frames.Buffer = strconv.AppendInt(b, n, 10)
	return true
}

// close ends an event.
func (w *responding) close() {
	w.frames.Buffer = append(w.frames.Buffer, "}\n\n"...)
	if len(w.frames.Buffer) >= protocol.FullBuffer && w.frames.Flush() != nil {
		w.frames.Buffer, w.gone = w.frames.Buffer[:0], true
	}
}

// put writes an event with one member that is an object.
func (w *responding) put(kind, member string, value any) {
	if w.open(kind) {
		w.member(member, value)
		w.close()
	}
}

// member adds a member to an event.
func (w *responding) member(name string, value any) {
	w.frames.Buffer = appendMember(w.frames.Buffer, name, value)
}

// appendMember adds a member to an object.
func appendMember(to []byte, name string, value any) []byte {
	encoded, err := parley.EncodeJSON(value)
	if err != nil { // texts, and JSON from the record
		encoded = []byte("null")
	}
	return append(append(append(append(to, `,"`...), name...), `":`...), encoded...)
}

// lifecycle writes events with the response as it began.
func (w *responding) lifecycle(status string, kinds ...string) {
	begun := *w.response
	begun.rows, begun.resumed, begun.steer = nil, false, parley.ID{}
	begun.turn = parley.Turn{Status: parley.TurnRunning}
	o, err := begun.object()
	if err != nil { // there are no rows to misread
		return
	}
	o.Status = status
	encoded := appendMember(nil, "response", o)
	for _, kind := range kinds {
		if w.open(kind) {
			w.frames.Buffer = append(w.frames.Buffer, encoded...)
			w.close()
		}
	}
}

// item writes an event about the item at the current index.
func (w *responding) item(kind string, item any) {
	if w.open(kind) {
		w.frames.Buffer = strconv.AppendInt(append(w.frames.Buffer, `,"output_index":`...), int64(w.index), 10)
		w.member("item", item)
		w.close()
	}
}

// part writes an event about the open part; member is "" for one without a value.
func (w *responding) part(kind, member string, value any) {
	if w.open(kind) {
		w.frames.Buffer = append(w.frames.Buffer, w.head...)
		if member != "" {
			w.member(member, value)
		}
		w.close()
	}
}

// places names the part that the next events are about.
func (w *responding) places(id string, part int) {
	b := parley.AppendJSONString(append(w.head[:0], `,"item_id":`...), id)
	b = strconv.AppendInt(append(b, `,"output_index":`...), int64(w.index), 10)
	w.head = strconv.AppendInt(append(b, `,"content_index":`...), int64(part), 10)
}

// begin opens an item with a text.
func (w *responding) begin(message parley.ID, kind parley.ContentKind) {
	w.kind, w.have, w.sent = kind, w.have[:0], 0
	if kind == parley.KindReasoning {
		item := newReasoningItem(message, statusInProgress)
		w.item("response.output_item.added", item)
		w.places(item.ID, 0)
		w.part("response.content_part.added", "part", plainText{"reasoning_text", ""})
		return
	}
	item := newMessageItem(message, "assistant", statusInProgress)
	w.item("response.output_item.added", item)
	w.places(item.ID, 0)
	w.part("response.content_part.added", "part", newOutputText("", nil))
}

// grow adds a piece to the text of the current message.
func (w *responding) grow(kind parley.ContentKind, offset int, text string) {
	if kind != w.kind {
		switch {
		case offset > 0:
			return // a gap is filled when the step settles
		case kind == parley.KindText:
			if w.kind == parley.KindReasoning {
				w.endReasoning(w.current, statusCompleted, nil)
			}
		case kind != parley.KindReasoning || w.kind != "":
			return // what comes late is in the whole
		}
		w.begin(w.current, kind)
	}
	if offset > len(w.have) || offset+len(text) <= len(w.have) {
		return
	}
	w.have = append(w.have, text[len(w.have)-offset:]...)
	w.say(false)
}

// say sends the pieces of the text that the client does not have; whole says that no more of it is to come.
func (w *responding) say(whole bool) {
	kind := "response.output_text.delta"
	if w.kind == parley.KindReasoning {
		kind = "response.reasoning_text.delta"
	}
	for w.sent < len(w.have) {
		n := cutAt(w.have[w.sent:], w.sent == 0, whole)
		if n == 0 {
			return
		}
		if w.open(kind) {
			b := append(append(w.frames.Buffer, w.head...), `,"delta":`...)
			b = parley.AppendJSONString(b, string(w.have[w.sent:w.sent+n]))
			if w.kind == parley.KindText {
				b = append(b, `,"logprobs":[]`...)
			}
			w.frames.Buffer = b
			w.close()
		}
		w.sent += n
	}
}

// cutAt returns the length of the next piece of a text; 0 if more of it must come first. The first one is a single
// character, so that nobody waits for it.
func cutAt(text []byte, first, whole bool) int {
	n := pieceBytes
	if first {
		n = 1
	}
	if n >= len(text) {
		if whole || n == len(text) {
			return len(text)
		}
		return 0
	}
	for n < len(text) && !utf8.RuneStart(text[n]) {
		n++
	}
	return n
}

// settle writes what is missing of a settled message. Those that were written before are skipped.
func (w *responding) settle(id parley.ID, role parley.Role, of parley.MessageStatus, raw json.RawMessage) {
	m := parley.Message{ID: id, Role: role, Status: of, Content: raw}
	if w.done[id] || !of.Settled() || len(raw) == 0 {
		return
	}
	switch role {
	case parley.RoleAssistant:
		w.settleText(&m)
	case parley.RoleToolCall:
		w.settleCall(&m)
	default:
		return
	}
	w.done[id] = true
}

// settleText ends the items of an assistant's message.
func (w *responding) settleText(m *parley.Message) {
	status := itemStatus(m.Status)
	var content parley.AssistantContent
	if content.UnmarshalJSON(m.Content) != nil {
		return
	}
	if m.ID != w.current { // nothing of it was sent
		w.abandon()
	}
	if w.kind == "" && content.Reasoning != "" {
		w.begin(m.ID, parley.KindReasoning)
	}
	if w.kind == parley.KindReasoning {
		w.endReasoning(m.ID, status, &content.Reasoning)
	}
	if w.kind == "" && content.Text == "" && content.Refusal == "" {
		return
	}
	if w.kind == "" {
		w.kind, w.have, w.sent = parley.KindText, w.have[:0], 0
		item := newMessageItem(m.ID, "assistant", statusInProgress)
		w.item("response.output_item.added", item)
		w.places(item.ID, 0)
		if content.Text != "" {
			w.part("response.content_part.added", "part", newOutputText("", nil))
		}
	}
	var parts []any
	if content.Text != "" {
		w.have = append(w.have[:0], content.Text...)
		w.say(true)
		whole := newOutputText(content.Text, annotations(&content))
		for i := range whole.Annotations {
			if w.open("response.output_text.annotation.added") {
				w.frames.Buffer = append(w.frames.Buffer, w.head...)
				w.member("annotation_index", i)
				w.member("annotation", whole.Annotations[i])
				w.close()
			}
		}
		w.texts("response.output_text.done", content.Text)
		w.part("response.content_part.done", "part", whole)
		parts = append(parts, whole)
	}
	if content.Refusal != "" {
		w.places(messagePrefix+m.ID.String(), len(parts))
		w.part("response.content_part.added", "part", refusalPart{"refusal", ""})
		w.part("response.refusal.delta", "delta", content.Refusal)
		w.part("response.refusal.done", "refusal", content.Refusal)
		parts = append(parts, refusalPart{"refusal", content.Refusal})
		w.part("response.content_part.done", "part", parts[len(parts)-1])
	}
	w.item("response.output_item.done", newMessageItem(m.ID, "assistant", status, parts...))
	w.kind = ""
	w.index++
}

// abandon ends an item whose message was never settled in sight: its process died, and another attempt began.
func (w *responding) abandon() {
	switch w.kind {
	case parley.KindReasoning:
		w.endReasoning(w.current, statusIncomplete, nil)
	case parley.KindText:
		w.say(true)
		said := newOutputText(string(w.have), nil)
		w.texts("response.output_text.done", said.Text)
		w.part("response.content_part.done", "part", said)
		w.item("response.output_item.done", newMessageItem(w.current, "assistant", statusIncomplete, said))
		w.kind = ""
		w.index++
	default:
		return
	}
	w.done[w.current] = true
}

// texts writes that a text is complete.
func (w *responding) texts(kind, text string) {
	if w.open(kind) {
		w.frames.Buffer = append(w.frames.Buffer, w.head...)
		w.member("text", text)
		if w.kind == parley.KindText {
			w.frames.Buffer = append(w.frames.Buffer, `,"logprobs":[]`...)
		}
		w.close()
	}
}

// endReasoning ends the open reasoning; text is all of it if that is known.
func (w *responding) endReasoning(message parley.ID, status string, text *string) {
	if text != nil && len(*text) >= len(w.have) {
		w.have = append(w.have[:0], *text...)
	}
	w.say(true)
	said := plainText{"reasoning_text", string(w.have)}
	w.texts("response.reasoning_text.done", said.Text)
	w.part("response.content_part.done", "part", said)
	w.item("response.output_item.done", newReasoningItem(message, status, said))
	w.kind = ""
	w.index++
}

// settleCall writes a call of a function of the client.
func (w *responding) settleCall(m *parley.Message) {
	var content parley.ToolCallContent
	if json.Unmarshal(m.Content, &content) != nil || !w.clients[content.Name] {
		return
	}
	whole := newCallItem(m.ID, itemStatus(m.Status), &content)
	began := *whole
	began.Arguments, began.Status = "", statusInProgress
	w.item("response.output_item.added", &began)
	for _, kind := range []string{"delta", "done"} {
		if w.open("response.function_call_arguments." + kind) {
			b := parley.AppendJSONString(append(w.frames.Buffer, `,"item_id":`...), whole.ID)
			w.frames.Buffer = strconv.AppendInt(append(b, `,"output_index":`...), int64(w.index), 10)
			if kind == "done" {
				w.member("name", whole.Name)
				kind = "arguments"
			}
			w.member(kind, whole.Arguments)
			w.close()
		}
	}
	w.item("response.output_item.done", whole)
	w.index++
}
