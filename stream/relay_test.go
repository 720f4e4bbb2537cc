package stream_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/live"
	"example.org/parley/store"
	"example.org/parley/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait, in the bubble's time.
const patience = 4 * stream.Heartbeat

// source is a store with one session without events, which can fail.
type source struct{ fails atomic.Bool }

var errBroken = errors.New("the store is gone")

func (s *source) Events(context.Context, store.Scope, parley.ID, int64, int) ([]parley.Event, error) {
	if s.fails.Load() {
		return nil, errBroken
	}
	return nil, nil
}

func (s *source) Heads(_ context.Context, ids []parley.ID) ([]store.HeadState, error) {
	if s.fails.Load() {
		return nil, errBroken
	}
	heads := make([]store.HeadState, len(ids))
	for i, id := range ids {
		heads[i].SessionID = id
	}
	return heads, nil
}

// bench is a hub with streams over it, in a bubble of synthetic time.
type bench struct {
	*testing.T
	source  source
	hub     *live.Hub
	streams *stream.Streams
	who     parley.Principal
	session parley.ID
}

func bubble(t *testing.T, test func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{T: t, session: parley.NewID()}
		b.who = parley.Principal{ID: parley.NewID(), WorkspaceID: parley.NewID(), Role: parley.RoleAdmin}
		b.hub = live.New(&b.source, live.Options{Log: slog.New(slog.DiscardHandler)})
		b.streams = stream.New(engine.New(engine.Options{}), b.hub)
		test(b)
		b.hub.Close()
	})
}

// follow opens a stream of the session.
func (b *bench) follow(request stream.Request) *stream.Stream {
	b.Helper()
	s, err := b.streams.Follow(b.Context(), b.who, request)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	return s
}

// all requests the session from its first event on.
func (b *bench) all() stream.Request {
	return stream.Request{Sessions: []stream.Place{{SessionID: b.session}}}
}

func (b *bench) commit(sequence int64, turn parley.ID, kind parley.EventType) {
	b.hub.Committed(store.Commit{WorkspaceID: b.who.WorkspaceID, SessionID: b.session, Events: []parley.Event{
		{SessionID: b.session, Sequence: sequence, Type: kind, TurnID: turn, Data: []byte(`{}`)},
	}})
}

// said is a writer that collects what it is told, until its reader is gone.
type said struct {
	frames, beats int
	gone          atomic.Bool
}

func (s *said) Write(ctx context.Context, from *stream.Stream) error {
	for {
		_, err := from.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case s.gone.Load():
			return stream.ErrGone
		}
		s.frames++
	}
}

func (s *said) Beat() error {
	if s.gone.Load() {
		return stream.ErrGone
	}
	s.beats++
	return nil
}

// relayed is a relay's reader, with a permission that can be withdrawn.
type relayed struct {
	*bench
	w         said
	hangUp    context.CancelFunc
	withdrawn atomic.Bool
	changed   atomic.Pointer[func()]
}

func (r *relayed) Holds() bool { return !r.withdrawn.Load() }

func (r *relayed) Watch(changed func()) (over func()) {
	r.changed.Store(&changed)
	return func() { r.changed.Store(nil) }
}

// TestRelayEnds: a relay sends heartbeats while nothing happens, and ends for each of the possible reasons. Only one of
// them is an error.
func TestRelayEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(r *relayed)
		want error
		last int // beats after the end
		took time.Duration
	}{
		"the hub closes":      {func(r *relayed) { r.hub.Close() }, nil, 0, 0},
		"its reader hangs up": {func(r *relayed) { r.hangUp() }, nil, 0, 0},
		"its reader takes no more": {func(r *relayed) {
			r.w.gone.Store(true)
			r.commit(2, parley.ID{}, "x")
		}, nil, 0, 0},
		"leave is withdrawn":          {func(r *relayed) { r.withdrawn.Store(true); (*r.changed.Load())() }, nil, 1, 0},
		"a withdrawal goes unnoticed": {func(r *relayed) { r.withdrawn.Store(true) }, nil, 1, stream.Heartbeat / 2},
		"the store fails": {func(r *relayed) {
			r.source.fails.Store(true)
			r.commit(9, parley.ID{}, "x")
		}, errBroken, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(b *bench) {
				ctx, hangUp := context.WithCancel(b.Context())
				defer hangUp()
				r := &relayed{bench: b, hangUp: hangUp}
				from, over := b.follow(b.all()), make(chan error, 1)
				go func() { over <- from.Relay(ctx, &r.w, r) }() // ends as the test says
				synctest.Wait()
				b.commit(1, parley.ID{}, "x")
				time.Sleep(3*stream.Heartbeat + stream.Heartbeat/2) // of the bubble
				began := time.Now()
				test.end(r)
				select {
				case err := <-over:
					if !errors.Is(err, test.want) {
						t.Errorf("it ended with %v, want %v", err, test.want)
					}
				case <-time.After(patience):
					t.Error("it continues")
					hangUp()
					<-over
				}
				if took := time.Since(began); took != test.took {
					t.Errorf("it ended after %s, want %s", took, test.took)
				}
				if r.w.frames != 1 || r.w.beats != 3+test.last {
					t.Errorf("%d frames and %d beats", r.w.frames, r.w.beats)
				}
			})
		})
	}
}

