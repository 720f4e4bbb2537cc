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
	messages := make(chan received)
	reading.Go(func() { // ends with the connection, which the handler closes
		defer stop()
		defer close(messages)
		for {
			text, free, err := s.message()
			if err != nil {
				s.bye(err)
				return
			}
			select {
			case messages <- received{text, free}:
			case <-ctx.Done():
				free()
				return
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
	kind, previous, body, err := readSocketMessage(text)
	if err != nil {
		problem := x.Problem(err)
		f := failureOf(problem)
		return s.write(opText, socketError(f.status, f.shape()))
	}
	if kind == socketSteer {
		return s.write(opText, append(append([]byte(`{"type":"response.steer.failed","steer":`), body...), '}'))
	}
	r := x.R.Clone(ctx)
	r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Type", "application/json")
	for _, name := range []string{"Upgrade", "Connection", "Sec-Websocket-Key", "Sec-Websocket-Version"} {
		r.Header.Del(name)
	}
	w := &socketWriter{socket: s, header: http.Header{}}
	x.Serve(w, r)
	w.finish()
	if w.failed && previous != "" && k.has(previous) { // nobody knows what went wrong with it
		a.purge(ctx, x.Principal, k.keep("", parley.ID{}))
	}
	return w.err
}

// readSocketMessage reads a client's message: the request inside, or what is said of a steer.
func readSocketMessage(text []byte) (kind, previous string, body []byte, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return "", "", nil, parley.Errorf(parley.CodeInvalid, "The message is not a JSON object.")
	}
	_ = json.Unmarshal(members["type"], &kind) // "" for none
	_ = json.Unmarshal(members["previous_response_id"], &previous)
	switch kind {
	case socketSteer:
		of := members["response_id"]
		if !given(of) {
			of = json.RawMessage(`null`)
		}
		body, err = parley.EncodeJSON(map[string]any{"response_id": of, "error": map[string]string{
			"code": "steering_not_supported", "message": "Post a message to the session to steer it.",
		}})
		return kind, previous, body, err
	case socketCreate:
	default:
		return "", "", nil, parley.InvalidField("type", "must be %s", socketCreate)
	}
	delete(members, "type")
	members["stream"] = json.RawMessage(`true`)
	body, err = parley.EncodeJSON(members)
	return kind, previous, body, err
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
