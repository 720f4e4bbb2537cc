package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// elsewhere is a hub that watches a session of another process. Its loops do not run.
type elsewhere struct {
	t      *testing.T
	source *record
	wire   *wire
	hub    *Hub
	reader *reader
	turn   parley.ID
	id     parley.ID
}

func newElsewhere(t *testing.T) *elsewhere {
	e := &elsewhere{t: t, source: newRecord(), turn: parley.NewID(), id: parley.NewID()}
	e.wire = &wire{source: e.source}
	e.hub = build(e.source, Options{Relay: end{e.wire, 0}, Repair: never})
	e.source.add(1, nil, created(e.turn, e.id))
	e.reader = newReader(e.hub.Watch(WatchRequest{Sessions: []Place{{e.source.id, 0}}}), 0)
	e.read()
	return e
}

func (e *elsewhere) read() {
	e.t.Helper()
	if err := e.reader.drain(e.t.Context(), 1000); err != nil {
		e.t.Fatal(err)
	}
}

// hear delivers a piece of the message under an epoch.
func (e *elsewhere) hear(epoch int64, offset int, text string) {
	e.hub.Heard(parley.NewID(), store.RelayHints{Pieces: []store.StreamPiece{
		{
			SessionID: e.source.id,
			TurnID:    e.turn,
			MessageID: e.id,
			Epoch:     epoch,
			After:     1,
			Kind:      parley.KindText,
			Offset:    offset,
			Text:      text,
		},
	}})
	e.read()
}

// asked reports whether something is to be looked up in the store, and whether the holder is asked to flush.
func (e *elsewhere) asked() (lookUp, flush bool) {
	x := e.hub.exchange
	lookUp, flush = len(x.asking) > 0, x.saying[e.source.id].Flush
	clear(x.asking)
	clear(x.saying)
	return lookUp, flush
}

// Pieces are shown in order, whatever the order of arrival; missing text is requested from the holder, and read once
// the store has it.
func TestPiecesFindTheirPlace(t *testing.T) {
	e := newElsewhere(t)
	e.asked()
	for _, step := range []struct {
		offset        int
		text, shown   string
		lookUp, flush bool
	}{
		{0, "ab", "ab", false, false},
		{0, "ab", "ab", false, false}, // doubled
		{4, "ef", "ab", false, true},
		{6, "g", "ab", false, false}, // already requested
		{7, "", "ab", true, false},   // the store has it
		{1, "bcd", "abcdefg", false, false},
		{7, "", "abcdefg", false, false},
		{-1, "x", "abcdefg", false, false},
	} {
		e.hear(1, step.offset, step.text)
		if got := e.reader.texts[e.id]; got != step.shown {
			t.Fatalf("after %q at %d the reader has %q, want %q", step.text, step.offset, got, step.shown)
		}
		if lookUp, flush := e.asked(); lookUp != step.lookUp || flush != step.flush {
			t.Errorf(
				"after %q at %d: look up %v, flush %v, want %v, %v",
				step.text,
				step.offset,
				lookUp,
				flush,
				step.lookUp,
				step.flush,
			)
		}
	}
}

// Deltas of an older epoch, of a settled message and of another workspace's session are not shown.
func TestLatePiecesAreDropped(t *testing.T) {
	e := newElsewhere(t)
	e.hear(2, 0, "new")
	e.hear(1, 3, " and old")
	if got := e.reader.texts[e.id]; got != "new" {
		t.Errorf("the reader has %q", got)
	}
	e.hub.Heard(parley.NewID(), store.RelayHints{Pieces: []store.StreamPiece{
		{
			WorkspaceID: parley.NewID(),
			SessionID:   e.source.id,
			TurnID:      e.turn,
			MessageID:   parley.NewID(),
			Epoch:       2,
			After:       1,
			Kind:        parley.KindText,
			Text:        "foreign",
		},
	}})
	e.source.add(2, []parley.ID{e.id}, settled(e.turn, e.id, "new"))
	e.hub.Committed(store.Commit{SessionID: e.source.id, Epoch: 2, Remote: true, LastEvent: 2})
	id, to, _ := e.hub.exchange.nextBehind()
	if err := e.hub.exchange.fetch(t.Context(), id, to); err != nil {
		t.Fatal(err)
	}
	e.hear(2, 3, " after the end")
	if e.reader.deltas != 1 || e.reader.after != 2 || e.reader.texts[e.id] != "new" {
		t.Errorf("%d deltas, event %d, text %q", e.reader.deltas, e.reader.after, e.reader.texts[e.id])
	}
}

