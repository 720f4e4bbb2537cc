package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/history"
	"example.org/parley/protocol"
	"example.org/parley/store"
)

// maxSteers bounds the steers of a connection that no response has heard yet.
const maxSteers = 16

const steerPrefix = "steer_" // the message

// The codes of steers that failed.
const (
	steerInvalid     = "invalid_input"
	steerNotFound    = "response_not_found"
	steerCompleted   = "response_already_completed"
	steerUnsupported = "steering_not_supported"
	steerTooMany     = "too_many_pending_steers"
	steerUnheard     = "successor_creation_failed"
)

// steerKey marks the request of a steer, which comes over the WebSocket of the response.
type steerKey struct{}

// steerEvent is a client's message for a response that runs on its connection.
type steerEvent struct {
	Type     string          `json:"type"`
	Previous string          `json:"previous_response_id"`
	Input    json.RawMessage `json:"input"`
}

var steerMembers = membersOf(reflect.TypeFor[steerEvent]()) //nolint:gochecknoglobals // never written

// The answers to a steer. Their numbers count what is said of it.
type (
	steerAnswer struct {
		Type     string           `json:"type"`
		Number   int              `json:"sequence_number"`
		Steer    steerShape       `json:"steer"`
		Error    *steerError      `json:"error,omitempty"`
		Reason   string           `json:"reason,omitempty"`
		Required *[]requiredInput `json:"required_input,omitempty"`
	}
	steerShape struct {
		ID       string          `json:"id,omitempty"`
		Previous string          `json:"previous_response_id"`
		Input    json.RawMessage `json:"input,omitempty"`
	}
	steerError struct {
		Type    string `json:"type"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	requiredInput struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Name   string `json:"name"`
	}
)

// pendingSteer is one that was accepted, and that no response has heard yet.
type pendingSteer struct {
	id, session parley.ID
	shape       steerShape // with its input
	told        bool       // that it still waits
}

// failed answers that a steer had no effect, and gives its input back.
func (s *steerShape) failed(number int, code, message string) *steerAnswer {
	shape := *s
	if len(shape.Input) == 0 {
		shape.Input = json.RawMessage("null")
	}
	return &steerAnswer{
		Type: "response.steer.failed", Number: number, Steer: shape,
		Error: &steerError{invalidRequest, code, message},
	}
}

// steerResponse posts a client's message into the turn of a response that runs on its connection: the turn hears it at
// its next step, where another response begins.
func (a *api) steerResponse(x *protocol.Exchange) error {
	var e steerEvent
	shape, code := steerShape{}, steerInvalid
	err := decodeBody(x.Body, &e, steerMembers, "a steer")
	if err == nil {
		shape = steerShape{Previous: e.Previous, Input: e.Input}
		code, err = a.post(x, &shape)
	}
	if err != nil {
		return send(x, shape.failed(0, code, failureOf(x.Problem(err)).message))
	}
	shape.Input = nil
	return send(x, &steerAnswer{Type: "response.steer.accepted", Steer: shape})
}

// post posts a steer, and notes it among those of the connection. code says what is wrong with it.
func (a *api) post(x *protocol.Exchange, shape *steerShape) (code string, err error) {
	ctx, k := x.R.Context(), keptOf(x.R.Context())
	said, err := steerMessage(shape.Input)
	if err != nil {
		return steerInvalid, err
	}
	r, err := a.response(x, shape.Previous)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		return steerNotFound, err
	case err != nil:
		return steerInvalid, err
	case over(r.status()):
		return steerCompleted, parley.Errorf(parley.CodeConflict, "The response is %s.", r.status())
	case k.running != shape.Previous:
		return steerNotFound, parley.Errorf(parley.CodeConflict, "The response does not run on this connection.")
	case r.note.Conversation:
		return steerUnsupported, parley.Errorf(parley.CodeConflict,
			"A response of a conversation is not steered: its next message waits for its turn.")
	case !k.room(r.anchor.SessionID):
		return steerTooMany, parley.Errorf(parley.CodeConflict, "At most %d steers wait to be heard.", maxSteers)
	}
	c := &history.Request{X: x, Settings: r.settings, History: history.History{Said: []history.Message{*said}}}
	input, err := a.book.UserInput(ctx, c, 0)
	if err != nil {
		return steerInvalid, err
	}
	note := r.note
	note.Previous, note.Steers = r.id(), true
	members := map[string]any{noteMember: note}
	for name, value := range r.metadata {
		members[name] = value
	}
	input.During = parley.DuringSteer
	if input.Metadata, err = parley.EncodeJSON(members); err != nil {
		return steerInvalid, err
	}
	posted, err := a.engine.PostMessage(ctx, x.Principal, r.anchor.SessionID, input, store.Idempotency{})
	if err != nil {
		return steerInvalid, err
	}
	shape.ID = steerPrefix + posted.Message.ID.String()
	k.steers = append(k.steers, pendingSteer{posted.Message.ID, r.anchor.SessionID, *shape, false})
	return "", nil
}

// steerMessage reads a steer's input as one message.
func steerMessage(input json.RawMessage) (*history.Message, error) {
	said, instructions, err := readInput(input, maxAdded)
	if err != nil {
		return nil, err
	}
	if len(said) == 0 || len(instructions) > 0 {
		return nil, parley.InvalidField("input", "must be messages of the user")
	}
	m, texts, plain := said[0], []string{}, true
	m.Parts = nil
	for i := range said {
		if said[i].Role != history.User {
			return nil, parley.InvalidField("input", "must be messages of the user")
		}
		texts = append(texts, said[i].Text)
		plain = plain && len(said[i].Parts) == 0
	}
	for i := range said {
		switch {
		case plain:
		case len(said[i].Parts) == 0:
			m.Parts = append(m.Parts, history.Part{Text: said[i].Text})
		default:
			m.Parts = append(m.Parts, said[i].Parts...)
		}
	}
	m.Text = strings.Join(texts, history.Gap)
	return &m, nil
}

// isSteer reports whether a client's message is one.
func isSteer(text []byte) bool {
	var of struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(text, &of) == nil && of.Type == socketSteer
}

// steerWriter keeps the answer to a steer. It implements http.ResponseWriter.
type steerWriter struct {
	header http.Header
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (w *steerWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *steerWriter) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *steerWriter) Write(p []byte) (int, error) {
	w.body = append(w.body, p...)
	return len(p), nil
}

// socketSteer answers a steer while a response may stream. The next response begins only after that.
func (a *api) socketSteer(ctx context.Context, x *protocol.Exchange, s *socket, k *kept, text []byte) error {
	free, err := s.hold(parley.JSONHolds(text)) // its members take far more than their text
	if err != nil {
		f := failureOf(x.Problem(err))
		return s.write(opText, socketError(f.status, f.shape()))
	}
	defer free()
	k.steering.Lock()
	defer k.steering.Unlock()
	w := &steerWriter{header: http.Header{}}
	x.Serve(w, socketRequest(context.WithValue(ctx, steerKey{}, true), x, text))
	if w.status != 0 && w.status != http.StatusOK { // it was not let in
		var refused struct{ Error steerError }
		_ = json.Unmarshal(w.body, &refused) // of our own making
		var e steerEvent
		_ = json.Unmarshal(text, &e) // what is wrong with it was said
		shape := steerShape{Previous: e.Previous, Input: e.Input}
		if w.body, err = parley.EncodeJSON(shape.failed(0, refused.Error.Code, refused.Error.Message)); err != nil {
			return err
		}
	}
	return s.write(opText, w.body)
}

// relay answers a request on a WebSocket: with its response, and with those that its steers begin.
func (a *api) relay(x *protocol.Exchange, k *kept, w *responding) error {
	k.steering.Lock()
	k.running = w.id()
	k.steering.Unlock()
	for {
		if err := w.answer(); err != nil {
			return err
		}
		if w.watch == nil && w.note.Discarded && w.name == "" { // it ended before it was followed
			w.ended = true
			w.discard()
		}
		next, err := a.successor(x, k, w)
		if err != nil || next == nil {
			return err
		}
		w = next
	}
}

// successor begins the response to the steers that the last one did not hear, if any.
func (a *api) successor(x *protocol.Exchange, k *kept, w *responding) (next *responding, err error) {
	k.steering.Lock()
	defer k.steering.Unlock()
	k.running = ""
	if x.R.Context().Err() != nil || w.gone {
		return nil, nil
	}
	for i := range w.heard {
		k.hears(w.heard[i].ID)
	}
	id := w.steer
	for id.IsZero() {
		first := k.first(w.anchor.SessionID)
		if first == nil {
			return nil, nil
		}
		m, err := a.engine.Message(x.R.Context(), x.Principal, first.id)
		switch {
		case parley.ErrorCode(err) == parley.CodeNotFound:
			k.tell(x, first.shape.failed(1, steerUnheard, "The message was taken back."))
			k.hears(first.id) // which moves the others
		case err != nil:
			return nil, err
		case m.Steer && m.Sequence == 0: // the turn waits
			k.pending(x, w)
			return nil, nil
		default:
			id = m.ID
		}
	}
	k.hears(id)
	if next, err = a.again(x, responsePrefix+id.String(), -1); err != nil {
		return nil, err
	}
	next.frames = protocol.NewFrames(x.W)
	k.running = next.id()
	return next, nil
}

// first is the first steer of a session that waits; nil for none.
func (k *kept) first(session parley.ID) *pendingSteer {
	for i := range k.steers {
		if k.steers[i].session == session {
			return &k.steers[i]
		}
	}
	return nil
}

// room reports whether a steer of a session may wait, too. Those that stay in others no longer count.
func (k *kept) room(session parley.ID) bool {
	if len(k.steers) >= maxSteers {
		k.steers = slices.DeleteFunc(k.steers, func(s pendingSteer) bool { return s.told && s.session != session })
	}
	return len(k.steers) < maxSteers
}

// hears takes a steer off those that wait.
func (k *kept) hears(id parley.ID) {
	k.steers = slices.DeleteFunc(k.steers, func(s pendingSteer) bool { return s.id == id })
}

// pending tells once of each steer why it still waits, and which outputs the turn needs.
func (k *kept) pending(x *protocol.Exchange, w *responding) {
	reason, required := "turn_waiting", []requiredInput{} // for somebody in Parley
	if forClient(w.turn.WaitReason) {
		reason = "waiting_for_required_input"
		open := openCalls(w.rows)
		for i := range w.rows {
			m := &w.rows[i]
			if m.Role == parley.RoleToolCall && w.clients[m.ToolName] && slices.Contains(open, m.ToolCallID) {
				required = append(required, requiredInput{"function_call_output", m.ToolCallID, m.ToolName})
			}
		}
	}
	for i := range k.steers {
		s := &k.steers[i]
		if s.told || s.session != w.anchor.SessionID {
			continue
		}
		s.told = true
		shape := s.shape
		shape.Input = nil
		k.tell(x, &steerAnswer{
			Type: "response.steer.pending", Number: 1, Steer: shape, Reason: reason, Required: &required,
		})
	}
}

// tell sends an event about a steer.
func (*kept) tell(x *protocol.Exchange, answer *steerAnswer) {
	encoded, err := parley.EncodeJSON(answer)
	if err != nil { // texts, and JSON that was read
		return
	}
	frame := append([]byte("event: "+answer.Type+"\ndata: "), encoded...)
	_, _ = x.W.Write(append(frame, "\n\n"...)) // the client may be gone
}
