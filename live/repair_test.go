package live

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// air carries hints between two hubs immediately, or loses them.
type air struct {
	source *record

	mu   sync.Mutex // guards what follows
	hubs [2]store.RelayListener
	lost bool
}

// mouth is one hub's end of it.
type mouth struct {
	*air
	at int
}

func (m mouth) Hear(listener store.RelayListener) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hubs[m.at] = listener
}

func (m mouth) Tell(hints store.RelayHints) {
	m.mu.Lock()
	other, lost := m.hubs[1-m.at], m.lost
	m.mu.Unlock()
	if !lost && other != nil {
		var from parley.ID
		from[0] = byte(m.at + 1)
		other.Heard(from, hints)
	}
}

func (m mouth) Streamed(_ context.Context, sessions []parley.ID, have []store.StreamEnd) ([]store.StreamPiece, error) {
	return m.source.streamed(sessions, have), nil
}

// twoHubs share one record: the first has the turns, the second the watcher.
type twoHubs struct {
	*testing.T
	source *record
	air    *air
	hubs   [2]*Hub
	stream *Stream
	turn   parley.ID
	id     parley.ID
	text   string

	mu      sync.Mutex // guards what follows
	reader  *reader
	started time.Time
	seen    map[int]time.Duration // when text of this length was first seen
	events  map[int64]time.Duration
}

func newTwoHubs(t *testing.T) *twoHubs {
	h := &twoHubs{
		T: t, source: newRecord(), turn: parley.NewID(), id: parley.NewID(), started: time.Now(),
		seen: map[int]time.Duration{}, events: map[int64]time.Duration{},
	}
	h.air = &air{source: h.source}
	for i := range h.hubs {
		h.hubs[i] = New(h.source, Options{Relay: mouth{h.air, i}})
		t.Cleanup(h.hubs[i].Close)
	}
	w := h.hubs[1].Watch(WatchRequest{Sessions: []Place{{h.source.id, 0}}})
	h.reader = newReader(w, 0)
	done := make(chan struct{})
	go func() { // ends with the watcher
		defer close(done)
		for {
			frame, err := w.Next(context.Background())
			if err != nil {
				return
			}
			h.mu.Lock()
			if err := h.reader.take(frame); err != nil {
				t.Error(err)
			}
			switch now := time.Since(h.started); frame.Kind {
			case DeltaFrame:
				for n := 1; n <= frame.Delta.End; n++ {
					if _, ok := h.seen[n]; !ok {
						h.seen[n] = now
					}
				}
			case EventFrame:
				h.events[frame.Event.Sequence] = now
			}
			h.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		w.end()
		<-done
		w.Close()
	})
	return h
}

func (h *twoHubs) lose(all bool) {
	h.air.mu.Lock()
	h.air.lost = all
	h.air.mu.Unlock()
}

// commit reports to the first hub, and by a hint to the second.
func (h *twoHubs) commit(c store.Commit) {
	h.hubs[0].Committed(c)
	h.air.mu.Lock()
	lost := h.air.lost
	h.air.mu.Unlock()
	if !lost {
		h.hubs[1].Committed(
			store.Commit{
				SessionID: c.SessionID,
				Epoch:     c.Epoch,
				Remote:    true,
				LastEvent: c.Events[len(c.Events)-1].Sequence,
			},
		)
	}
}

func (h *twoHubs) open() {
	ref := StreamRef{SessionID: h.source.id, TurnID: h.turn, MessageID: h.id, Epoch: 1}
	c := h.source.add(1, nil, created(h.turn, h.id))
	h.source.mu.Lock()
	h.source.streaming[h.id] = &written{ref: ref}
	h.source.mu.Unlock()
	h.commit(c)
	h.stream = h.hubs[0].Open(ref)
}

// write appends letters at an interval, and flushes to the store regularly.
func (h *twoHubs) write(letters int, every time.Duration) {
	flushed := time.Now()
	for range letters {
		h.text += "x"
		h.stream.Append(parley.KindText, "x")
		time.Sleep(every)
		if time.Since(flushed) >= DefaultRepair {
			flushed = time.Now()
			h.source.mu.Lock()
			h.source.streaming[h.id].text = h.text
			h.source.mu.Unlock()
			h.stream.Kept(parley.KindText, len(h.text))
		}
	}
}

func (h *twoHubs) settle() {
	h.source.mu.Lock()
	delete(h.source.streaming, h.id)
	h.source.mu.Unlock()
	h.commit(h.source.add(1, []parley.ID{h.id}, settled(h.turn, h.id, h.text)))
}

// Text of another process is shown within milliseconds, and later text within the interval that the watcher needs.
func TestTextOfAnotherProcessIsShownImmediately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTwoHubs(t)
		time.Sleep(time.Second)
		h.open()
		begun := time.Since(h.started)
		h.write(100, 10*time.Millisecond)
		synctest.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		for n := 1; n <= 100; n++ {
			late := h.seen[n] - begun - time.Duration(n-1)*10*time.Millisecond
			if h.seen[n] == 0 || n == 1 && late > tellPause || late > fastestPace+tellPause {
				t.Errorf("letter %d was shown %v late", n, late)
			}
		}
	})
}

// With every hint lost, a watcher finds the turn within a poll, and its text from then on one and a half store flushes
// late (failure 40).
func TestEveryHintLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTwoHubs(t)
		h.lose(true)
		time.Sleep(time.Second)
		h.open()
		begun := time.Since(h.started)
		h.write(600, 10*time.Millisecond)
		h.settle()
		settledAt := time.Since(h.started)
		time.Sleep(DefaultPoll)
		synctest.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		if late := h.events[1] - begun; late > DefaultPoll {
			t.Errorf("the first event was shown %v late", late)
		}
		if late := h.events[2] - settledAt; h.events[2] == 0 || late > DefaultPoll {
			t.Errorf("the last event was shown %v late", late)
		}
		last := 0
		for n := 1; n <= 480; n++ { // the last flush before the end may come too late
			late := h.seen[n] - begun - time.Duration(n-1)*10*time.Millisecond
			if h.seen[n] == 0 || late > DefaultPoll && h.seen[n] > begun+DefaultPoll ||
				late > DefaultRepair*3/2+10*time.Millisecond && h.seen[n] > begun+DefaultPoll+DefaultRepair {
				t.Errorf("letter %d was shown %v late", n, late)
			}
			last = n
		}
		if got := h.reader.texts[h.id]; got != h.text || last == 0 {
			t.Errorf("the text is %d letters long, want %d", len(got), len(h.text))
		}
	})
}

// Hints lost in the middle cost no more than the way to the holder and back.
func TestSomeHintsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTwoHubs(t)
		h.hubs[0].FlushWith(func(parley.ID) {
			go func() { // ends at once
				text := h.stream.Text(parley.KindText)
				h.source.mu.Lock()
				h.source.streaming[h.id].text = text
				h.source.mu.Unlock()
				h.stream.Kept(parley.KindText, len(text))
			}()
		})
		time.Sleep(time.Second)
		h.open()
		h.write(5, 10*time.Millisecond)
		h.lose(true)
		h.write(5, 10*time.Millisecond)
		h.lose(false)
		heardAgain := time.Since(h.started)
		h.write(5, 10*time.Millisecond)
		synctest.Wait()
		h.mu.Lock()
		defer h.mu.Unlock()
		if late := h.seen[11] - heardAgain; h.seen[11] == 0 || late > 4*fastestPace {
			t.Errorf("the lost text was shown %v after hints came again", late)
		}
	})
}
