package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/protocol"
)

// The types of a client's messages.
const (
	socketCreate = "response.create"
	socketSteer  = "response.steer"
)

// keptKey is where a request finds what its WebSocket keeps.
type keptKey struct{}

// kept is the last response of a WebSocket that is not to be stored: it can be continued there, and is purged when it
// was, when going on with it fails, and with the connection.
type kept struct {
	mu       sync.Mutex // guards the rest: a response may end after its client has gone
	response string
	session  parley.ID
	over     bool // the connection is

	steering sync.Mutex // held while a steer is answered, and while a response begins; guards the rest
	running  string     // the response that streams; "" for none
	steers   []pendingSteer
}

// keptOf returns what the request's WebSocket keeps; nil for a request without one.
func keptOf(ctx context.Context) *kept {
	k, _ := ctx.Value(keptKey{}).(*kept) // nil for others
	return k
}

// has reports whether a response is the one that is kept.
func (k *kept) has(response string) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.response != "" && k.response == response
}

// keep keeps another response, and returns the session to be purged; zero for none.
func (k *kept) keep(response string, session parley.ID) parley.ID {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.over {
		return session
	}
	before := k.session
	k.response, k.session = response, session
	if before == session {
		return parley.ID{}
	}
	return before
}

// end forgets the response for good, and returns its session.
func (k *kept) end() parley.ID {
	before := k.keep("", parley.ID{})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = true
	return before
}

// socket serves Responses over a WebSocket: each message is a request of its own, and is let in like one.
func (a *api) socket(x *protocol.Exchange) error {
	key, err := handshake(x.R)
	if err != nil {
		return err
	}
	end, err := x.Room()
	if err != nil {
		return err
	}
	defer end()
	x.Outlast()
	s, done, err := accept(x, key)
	if err != nil {
		return nil // the client is gone
	}
	k := &kept{}
	ctx, stop := context.WithCancel(context.WithValue(x.R.Context(), keptKey{}, k))
	var reading sync.WaitGroup
	defer func() {
		stop()
		done()
		reading.Wait()
		a.purge(ctx, x.Principal, k.end())
	}()
	type received struct {
		text []byte
		free func()
	}
	messages, steers := make(chan received), make(chan received)
	reading.Go(func() { // ends with the connection, which the handler closes
		defer stop()
		defer close(messages)
		defer close(steers)
		for {
			text, free, err := s.message()
			if err != nil {
				s.bye(err)
				return
			}
			to := messages
			if isSteer(text) {
				to = steers
			}
			select {
			case to <- received{text, free}:
			case <-ctx.Done():
				free()
				return
			}
		}
	})
	reading.Go(func() { // ends with the one above; a response streams meanwhile
		for m := range steers {
			err := a.socketSteer(ctx, x, s, k, m.text)
			m.free()
			if err != nil {
				stop() // the client is gone
			}
		}
	})
	for m := range messages {
		err := a.socketMessage(ctx, x, s, k, m.text)
		m.free()
		if err != nil {
			return nil // the client is gone
		}
	}
	return nil
}

// bye tells the client why the connection ends.
func (s *socket) bye(err error) {
	status := closing(closeInternal)
	_ = errors.As(err, &status)
	_ = s.write(opClose, []byte{byte(status >> 8), byte(status)}) // the client may be gone
}

// purge deletes the session of a response that is not stored.
func (a *api) purge(ctx context.Context, principal parley.Principal, session parley.ID) {
	if !session.IsZero() {
		_ = a.engine.DeleteSession(context.WithoutCancel(ctx), principal, session) // else see purgeForgotten
	}
}

// socketMessage answers one message. An error means that the client is gone.
func (a *api) socketMessage(ctx context.Context, x *protocol.Exchange, s *socket, k *kept, text []byte) error {
	var previous string
	var body []byte
	free, err := s.hold(parley.JSONHolds(text)) // its members take far more than their text
	if err == nil {
		previous, body, err = readSocketMessage(text)
		free()
	}
	if err != nil {
		problem := x.Problem(err)
		f := failureOf(problem)
		return s.write(opText, socketError(f.status, f.shape()))
	}
	w := &socketWriter{socket: s, header: http.Header{}}
	x.Serve(w, socketRequest(ctx, x, body))
	w.finish()
	if w.failed && previous != "" && k.has(previous) { // nobody knows what went wrong with it
		a.purge(ctx, x.Principal, k.keep("", parley.ID{}))
	}
	return w.err
}

// socketRequest is a client's message as a request of its own.
func socketRequest(ctx context.Context, x *protocol.Exchange, body []byte) *http.Request {
	r := x.R.Clone(ctx)
	r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	for _, name := range []string{"Upgrade", "Connection", "Sec-Websocket-Key", "Sec-Websocket-Version"} {
		r.Header.Del(name)
	}
	return r
}

// readSocketMessage reads a client's message: the request inside.
func readSocketMessage(text []byte) (previous string, body []byte, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return "", nil, parley.Errorf(parley.CodeInvalid, "The message is not a JSON object.")
	}
	var kind string
	_ = json.Unmarshal(members["type"], &kind) // "" for none
	_ = json.Unmarshal(members["previous_response_id"], &previous)
	if kind != socketCreate {
		return "", nil, parley.InvalidField("type", "must be %s or %s", socketCreate, socketSteer)
	}
	delete(members, "type")
	members["stream"] = json.RawMessage(`true`)
	body, err = parley.EncodeJSON(members)
	return previous, body, err
}

// socketError is an error as a message.
func socketError(status int, shape json.RawMessage) []byte {
	body, err := parley.EncodeJSON(struct {
		Type   string          `json:"type"`
		Status int             `json:"status"`
		Error  json.RawMessage `json:"error"`
	}{"error", status, shape})
	if err != nil { // a failure always encodes
		panic(err)
	}
	return body
}

// socketWriter takes an answer, and sends the data of its events as messages. It implements http.ResponseWriter.
type socketWriter struct {
	socket *socket
	header http.Header
	status int
	rest   []byte // of the answer, not yet sent
	failed bool
	err    error
}

// Header implements http.ResponseWriter.
func (w *socketWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *socketWriter) WriteHeader(status int) { w.status = status }

// SetWriteDeadline is for http.ResponseController: each message has a deadline of its own.
func (w *socketWriter) SetWriteDeadline(time.Time) error { return nil }

// FlushError is for http.ResponseController: messages are sent at once.
func (w *socketWriter) FlushError() error { return w.err }

// Write implements http.ResponseWriter.
func (w *socketWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	w.rest = append(w.rest, p...)
	for w.status == http.StatusOK && w.err == nil {
		frame, behind, whole := bytes.Cut(w.rest, []byte("\n\n"))
		if !whole {
			break
		}
		if _, data, ok := bytes.Cut(frame, []byte("data: ")); ok && data[0] == '{' {
			w.failed = w.failed || bytes.HasPrefix(frame, []byte("event: error")) ||
				bytes.HasPrefix(frame, []byte("event: response.failed"))
			w.err = w.socket.write(opText, data)
		}
		w.rest = append(w.rest[:0], behind...)
	}
	return len(p), w.err
}

// finish sends an answer that is not a stream: an error.
func (w *socketWriter) finish() {
	if w.err != nil || w.status == http.StatusOK && len(w.rest) == 0 {
		return
	}
	w.failed = true
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(w.rest, &body) != nil || !given(body.Error) {
		body.Error = (&failure{kind: serverError, message: "The request failed."}).shape()
	}
	w.err = w.socket.write(opText, socketError(w.status, body.Error))
}
