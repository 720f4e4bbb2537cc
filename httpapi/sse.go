package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/protocol"
	"example.org/parley/stream"
)

// eventSequenceHeader is the event sequence to watch after, to miss nothing of a post.
const eventSequenceHeader = "Parley-Event-Sequence"

// messageHeader names the message that a post recorded.
const messageHeader = "Parley-Message-Id"

// lastEventHeader is what a browser sends when it reconnects.
const lastEventHeader = "Last-Event-Id" // as net/http spells it

// wantsStream reports whether the client asks for events: by the path, or by the header Accept on a path that can also
// answer with JSON.
func (x *exchange) wantsStream() bool {
	if x.streamed {
		return true
	}
	for _, accept := range x.r.Header["Accept"] {
		if strings.Contains(accept, eventStream) {
			return true
		}
	}
	return false
}

// noFrames answers with an empty stream: no turn began.
func (x *exchange) noFrames() error {
	s := newSSE(x.w)
	_ = s.Flush() // the client may be gone; the work is done
	s.End()
	return nil
}

// sse writes a stream to one client, as server-sent events. It is used by one
// goroutine at a time.
type sse struct{ *protocol.Frames }

func newSSE(w http.ResponseWriter) *sse { return &sse{protocol.NewFrames(w)} }

// Write implements stream.Writer. It flushes only if no other frame is ready.
func (s *sse) Write(ctx context.Context, from *stream.Stream) error {
	if len(s.Buffer) == 0 {
		s.Buffer = nil // an idle stream keeps none
	}
	frame := new(stream.Frame) // not on the stack, which it would double
	for {
		*frame = stream.Frame{}
		err := from.Take(ctx, frame)
		if errors.Is(err, io.EOF) {
			if len(s.Buffer) > 0 {
				_ = s.Flush() // the stream is over either way
			}
			return nil
		}
		if err != nil {
			return err
		}
		s.Buffer = appendFrame(s.Buffer, frame)
		if len(s.Buffer) < protocol.FullBuffer && from.Buffered() {
			continue
		}
		if s.Flush() != nil {
			return stream.ErrGone
		}
	}
}

// Beat implements stream.Writer.
func (s *sse) Beat() error {
	s.Buffer = append(s.Buffer, ": still here\n\n"...)
	return s.Flush()
}

// send writes one frame and sends it.
func (s *sse) send(frame *stream.Frame) error {
	s.Buffer = appendFrame(s.Buffer, frame)
	if s.Flush() != nil {
		return stream.ErrGone
	}
	return nil
}

// leave is the reader's permission to continue: a key that this process revokes ends its streams at once; one revoked
// elsewhere does with the next heartbeat.
type leave struct {
	gate *gate
	x    *exchange
}

// Holds implements stream.Leave.
func (l leave) Holds() bool { return l.gate.stillKnows(l.x) }

// Watch implements stream.Leave.
func (l leave) Watch(changed func()) (over func()) { return l.gate.watched(changed) }

// relay writes a stream's frames until the stream ends, the client is gone, or its key is revoked.
func (a *api) relay(x *exchange, s *sse, from *stream.Stream) {
	defer s.End()
	a.broke(x, from.Relay(x.r.Context(), s, leave{a.gate, x}))
}

// relayLasting is relay for a stream that continues when its reader has caught up.
func (a *api) relayLasting(x *exchange, from *stream.Stream) {
	s := newSSE(x.w)
	if s.Flush() != nil {
		return // the client is gone
	}
	on, err := from.CatchUp(x.r.Context(), s)
	a.broke(x, err)
	if on {
		a.relay(x, s, from)
	}
}

// broke logs why a stream broke off, if it did.
func (a *api) broke(x *exchange, err error) {
	if err != nil {
		a.log.LogAttrs(x.r.Context(), slog.LevelError, "stream broke off; the client resumes from the store",
			slog.String("request_id", x.requestID.String()), slog.String("error", err.Error()))
	}
}

