package live

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// What is left of the reasoning is shown before the text behind it, although a first delta is sent immediately.
func TestReasoningIsShownBeforeItsText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRecord()
		hub := newHub(t, source, never)
		turn, id := parley.NewID(), parley.NewID()
		w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, Flush: 120 * time.Millisecond})
		defer w.Close()
		hub.Committed(source.add(1, nil, created(turn, id)))
		stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
		var got []string
		next := func() {
			for {
				frame, err := w.Next(t.Context())
				if err != nil {
					t.Fatalf("Next: %v", err)
				}
				if frame.Kind == DeltaFrame {
					got = append(got, frame.Delta.Text)
					return
				}
			}
		}
		stream.Append(parley.KindReasoning, "Hm.")
		next()
		stream.Append(parley.KindReasoning, " So.")
		stream.Append(parley.KindText, "Yes.")
		next()
		next()
		if want := []string{"Hm.", " So.", "Yes."}; !slices.Equal(got, want) {
			t.Errorf("shown in the order %q, want %q", got, want)
		}
		// An event is ahead of what arrives between two reads.
		got = nil
		id = parley.NewID()
		stream = hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
		stream.Append(parley.KindReasoning, "Hm.")
		hub.Committed(source.add(1, nil, created(turn, parley.NewID())))
		next()
		stream.Append(parley.KindReasoning, " So.")
		stream.Append(parley.KindText, "Yes.")
		next()
		next()
		if want := []string{"Hm.", " So.", "Yes."}; !slices.Equal(got, want) {
			t.Errorf("shown around an event in the order %q, want %q", got, want)
		}
	})
}

// The first delta is sent immediately, later ones are merged for Flush, and an event takes pending ones along.
func TestDeltasAreMerged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRecord()
		hub := newHub(t, source, never)
		turn, id := parley.NewID(), parley.NewID()
		w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, Flush: 120 * time.Millisecond})
		defer w.Close()
		hub.Committed(source.add(1, nil, created(turn, id)))
		stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})

		type seen struct {
			At     time.Duration
			Offset int
			Text   string
		}
		var got []seen
		start := time.Now()
		done := make(chan struct{})
		go func() { // ends with the settle event
			defer close(done)
			for {
				frame, err := w.Next(t.Context())
				if err != nil {
					t.Errorf("Next: %v", err)
					return
				}
				switch {
				case frame.Kind == DeltaFrame:
					got = append(got, seen{time.Since(start), frame.Delta.Offset, frame.Delta.Text})
				case frame.Event.Type == parley.EventStepGenerated:
					return
				}
			}
		}()
		synctest.Wait()
		for _, piece := range []string{"a", "b", "c", "d", "e", "f"} {
			stream.Append(parley.KindText, piece)
			time.Sleep(50 * time.Millisecond)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		stream.Append(parley.KindText, "g") // after a long silence: immediately again
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
		stream.Append(parley.KindText, "h")
		hub.Committed(source.add(1, []parley.ID{id}, settled(turn, id, "abcdefgh")))
		<-done
		want := []seen{
			{
				0,
				0,
				"a",
			},
			{120 * time.Millisecond, 1, "bc"},
			{240 * time.Millisecond, 3, "de"},
			{360 * time.Millisecond, 5, "f"},
			{1300 * time.Millisecond, 6, "g"},
			{1310 * time.Millisecond, 7, "h"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("deltas (-want +got):\n%s", diff)
		}
	})
}

// A lost hint costs one poll interval, and nothing else.
func TestPollRepairsLostHints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRecord()
		hub := newHub(t, source, 2*time.Second)
		source.add(1, nil, created(parley.NewID(), parley.NewID()))
		w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}})
		defer w.Close()
		r := newReader(w, 0)
		r.readUntil(t.Context(), t, func() bool { return r.after == 1 })
		start := time.Now()
		source.add(1, nil, created(parley.NewID(), parley.NewID()), created(parley.NewID(), parley.NewID()))
		r.readUntil(t.Context(), t, func() bool { return r.after == 3 })
		if waited := time.Since(start); waited > 2*time.Second {
			t.Errorf("the events came after %v", waited)
		}
		source.mu.Lock()
		source.deleted = true
		source.mu.Unlock()
		r.readUntil(t.Context(), t, func() bool { return r.gone })
		mustEOF(t, w)
	})
}