// A text whose beginning never arrives holds a bounded amount of memory.
func TestHeldPiecesAreBounded(t *testing.T) {
	e := newElsewhere(t)
	piece := strings.Repeat("x", 1000)
	for i := range 1000 {
		e.hear(1, 1+1000*i, piece)
	}
	if got := e.hub.rooms[e.source.id].streams[0].in.bytes; got > maxHeldBytes {
		t.Errorf("%d bytes are held, at most %d are allowed", got, maxHeldBytes)
	}
}

// A commit of another process is read once, however many watchers the session has.
func TestRemoteCommitIsReadOnce(t *testing.T) {
	e := newElsewhere(t)
	readers := []*reader{e.reader}
	for range 50 {
		r := newReader(e.hub.Watch(WatchRequest{Sessions: []Place{{e.source.id, 1}}}), 1)
		if err := r.drain(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	before := e.source.readCount()
	e.source.add(1, nil, created(e.turn, parley.NewID()))
	for range 3 { // hints may be doubled
		e.hub.Committed(store.Commit{SessionID: e.source.id, Remote: true, LastEvent: 2})
		for {
			id, to, ok := e.hub.exchange.nextBehind()
			if !ok {
				break
			}
			if err := e.hub.exchange.fetch(t.Context(), id, to); err != nil {
				t.Fatal(err)
			}
			delete(e.hub.exchange.fetching, id)
		}
	}
	for i, r := range readers {
		if err := r.drain(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if r.after != 2 {
			t.Errorf("reader %d is at event %d", i, r.after)
		}
	}
	if got := e.source.readCount() - before; got != 1 {
		t.Errorf("the event was read %d times", got)
	}
}

// Text for others is merged by the interval that they want, and ends when their interest does.
func TestTextIsToldAtThePaceWanted(t *testing.T) {
	source := newRecord()
	wired := &wire{source: source}
	hub := build(source, Options{Relay: end{wired, 0}, Repair: never})
	flushed := 0
	hub.FlushWith(func(parley.ID) { flushed++ })
	stream := hub.Open(StreamRef{SessionID: source.id, MessageID: parley.NewID(), Epoch: 1})
	defer stream.Drop()
	x := hub.exchange
	stream.Append(parley.KindText, "before anybody wants it; ")
	other := parley.NewID()
	hub.Heard(other, store.RelayHints{Interests: []store.Interest{{SessionID: source.id, PaceMS: 60, Flush: true}}})
	if flushed != 1 {
		t.Fatal("the text so far was not flushed")
	}
	type told struct {
		Offset int
		Text   string
	}
	var got []told
	now := stream.out.at.AddDate(2000, 0, 0)
	talk := func(ms int) {
		x.talk(now.Add(time.Duration(ms) * time.Millisecond))
		for _, p := range wired.waiting[1] {
			for _, piece := range p.hints.Pieces {
				got = append(got, told{piece.Offset, piece.Text})
			}
		}
		wired.waiting[1] = nil
	}
	stream.Append(parley.KindText, "a")
	talk(0)
	stream.Append(parley.KindText, "b")
	talk(20)
	stream.Append(parley.KindText, "c")
	talk(59)
	talk(60)
	stream.Kept(parley.KindText, 28)
	stream.Append(parley.KindText, strings.Repeat("x", maxToldBytes+1)) // left to the store
	talk(120)
	stream.Append(parley.KindText, "d")
	for _, id := range x.expire(now.AddDate(1000, 0, 0)) {
		x.settlePace(id)
	}
	talk(180)
	want := []told{{25, "a"}, {26, "bc"}, {28, ""}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if len(x.wants)+len(x.talking) != 0 {
		t.Errorf("%d wants and %d streams are left in line", len(x.wants), len(x.talking))
	}
}

// Interest is announced with the first watcher, renewed as a whole, and withdrawn with the last one.
func TestInterestFollowsTheWatchers(t *testing.T) {
	source := newRecord()
	wired := &wire{source: source}
	hub := build(source, Options{Relay: end{wired, 0}, Repair: never})
	said := func() (list []store.Interest) {
		hub.exchange.talk(time.Now())
		for _, p := range wired.waiting[1] {
			list = append(list, p.hints.Interests...)
		}
		wired.waiting[1] = nil
		return list
	}
	watch := func(flush time.Duration) *Watcher {
		return hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, Flush: flush})
	}
	check := func(want ...store.Interest) {
		t.Helper()
		if diff := cmp.Diff(want, said()); diff != "" {
			t.Errorf("interest (-want +got):\n%s", diff)
		}
	}
	first := watch(120 * time.Millisecond)
	check(store.Interest{SessionID: source.id, PaceMS: 60, Flush: true})
	second := watch(120 * time.Millisecond)
	check()
	third := watch(0)
	check(store.Interest{SessionID: source.id, PaceMS: 5})
	third.Close()
	first.Close()
	check()
	hub.exchange.renew(time.Now())
	check(store.Interest{SessionID: source.id, PaceMS: 60})
	second.Close()
	check(store.Interest{SessionID: source.id, Over: true})
	hub.exchange.renew(time.Now())
	check()
}

// A watcher who stays for the turn that he posted, and that runs here, is not announced to other processes: before,
// during and until it ends. If it runs elsewhere, he is.
func TestOwnTurnsAreNotAnnounced(t *testing.T) {
	source := newRecord()
	wired := &wire{source: source}
	hub := build(source, Options{Relay: end{wired, 0}, Repair: never})
	check := func(when string, want ...store.Interest) {
		t.Helper()
		hub.exchange.talk(time.Now())
		var said []store.Interest
		for _, p := range wired.waiting[1] {
			said = append(said, p.hints.Interests...)
		}
		wired.waiting[1] = nil
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("%s: interest (-want +got):\n%s", when, diff)
		}
	}
	renewed := func() { hub.exchange.renew(time.Now()) }
	sequence := int64(0)
	commit := func(turn parley.ID, epoch int64, remote bool, kind parley.EventType) {
		sequence++
		c := store.Commit{SessionID: source.id, Epoch: epoch, LastEvent: sequence, Remote: remote}
		if !remote {
			c.Events = []parley.Event{{SessionID: source.id, Sequence: sequence, Type: kind, TurnID: turn}}
		}
		hub.Committed(c)
	}
	asked := func() int { return len(hub.exchange.asking) }
	early := hub.Watch(WatchRequest{Sessions: []Place{{source.id, FromNow}}, Posting: true})
	renewed()
	check("while the post commits")
	turn := parley.NewID()
	commit(turn, 1, false, parley.EventSessionStarted)
	posted := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, UntilTurn: turn})
	early.Close()
	renewed()
	check("while the turn runs")
	commit(turn, 1, false, parley.EventSessionCompleted)
	posted.Close()
	check("afterwards")

	next := parley.NewID()
	commit(next, 2, false, parley.EventSessionStarted)
	staying := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}})
	renewed()
	check("of a second turn")
	if n := asked(); n != 0 {
		t.Errorf("%d sessions are looked up whose turns run here", n)
	}
	commit(parley.ID{}, 3, true, "")
	check("once it is taken over", store.Interest{SessionID: source.id, PaceMS: 5, Flush: true})
	if n := asked(); n != 1 {
		t.Errorf("%d sessions are looked up, want the one that runs elsewhere", n)
	}
	staying.Close()
	check("at the end", store.Interest{SessionID: source.id, Over: true})

	third := parley.NewID()
	commit(third, 4, false, parley.EventSessionStarted)
	staying = hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}})
	commit(third, 4, false, parley.EventSessionWaiting)
	renewed()
	check("while a turn waits for an answer", store.Interest{SessionID: source.id, PaceMS: 5})
	staying.Close()
}