// appendFrame writes one frame: event, id if it is durable, and one line of data.
func appendFrame(to []byte, frame *stream.Frame) []byte {
	switch frame.Kind {
	case stream.EventFrame:
		to = append(append(to, "event: "...), frame.Event.Type...)
		if frame.Event.Sequence > 0 { // 0 in a dry run, which stores nothing
			to = strconv.AppendInt(append(to, "\nid: "...), frame.Event.Sequence, 10)
		}
		to = event.AppendFrame(append(to, "\ndata: "...), &frame.Event)
	case stream.DeltaFrame:
		d := &frame.Delta
		delta := event.StepGenerating{MessageID: d.MessageID, Kind: d.Kind, Offset: d.Offset, End: d.End, Delta: d.Text}
		to = delta.AppendFrame(append(to, "event: step.generating\ndata: "...), d.SessionID)
	case stream.FeedFrame:
		f := &frame.Feed
		to = append(append(append(to, "event: "...), f.Type...), "\ndata: "...)
		to = event.AppendFeedFrame(to, f.SessionID, f.Type, f.Data)
	case stream.RawFrame:
		r := frame.Raw
		raw := event.StepRaw{TurnID: r.TurnID, CallID: r.CallID, MessageID: r.MessageID, Offset: r.Offset, End: r.End,
			Text: r.Text}
		to = raw.AppendFrame(append(to, "event: step.raw\ndata: "...), frame.SessionID)
	case stream.PatchFrame:
		to = frame.Patch.AppendFrame(append(to, "event: object.patch\ndata: "...), frame.SessionID)
	case stream.ResyncFrame:
		return appendResync(to, frame.SessionID, frame.Reason)
	}
	return append(to, "\n\n"...)
}

func appendResync(to []byte, sessionID parley.ID, reason parley.ResyncReason) []byte {
	resync := event.Resync{Reason: reason}
	return append(resync.AppendFrame(append(to, "event: resync\ndata: "...), sessionID), "\n\n"...)
}

// place is where a session's stream begins: after the header Last-Event-ID, else after the parameter after, else at the
// first event.
func place(r *http.Request, session parley.ID, after string) stream.Place {
	if header := r.Header[lastEventHeader]; len(header) > 0 {
		after = header[0]
	}
	return stream.ParsePlace(session, after)
}

func serveSessionEvents(a *api, x *exchange) error {
	opened, err := a.sessionStream(x)
	if err != nil {
		return err
	}
	return a.watch(x, opened)
}

// sessionStream opens the stream of a session's events. Like feedStream it is not inlined: an idle stream keeps its
// goroutine's stack, which would otherwise include what opening takes.
//
//go:noinline
func (a *api) sessionStream(x *exchange) (*stream.Stream, error) {
	args := x.arguments()
	flush, raw := args.flushMS(a.flush), args.flag("raw")
	if args.err != nil {
		return nil, args.err
	}
	session, err := a.session(x)
	if err != nil {
		return nil, err
	}
	places := []stream.Place{place(x.r, session, args.text("after"))}
	request := stream.Request{Sessions: places, Flush: flush, Raw: raw != nil && *raw}
	return a.streams.Open(x.r.Context(), x.principal, request)
}

func serveWorkspaceEvents(a *api, x *exchange) error {
	opened, err := a.feedStream(x)
	if err != nil {
		return err
	}
	return a.watch(x, opened)
}

//go:noinline
func (a *api) feedStream(x *exchange) (*stream.Stream, error) {
	args := x.arguments()
	flush := args.flushMS(a.flush)
	if args.err != nil {
		return nil, args.err
	}
	given := x.query["session"]
	if len(given) > stream.MaxSessions {
		return nil, parley.InvalidField("session", "at most %d sessions on one connection", stream.MaxSessions)
	}
	request := stream.Request{Feed: true, Flush: flush}
	for _, text := range given {
		idText, after, _ := strings.Cut(text, ":")
		id, err := parley.ParseID(idText)
		if err != nil {
			return nil, parley.InvalidField(
				"session",
				"write the session's id, a colon, and the event sequence to begin after",
			)
		}
		request.Sessions = append(request.Sessions, stream.ParsePlace(id, after))
	}
	return a.streams.Open(x.r.Context(), x.principal, request)
}

// watch answers with a stream that does not end by itself.
func (a *api) watch(x *exchange, opened *stream.Stream) error {
	defer opened.Close()
	x.call.End(x.r.Context())
	a.relayLasting(x, opened)
	return nil
}