// A watcher who may no longer see a session is cut off within a poll, even without a hint; its owner continues.
func TestPollCutsOffHiddenSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := newRecord()
		hub := newHub(t, source, 2*time.Second)
		source.add(1, nil, created(parley.NewID(), parley.NewID()))
		watch := func(viewer parley.ID) (*Watcher, *reader) {
			w := hub.Watch(WatchRequest{Scope: store.Scope{ViewerID: viewer}, Sessions: []Place{{source.id, 0}}})
			r := newReader(w, 0)
			r.readUntil(t.Context(), t, func() bool { return r.after == 1 })
			return w, r
		}
		owner, owning := watch(parley.ID{})
		defer owner.Close()
		guest, visiting := watch(parley.NewID())
		defer guest.Close()
		time.Sleep(10 * time.Second)
		if guest.Buffered() {
			t.Fatal("the guest was cut off before")
		}
		source.mu.Lock()
		source.private = true
		source.mu.Unlock()
		start := time.Now()
		visiting.readUntil(t.Context(), t, func() bool { return visiting.gone })
		if waited := time.Since(start); waited > 2*time.Second {
			t.Errorf("the guest was cut off after %v", waited)
		}
		mustEOF(t, guest)
		hub.Committed(source.add(1, nil, created(parley.NewID(), parley.NewID())))
		owning.readUntil(t.Context(), t, func() bool { return owning.after == 2 })
	})
}

// Many readers at full speed against one producer, under the race detector.
func TestConcurrentReaders(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	const readers, messages, pieces = 8, 5, 400
	turn := parley.NewID()
	final := map[parley.ID]string{}
	var ids []parley.ID
	for range messages {
		ids = append(ids, parley.NewID())
		final[ids[len(ids)-1]] = strings.Repeat("größer ", pieces)
	}
	var wg sync.WaitGroup
	for i := range readers {
		w := hub.Watch(
			WatchRequest{
				Sessions:  []Place{{source.id, 0}},
				Flush:     time.Duration(i%3) * time.Millisecond,
				UntilTurn: turn,
			},
		)
		wg.Go(func() { // ends with the turn
			defer w.Close()
			r := newReader(w, 0)
			r.readUntil(t.Context(), t, func() bool { return r.after == 2*messages+1 })
			if diff := cmp.Diff(final, r.texts); diff != "" {
				t.Errorf("reader %d (-record +read):\n%s", i, diff)
			}
			if diff := cmp.Diff(final, r.streamed); diff != "" {
				t.Errorf("reader %d, deltas alone (-record +read):\n%s", i, diff)
			}
			mustEOF(t, w)
		})
	}
	for _, id := range ids {
		hub.Committed(source.add(1, nil, created(turn, id)))
		stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
		for range pieces {
			stream.Append(parley.KindText, "größer ")
		}
		hub.Committed(source.add(1, []parley.ID{id}, settled(turn, id, stream.Text(parley.KindText))))
	}
	hub.Committed(
		source.add(1, nil, parley.Event{Type: parley.EventSessionCompleted, TurnID: turn, Data: []byte(`{}`)}),
	)
	wg.Wait()
}

func TestLateJoinerStartsOver(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	turn, id := parley.NewID(), parley.NewID()
	hub.Committed(source.add(1, nil, created(turn, id)))
	stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
	stream.Append(parley.KindReasoning, "hm")
	stream.Append(parley.KindText, "first half")
	reads := source.readCount()
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 1}}})
	defer w.Close()
	want := []Delta{
		{source.id, id, parley.KindReasoning, 0, 2, "hm"},
		{source.id, id, parley.KindText, 0, 10, "first half"},
		{source.id, id, parley.KindText, 10, 12, ", "},
	}
	var got []Delta
	read := func() {
		for w.Buffered() {
			frame, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, frame.Delta)
		}
	}
	read()
	stream.Append(parley.KindText, ", ")
	read()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	if source.readCount() != reads {
		t.Error("a watcher of a warm session read from the store")
	}
}

func TestLongTextGoesInPieces(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	text := strings.Repeat("ü🙂x", deltaBytes/3)
	turn, id := parley.NewID(), parley.NewID()
	hub.Committed(source.add(1, nil, created(turn, id)))
	stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
	stream.Append(parley.KindText, text)
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 1}}, Flush: never})
	defer w.Close()
	r := newReader(w, 1)
	r.readUntil(t.Context(), t, func() bool { return len(r.texts[id]) == len(text) })
	if r.deltas < 3 || r.texts[id] != text {
		t.Errorf("%d deltas, text equal: %v", r.deltas, r.texts[id] == text)
	}
}

