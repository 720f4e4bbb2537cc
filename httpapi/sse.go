package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley"
	"parley/live"
	"parley/store"
)

// The clocks and bounds of a stream.
const (
	Heartbeat     = 15 * time.Second       // between comments that keep proxies from cutting an idle stream
	WriteTimeout  = 30 * time.Second       // of one write: a reader that takes nothing this long is cut off
	StandardFlush = 120 * time.Millisecond // pace of merged deltas

	keepBuffer = 4 << 10  // of frames, kept by an idle watcher
	fullBuffer = 32 << 10 // of frames, written without waiting for more
)

// eventSequenceHeader says where to begin watching to miss nothing of a post.
const eventSequenceHeader = "Parley-Event-Sequence"

// messageHeader names the message that a post recorded.
const messageHeader = "Parley-Message-Id"

// lastEventHeader is what a browser sends when it connects again.
const lastEventHeader = "Last-Event-Id" // as net/http spells it

// wantsStream reports whether the client asks for events.
func wantsStream(r *http.Request) bool {
	for _, accept := range r.Header["Accept"] {
		if strings.Contains(accept, "text/event-stream") {
			return true
		}
	}
	return false
}

// stream writes frames to one client. It is used by the request's goroutine
// alone, and ends with it.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  []byte
	cutAt   time.Time // the connection's write deadline
}

// newStream answers 200 and the headers of a stream that no proxy may hold
// back, compress or keep.
func newStream(w http.ResponseWriter) *stream {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &stream{w: w, control: http.NewResponseController(w)}
}

// flush sends what is buffered. The deadline rolls: it stands at least half of
// WriteTimeout ahead of every write.
func (s *stream) flush() error {
	if now := time.Now(); s.cutAt.Sub(now) < WriteTimeout/2 {
		s.cutAt = now.Add(WriteTimeout)
		if err := s.control.SetWriteDeadline(s.cutAt); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	if len(s.buffer) > 0 {
		if _, err := s.w.Write(s.buffer); err != nil {
			return err
		}
		if s.buffer = s.buffer[:0]; cap(s.buffer) > keepBuffer {
			s.buffer = nil
		}
	}
	return s.control.Flush()
}

// end leaves the connection usable for the next request.
func (s *stream) end() { _ = s.control.SetWriteDeadline(time.Time{}) }

// relay writes the watcher's frames until the watcher or the client is gone, or the
// client's key: a key that is revoked here ends its streams at once, one revoked
// elsewhere with the next heartbeat. It flushes only when no further frame is at hand.
func (a *api) relay(x *exchange, s *stream, watcher *live.Watcher) {
	defer s.end()
	for a.heartbeat(x, s, watcher) {
		s.buffer = append(s.buffer, ": still here\n\n"...)
		if s.flush() != nil {
			return
		}
	}
}

// heartbeat relays until the next one is due, or the keys have changed.
func (a *api) heartbeat(x *exchange, s *stream, watcher *live.Watcher) bool {
	timed, stop := context.WithTimeout(x.r.Context(), Heartbeat)
	defer stop()
	defer a.gate.watched(stop)()
	known := false
	aside(func() { known = a.gate.stillKnows(x) }) // which may read the store
	return known && a.beat(timed, x, s, watcher)
}

// catchUp relays what is there already, on a goroutine of its own that ends
// with it: reading the store takes a deep stack, which the stream's goroutine
// would keep for as long as it idles. False when the stream is over.
func (a *api) catchUp(x *exchange, s *stream, watcher *live.Watcher) (on bool) {
	timed, stop := context.WithTimeout(x.r.Context(), catchUpTime)
	defer stop()
	aside(func() { on = a.beat(timed, x, s, watcher) })
	return on
}

// catchUpTime is how long a new stream's frames are relayed aside. What takes
// longer goes on in the stream's own goroutine.
const catchUpTime = 100 * time.Millisecond

// beat relays until timed ends. True when that is so and the stream goes on.
func (a *api) beat(timed context.Context, x *exchange, s *stream, watcher *live.Watcher) bool {
	ctx := x.r.Context()
	if len(s.buffer) == 0 {
		s.buffer = nil // an idle stream keeps none
	}
	err := s.untilBeat(timed, watcher)
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, errGone):
		return false
	case timed.Err() != nil: // perhaps in the middle of a read, which is done again
		return true
	}
	a.log.LogAttrs(ctx, slog.LevelError, "stream broke off; the client resumes from the store",
		slog.String("request_id", x.requestID.String()), slog.String("error", err.Error()))
	return false
}

// aside runs work on another goroutine, which ends with it, and waits. A panic
// is the caller's.
func aside(work func()) {
	failed := make(chan any, 1)
	go func() {
		defer func() { failed <- recover() }()
		work()
	}()
	if cause := <-failed; cause != nil {
		panic(cause)
	}
}

// untilBeat relays until the watcher ends (nil), ctx ends or a write fails.
func (s *stream) untilBeat(ctx context.Context, watcher *live.Watcher) error {
	for {
		frame, err := watcher.Next(ctx)
		if errors.Is(err, io.EOF) {
			if len(s.buffer) > 0 {
				_ = s.flush() // the stream is over either way
			}
			return nil
		}
		if err != nil {
			return err
		}
		s.buffer = appendFrame(s.buffer, &frame)
		if len(s.buffer) < fullBuffer && watcher.Buffered() {
			continue
		}
		if err := s.flush(); err != nil {
			return errGone
		}
	}
}

// errGone says that the client takes no more.
var errGone = errors.New("httpapi: the watcher's connection is gone")

