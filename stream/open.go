package stream

import (
	"context"
	"strconv"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/live"
	"example.org/parley/store"
)

// The contents of a stream, and where it begins; package live defines them.
type (
	Frame = live.Frame
	Place = live.Place
)

// The kinds of frame: they say which field of a Frame is set.
const (
	EventFrame  = live.EventFrame
	DeltaFrame  = live.DeltaFrame
	FeedFrame   = live.FeedFrame
	ResyncFrame = live.ResyncFrame
	RawFrame    = live.RawFrame
	PatchFrame  = live.PatchFrame
)

// MaxSessions is the most sessions that one stream shows; callers check it.
const MaxSessions = live.MaxSessions

// The bounds and intervals of a stream.
const (
	Heartbeat     = 15 * time.Second       // between heartbeats, which keep proxies from cutting an idle stream
	StandardFlush = 120 * time.Millisecond // default time for merging deltas of one message
)

// Streams opens streams over one hub. It is safe for concurrent use.
type Streams struct {
	engine *engine.Engine
	hub    *live.Hub
}

// New makes Streams of a hub, for principals whom an engine admits.
func New(verbs *engine.Engine, hub *live.Hub) *Streams { return &Streams{engine: verbs, hub: hub} }

// Request says what to watch.
type Request struct {
	Sessions  []Place       // at most MaxSessions; see ParsePlace
	Feed      bool          // the workspace's feed too
	Flush     time.Duration // how long deltas of a message are merged; the first is sent immediately; 0: no merging
	Raw       bool          // the providers' unprocessed text too; only for admins
	UntilTurn parley.ID     // if set, only this turn's frames, and approvals of tool sessions, up to its terminal event
}

// Turn returns the request for one turn's frames, from a position before it to its end.
func Turn(session parley.ID, after int64, turn parley.ID, flush time.Duration) Request {
	return Request{Sessions: []Place{{SessionID: session, After: after}}, Flush: flush, UntilTurn: turn}
}

// Open opens a stream for a principal; CodeNotFound if it names a session that they may not see. The caller closes the
// stream.
func (s *Streams) Open(ctx context.Context, principal parley.Principal, request Request) (*Stream, error) {
	ids := make([]parley.ID, len(request.Sessions))
	for i := range request.Sessions {
		ids[i] = request.Sessions[i].SessionID
	}
	admit := s.engine.AdmitWatcher
	if request.Feed {
		admit = s.engine.AdmitFeed
	}
	var scope store.Scope
	var err error
	Aside(func() {
		if request.Raw {
			err = s.engine.AdmitRaw(ctx, principal, ids...)
		}
		if err == nil {
			scope, err = admit(ctx, principal, ids...)
		}
	})
	if err != nil {
		return nil, err
	}
	return s.open(scope, principal.ID, request), nil
}

// Follow opens the stream of a turn that one of the principal's verbs has just begun or resumed. The verb has checked
// that they may see the session, so Follow does not; with Raw, AdmitRaw has.
func (s *Streams) Follow(ctx context.Context, principal parley.Principal, turn Request) (*Stream, error) {
	scope, err := s.engine.AdmitWatcher(ctx, principal)
	if err != nil {
		return nil, err
	}
	return s.open(scope, principal.ID, turn), nil
}

func (s *Streams) open(scope store.Scope, principalID parley.ID, request Request) *Stream {
	return &Stream{until: request.UntilTurn, watcher: s.hub.Watch(live.WatchRequest{
		Scope:     scope,
		Principal: principalID,
		Sessions:  request.Sessions,
		Feed:      request.Feed,
		Flush:     request.Flush,
		Raw:       request.Raw,
		UntilTurn: request.UntilTurn,
	})}
}

// Expect keeps coming commits of a session in memory, so that the stream of a post need not read them back. The caller
// closes it once that stream is open.
func (s *Streams) Expect(session parley.ID) Expected {
	fromNow := []Place{{SessionID: session, After: live.FromNow}}
	return Expected{s.hub.Watch(live.WatchRequest{Sessions: fromNow, Posting: true})}
}

// Expected is a session in which a commit is expected.
type Expected struct{ watcher *live.Watcher }

// Close ends the expectation.
func (e Expected) Close() { e.watcher.Close() }

// ParsePlace reads the event sequence after which a reader wants to continue; "" is the beginning. If it cannot be
// read, the stream says so with a resync, and continues with new events.
func ParsePlace(session parley.ID, after string) Place {
	if after == "" {
		return Place{SessionID: session}
	}
	sequence, err := strconv.ParseInt(after, 10, 64)
	if err != nil || sequence < 0 {
		sequence = live.Unreadable
	}
	return Place{SessionID: session, After: sequence}
}