// Deltas under an older epoch, or of a dropped stream, are not shown.
func TestFencedStreamsAreSilent(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	turn, id := parley.NewID(), parley.NewID()
	hub.Committed(source.add(1, nil, created(turn, id)))
	old := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 1}}})
	defer w.Close()
	hub.Committed(source.add(2, nil, created(turn, parley.NewID())))
	old.Append(parley.KindText, "late")
	late := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
	late.Append(parley.KindText, "later")
	dropped := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 2})
	dropped.Append(parley.KindText, "x")
	dropped.Drop()
	r := newReader(w, 1)
	if err := r.drain(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if r.after != 2 || r.deltas != 0 {
		t.Errorf("after %d with %d deltas, want 2 and none", r.after, r.deltas)
	}
	if got := old.Text(parley.KindText); got != "late" {
		t.Errorf("the worker's own text is %q", got)
	}
}

func TestPlaceBeyondTheEndResyncs(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	source.add(1, nil, created(parley.NewID(), parley.NewID()))
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 99}}})
	defer w.Close()
	frame, err := w.Next(t.Context())
	if err != nil || frame.Kind != ResyncFrame || frame.Reason != parley.ResyncBeyond {
		t.Fatalf("Next = %+v, %v", frame, err)
	}
	hub.Committed(source.add(1, nil, created(parley.NewID(), parley.NewID())))
	if frame, err = w.Next(t.Context()); err != nil || frame.Event.Sequence != 2 {
		t.Fatalf("Next = %+v, %v; want event 2", frame, err)
	}
}

func TestFromNow(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	source.add(1, nil, created(parley.NewID(), parley.NewID()))
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, FromNow}}})
	defer w.Close()
	hub.Committed(source.add(1, nil, created(parley.NewID(), parley.NewID())))
	if frame, err := w.Next(t.Context()); err != nil || frame.Event.Sequence != 2 {
		t.Fatalf("Next = %+v, %v; want event 2", frame, err)
	}
}

func TestUntilTurnShowsThisTurnAlone(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	mine, other, id := parley.NewID(), parley.NewID(), parley.NewID()
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, UntilTurn: mine})
	defer w.Close()
	end := func(turn parley.ID) parley.Event {
		return parley.Event{Type: parley.EventSessionCompleted, TurnID: turn, Data: []byte(`{}`)}
	}
	hub.Committed(source.add(1, nil, created(other, parley.NewID())))
	foreign := hub.Open(StreamRef{SessionID: source.id, TurnID: other, MessageID: parley.NewID(), Epoch: 1})
	foreign.Append(parley.KindText, "not for you")
	hub.Committed(source.add(1, nil, end(other)))
	hub.Committed(source.add(1, nil, created(mine, id)))
	stream := hub.Open(StreamRef{SessionID: source.id, TurnID: mine, MessageID: id, Epoch: 1})
	stream.Append(parley.KindText, "hello")
	below := parley.Event{Type: parley.EventApprovalCreated, Data: []byte(`{}`)} // in a tool session
	hub.Committed(source.add(1, nil, below))
	hub.Committed(source.add(1, []parley.ID{id}, settled(mine, id, "hello"), end(mine), created(other, parley.NewID())))
	var got []int64
	for {
		frame, err := w.Next(t.Context())
		if err != nil {
			break
		}
		got = append(got, frame.Event.Sequence)
	}
	if diff := cmp.Diff([]int64{3, 0, 4, 5, 6}, got); diff != "" { // 0: the delta
		t.Errorf("sequences (-want +got):\n%s", diff)
	}
	mustEOF(t, w)
}