// appendFrame writes one frame: event, id if it is durable, and one line of data.
func appendFrame(to []byte, frame *live.Frame) []byte {
	switch frame.Kind {
	case live.EventFrame:
		e := &frame.Event
		to = append(append(to, "event: "...), e.Type...)
		if e.Sequence > 0 {
			to = strconv.AppendInt(append(to, "\nid: "...), e.Sequence, 10)
		}
		to = appendID(append(to, "\ndata: {\"session_id\":"...), e.SessionID)
		if e.Sequence > 0 {
			to = appendCount(to, `,"sequence":`, e.Sequence)
		} else { // of a dry run: it is not in the store
			to = append(to, `,"sequence":null`...)
		}
		to = appendText(to, `,"type":`, string(e.Type))
		to = e.CreatedAt.AppendJSON(append(to, `,"created_at":`...))
		return appendLine(append(to, `,"data":`...), e.Data)
	case live.DeltaFrame:
		d := &frame.Delta
		to = appendID(append(to, "event: step.generating\ndata: {\"session_id\":"...), d.SessionID)
		to = appendID(append(to, `,"type":"step.generating","data":{"message_id":`...), d.MessageID)
		to = append(append(append(to, `,"kind":"`...), d.Kind...), '"')
		to = appendCount(to, `,"offset":`, int64(d.Offset))
		to = appendCount(to, `,"end":`, int64(d.End))
		to = appendText(to, `,"delta":`, d.Text)
		return append(to, "}}\n\n"...)
	case live.FeedFrame:
		f := &frame.Feed
		to = append(append(to, "event: "...), f.Type...)
		to = appendID(append(to, "\ndata: {\"session_id\":"...), f.SessionID)
		to = appendText(to, `,"type":`, string(f.Type))
		return appendLine(append(to, `,"data":`...), f.Data)
	}
	return appendResync(to, frame.SessionID, frame.Reason)
}

func appendResync(to []byte, sessionID parley.ID, reason string) []byte {
	to = appendID(append(to, "event: resync\ndata: {\"session_id\":"...), sessionID)
	to = appendText(to, `,"type":"resync","data":{"reason":`, reason)
	return append(to, "}}\n\n"...)
}

// appendLine ends a frame with its data, which has to stay on one line.
func appendLine(to []byte, data json.RawMessage) []byte {
	switch {
	case len(data) == 0:
		to = append(to, "{}"...)
	case bytes.ContainsAny(data, "\r\n"):
		var line bytes.Buffer
		if json.Compact(&line, data) != nil {
			line.Reset()
			line.WriteString("{}")
		}
		to = append(to, line.Bytes()...)
	default:
		to = append(to, data...)
	}
	return append(to, "}\n\n"...)
}

// place is where a session's stream begins: after the header Last-Event-ID,
// else after the parameter, else at the first event. ok is false for one that
// cannot be read.
func place(r *http.Request, after string) (sequence int64, ok bool) {
	if header, given := r.Header[lastEventHeader]; given && len(header) > 0 {
		after = header[0]
		if after == "" {
			return 0, true
		}
	} else if after == "" {
		return 0, true
	}
	sequence, err := strconv.ParseInt(after, 10, 64)
	return sequence, err == nil && sequence >= 0
}

func serveSessionEvents(a *api, x *exchange) error {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return args.err
	}
	session, err := a.session(x)
	if err != nil {
		return err
	}
	var scope store.Scope
	aside(func() { scope, err = a.engine.AdmitWatcher(x.r.Context(), x.principal, session) })
	if err != nil {
		return err
	}
	after, readable := place(x.r, args.text("after"))
	if !readable {
		after = live.FromNow
	}
	x.call.End(x.r.Context())
	watcher := a.hub.Watch(live.WatchRequest{
		Scope: scope, Sessions: []live.Place{{SessionID: session, After: after}}, Flush: flush,
	})
	defer watcher.Close()
	s := newStream(x.w)
	if !readable {
		s.buffer = appendResync(s.buffer, session, "the place to begin at could not be read")
	}
	if err := s.flush(); err != nil {
		return nil // the client is gone
	}
	if a.catchUp(x, s, watcher) {
		a.relay(x, s, watcher)
	}
	return nil
}

func serveWorkspaceEvents(a *api, x *exchange) error {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return args.err
	}
	given := x.query["session"]
	if len(given) > live.MaxSessions {
		return parley.InvalidField("session", "at most %d sessions on one connection", live.MaxSessions)
	}
	request := live.WatchRequest{Feed: true, Flush: flush}
	var ids, doubtful []parley.ID
	for _, text := range given {
		idText, after, _ := strings.Cut(text, ":")
		id, err := parley.ParseID(idText)
		if err != nil {
			return parley.InvalidField("session", "write the session's id, a colon, and the event sequence to begin after")
		}
		ids = append(ids, id)
		sequence, err := strconv.ParseInt(after, 10, 64)
		if after == "" {
			sequence, err = 0, nil
		}
		if err != nil || sequence < 0 {
			doubtful, sequence = append(doubtful, id), live.FromNow
		}
		request.Sessions = append(request.Sessions, live.Place{SessionID: id, After: sequence})
	}
	var err error
	aside(func() { request.Scope, err = a.engine.AdmitWatcher(x.r.Context(), x.principal, ids...) })
	if err != nil {
		return err
	}
	x.call.End(x.r.Context())
	watcher := a.hub.Watch(request)
	defer watcher.Close()
	s := newStream(x.w)
	for _, id := range doubtful {
		s.buffer = appendResync(s.buffer, id, "the place to begin at could not be read")
	}
	if err := s.flush(); err != nil {
		return nil // the client is gone
	}
	if a.catchUp(x, s, watcher) {
		a.relay(x, s, watcher)
	}
	return nil
}