// TestCatchUpIsBounded: existing frames are written, and the wait is bounded.
func TestCatchUpIsBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *bench) {
		b.commit(1, parley.ID{}, "x")
		from, w, start := b.follow(b.all()), &said{}, time.Now()
		if on, err := from.CatchUp(b.Context(), w); !on || err != nil || w.frames != 1 {
			b.Errorf("continues: %v, %v; %d frames", on, err, w.frames)
		}
		if took := time.Since(start); took > time.Second {
			b.Errorf("it took %s", took)
		}
	})
}

// slow takes one frame, and fails after the time of a catch-up.
type slow struct{ said }

func (w *slow) Write(ctx context.Context, from *stream.Stream) error {
	if _, err := from.Next(ctx); err != nil {
		return err
	}
	time.Sleep(2 * stream.CatchUpTime) // of the bubble
	return stream.Own(errBroken)
}

// TestAFrameThatCannotBeToldBreaksOff: a writer that fails with a frame is not asked for the one behind it.
func TestAFrameThatCannotBeToldBreaksOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *bench) {
		b.commit(1, parley.ID{}, "x")
		if on, err := b.follow(b.all()).
			CatchUp(b.Context(), &slow{}); on ||
			err != errBroken { //nolint:errorlint // as it is
			b.Errorf("continues: %v, %v; want %v", on, err, errBroken)
		}
	})
}

// TestFramesOfATurn: a turn's stream shows only that turn and ends with it; a stream that ends earlier says so.
func TestFramesOfATurn(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *bench) {
		ctx, stop := context.WithTimeout(b.Context(), patience)
		defer stop()
		turn := parley.NewID()
		read := func() (types []parley.EventType, failed error) {
			for frame, err := range b.follow(stream.Turn(b.session, 0, turn, 0)).Frames(ctx) {
				if err != nil {
					return types, err
				}
				types = append(types, frame.Event.Type)
			}
			return types, nil
		}
		b.commit(1, turn, parley.EventSessionStarted)
		b.commit(2, parley.NewID(), "x")
		b.commit(3, turn, parley.EventSessionCompleted)
		b.commit(4, turn, "x")
		if types, err := read(); err != nil || len(types) != 2 || types[1] != parley.EventSessionCompleted {
			b.Errorf("%v, %v", types, err)
		}
		turn = parley.NewID() // a turn that never ends
		b.commit(5, turn, parley.EventSessionStarted)
		go func() { // ends with the hub
			synctest.Wait()
			b.hub.Close()
		}()
		if types, err := read(); !errors.Is(err, stream.ErrUnfinished) || len(types) != 1 {
			b.Errorf("%v, %v", types, err)
		}
	})
}

// TestPlacesThatCannotBeRead: the reader is told first, and then gets new events.
func TestPlacesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *bench) {
		ctx, stop := context.WithTimeout(b.Context(), patience)
		defer stop()
		b.commit(1, parley.ID{}, "x")
		other := parley.NewID()
		places := []stream.Place{stream.ParsePlace(other, ""), stream.ParsePlace(b.session, "-3")}
		s := b.follow(stream.Request{Feed: true, Sessions: places})
		var reasons []string
		for range 2 {
			frame, err := s.Next(ctx)
			if err != nil || frame.Kind != stream.ResyncFrame {
				b.Fatalf("%+v, %v", frame, err)
			}
			reasons = append(reasons, string(frame.Reason))
		}
		if reasons[0] != string(parley.ResyncUnreadable) || reasons[1] != string(parley.ResyncConnected) {
			b.Errorf("the reasons are %q", reasons)
		}
		b.commit(2, parley.ID{}, "x")
		if frame, err := s.Next(ctx); err != nil || frame.Event.Sequence != 2 {
			b.Errorf("then came %+v, %v", frame, err)
		}
	})
	const not = live.Unreadable
	for after, want := range map[string]int64{"": 0, "0": 0, "17": 17, "x": not, "1e3": not, "-1": not} {
		if place := stream.ParsePlace(parley.ID{}, after); place.After != want {
			t.Errorf("%q is read as %d, want %d", after, place.After, want)
		}
	}
}

// TestFollowingNeedsAccess: no stream opens for a principal without access.
func TestFollowingNeedsAccess(t *testing.T) {
	t.Parallel()
	bubble(t, func(b *bench) {
		var nobody parley.Principal
		_, follows := b.streams.Follow(b.Context(), nobody, b.all())
		_, opens := b.streams.Open(b.Context(), nobody, stream.Request{Feed: true})
		for _, err := range []error{follows, opens} {
			if parley.ErrorCode(err) != parley.CodeUnauthenticated {
				b.Errorf("nobody watches: %v", err)
			}
		}
	})
}

// TestPushedBeats: the first push begins the stream, and heartbeats come only in between.
func TestPushedBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened := 0
		p := stream.Push(func() *said { opened++; return &said{} })
		time.Sleep(2*stream.Heartbeat + time.Second)
		for range 2 {
			if err := p.Write(func(w *said) error { w.frames++; return nil }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2*stream.Heartbeat + time.Second)
		}
		if w, begun := p.End(); !begun || opened != 1 || w.frames != 2 || w.beats != 4 {
			t.Errorf("begun %v, opened %d times, %d frames, %d beats", begun, opened, w.frames, w.beats)
		}
		if _, begun := stream.Push(func() *said { return nil }).End(); begun {
			t.Error("a stream into which nothing was pushed has begun")
		}
	})
}