// A deleted session's watcher gets the last events, a notice, and the end; one that may no longer see the session is
// cut off the same way.
func TestDeletedAndHiddenSessions(t *testing.T) {
	for _, test := range []struct {
		name string
		feed store.FeedEvent
	}{
		{"deleted", store.FeedEvent{Type: parley.FeedSessionDeleted, Visibility: parley.VisibilityWorkspace}},
		{"made private", store.FeedEvent{Type: parley.FeedSessionUpdated, OwnerID: parley.NewID(),
			Visibility: parley.VisibilityPrivate}},
	} {
		t.Run(test.name, func(t *testing.T) {
			source := newRecord()
			hub := newHub(t, source, never)
			hub.Committed(source.add(1, nil, created(parley.NewID(), parley.NewID())))
			w := hub.Watch(
				WatchRequest{Scope: store.Scope{ViewerID: parley.NewID()}, Sessions: []Place{{source.id, 0}}},
			)
			defer w.Close()
			r := newReader(w, 0)
			if err := r.drain(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			test.feed.SessionID = source.id
			hub.Committed(store.Commit{SessionID: parley.NewID(), Feed: []store.FeedEvent{test.feed}})
			r.readUntil(t.Context(), t, func() bool { return r.gone })
			mustEOF(t, w)
		})
	}
}

func TestFeedRespectsVisibility(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	workspace, me, other := parley.NewID(), parley.NewID(), parley.NewID()
	w := hub.Watch(
		WatchRequest{
			Scope:    store.Scope{WorkspaceID: workspace, ViewerID: me},
			Feed:     true,
			Sessions: []Place{{source.id, 0}},
		},
	)
	defer w.Close()
	event := func(owner parley.ID, visibility parley.Visibility, data string) store.FeedEvent {
		return store.FeedEvent{
			WorkspaceID: workspace,
			SessionID:   parley.NewID(),
			Type:        parley.FeedSessionStatusChanged,
			OwnerID:     owner,
			Visibility:  visibility,
			Data:        []byte(data),
		}
	}
	feed := []store.FeedEvent{
		event(
			me,
			parley.VisibilityPrivate,
			`"mine"`,
		),
		event(other, parley.VisibilityPrivate, `"hidden"`),
		event(other, parley.VisibilityWorkspace, `"shared"`),
	}
	hub.Committed(store.Commit{WorkspaceID: workspace, Feed: feed})
	hub.Committed(store.Commit{WorkspaceID: parley.NewID(), Feed: feed})
	// The deletion of a reader's own session is reported once, although feed and seat both know of it.
	deleted := store.FeedEvent{
		WorkspaceID: workspace,
		SessionID:   source.id,
		Type:        parley.FeedSessionDeleted,
		OwnerID:     me,
	}
	hub.Committed(store.Commit{WorkspaceID: workspace, SessionID: source.id, Feed: []store.FeedEvent{deleted}})
	var got []string
	for w.Buffered() {
		frame, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(frame.Reason)+string(frame.Feed.Type)+string(frame.Feed.Data))
	}
	want := []string{
		"connected", `session.status_changed"mine"`, `session.status_changed"shared"`,
		`session.deleted{"session_id":"` + source.id.String() + `"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("feed (-want +got):\n%s", diff)
	}
	for range feedEvents + 1 {
		hub.Committed(store.Commit{WorkspaceID: workspace, Feed: feed[:1]})
	}
	if frame, err := w.Next(t.Context()); err != nil || frame.Reason != parley.ResyncOverflow {
		t.Errorf("Next = %+v, %v; want an overflow", frame, err)
	}
}

// A reader that never reads does not make memory grow (failure 25).
func TestReaderThatNeverReads(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	first := source.add(1, nil, created(parley.NewID(), parley.NewID()))
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, Flush: time.Millisecond})
	defer w.Close()
	hub.Committed(first)
	r := newReader(w, 0)
	r.readUntil(t.Context(), t, func() bool { return r.after == 1 })
	source.events = slices.Grow(source.events, 5000)
	turn := parley.NewID()
	text := strings.Repeat("word ", 2000)
	run := func(turns int) {
		for range turns {
			id := parley.NewID()
			hub.Committed(source.add(1, nil, created(turn, id)))
			stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
			stream.Append(parley.KindText, text)
			hub.Committed(source.add(1, []parley.ID{id}, settled(turn, id, text)))
			for i := range source.events {
				source.events[i].Data = nil // the record is on disk, not in memory
			}
		}
	}
	run(200)
	before := heap()
	run(2000)
	if grown := int64(heap()) - int64(before); grown > 8*int64(len(text))*heldStreams {
		t.Errorf("2000 turns that nobody read left %d bytes", grown)
	}
	runtime.KeepAlive(w)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func TestCloseEndsWatchers(t *testing.T) {
	source := newRecord()
	hub := New(source, Options{Poll: never})
	workspace := store.Scope{WorkspaceID: parley.NewID()}
	watchers := []*Watcher{
		hub.Watch(WatchRequest{Scope: workspace, Feed: true}),
		hub.Watch(WatchRequest{Scope: workspace, Sessions: []Place{{source.id, 0}}}),
	}
	var wg sync.WaitGroup
	for _, w := range watchers {
		wg.Go(func() { // ends when the hub closes
			for {
				if _, err := w.Next(context.Background()); err != nil {
					mustEOF(t, w)
					w.Close()
					return
				}
			}
		})
	}
	hub.Close()
	wg.Wait()
	hub.Close()
	mustEOF(t, hub.Watch(WatchRequest{Scope: workspace, Feed: true}))
	hub.Open(StreamRef{SessionID: source.id}).Append(parley.KindText, "nobody hears this")
}

func TestIdleRoomsAreForgotten(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	for range 3 * idleRooms {
		hub.Committed(store.Commit{SessionID: parley.NewID(), Events: []parley.Event{{Sequence: 1}}})
	}
	if got := len(hub.rooms); got != idleRooms {
		t.Errorf("%d rooms are kept, want %d", got, idleRooms)
	}
}

// openStream opens one more message for a benchmark.
func openStream(hub *Hub, source *record) *Stream {
	return hub.Open(StreamRef{SessionID: source.id, MessageID: parley.NewID(), Epoch: 1})
}

func BenchmarkAppend(b *testing.B) {
	for _, watchers := range []int{0, 1, 8} {
		b.Run(strings.Repeat("w", watchers), func(b *testing.B) {
			source := newRecord()
			hub := New(source, Options{Poll: never})
			defer hub.Close()
			source.add(1, nil, created(parley.NewID(), parley.NewID()))
			stream := openStream(hub, source)
			var wg sync.WaitGroup
			for range watchers {
				w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, Flush: 120 * time.Millisecond})
				wg.Go(func() { // ends when the hub closes
					for {
						if _, err := w.Next(context.Background()); err != nil {
							return
						}
					}
				})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%4096 == 4095 {
					stream.Drop()
					stream = openStream(hub, source)
				}
				stream.Append(parley.KindText, "word ")
			}
			hub.Close()
			wg.Wait()
		})
	}
}

// BenchmarkWatch measures what an idle watcher costs the hub.
func BenchmarkWatch(b *testing.B) {
	source := newRecord()
	hub := New(source, Options{Poll: never})
	defer hub.Close()
	hub.Committed(source.add(1, nil, created(parley.NewID(), parley.NewID())))
	b.ReportAllocs()
	for b.Loop() {
		hub.Watch(WatchRequest{Sessions: []Place{{source.id, 1}}, Flush: time.Second}).Close()
	}
}

// BenchmarkRelay measures one token from the worker to a waiting reader.
func BenchmarkRelay(b *testing.B) {
	source := newRecord()
	hub := New(source, Options{Poll: never})
	defer hub.Close()
	source.add(1, nil, created(parley.NewID(), parley.NewID()))
	stream := openStream(hub, source)
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 1}}})
	defer w.Close()
	if w.Buffered() {
		b.Fatal("a frame is already waiting")
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%4096 == 4095 {
			stream.Drop()
			stream = openStream(hub, source)
		}
		stream.Append(parley.KindText, "word ")
		if _, err := w.Next(context.Background()); err != nil {
			b.Fatal(err)
		}
		if w.Buffered() {
			b.Fatal("a delta came twice")
		}
	}
}

// A reader that leaves an empty room counts it as idle a moment later. By then the room may have been dropped and
// replaced by another one with readers of its own: those must keep hearing of their session.
func TestLateLeaverForgetsNobodyElsesRoom(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	turn, id := parley.NewID(), parley.NewID()
	crowd := func() { // makes the hub drop all earlier idle rooms
		for range idleRooms + 1 {
			hub.Committed(newRecord().add(1, nil, created(turn, parley.NewID())))
		}
	}
	hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}}).Close()
	forgotten := hub.rooms[source.id]
	crowd()
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}})
	defer w.Close()
	hub.vacate(forgotten)
	crowd()
	hub.Committed(source.add(1, nil, created(turn, id)))
	if !w.Buffered() {
		t.Error("the reader was not told of its session's event")
	}
}
