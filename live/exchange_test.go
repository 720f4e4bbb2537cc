package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// packet is one message between processes.
type packet struct {
	from   int
	commit *store.Commit
	hints  store.RelayHints
}

// wire is a relay between the hubs of one test: messages wait until the test delivers or loses them.
type wire struct {
	source *record

	mu      sync.Mutex
	waiting [2][]packet // by receiver
	again   bool        // packets may be delivered a second time
}

// end is one hub's end of a wire.
type end struct {
	*wire
	at int
}

func (e end) Hear(store.RelayListener) {}

func (e end) Tell(hints store.RelayHints) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting[1-e.at] = append(e.waiting[1-e.at], packet{from: e.at, hints: hints})
}

func (e end) Streamed(_ context.Context, sessions []parley.ID, have []store.StreamEnd) ([]store.StreamPiece, error) {
	if e.again {
		have = nil
	}
	return e.source.streamed(sessions, have), nil
}

// written is a streaming message, as the store has it.
type written struct {
	ref  StreamRef
	text string
}

// streamed is a store's answer to Relay.Streamed.
func (r *record) streamed(sessions []parley.ID, have []store.StreamEnd) (pieces []store.StreamPiece) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range sessions {
		for _, w := range r.streaming {
			if id != r.id {
				continue
			}
			from := 0
			for _, known := range have {
				if known.MessageID == w.ref.MessageID && known.Kind == parley.KindText && known.End <= len(w.text) {
					from = known.End
				}
			}
			pieces = append(pieces, store.StreamPiece{
				WorkspaceID: w.ref.WorkspaceID,
				SessionID:   id,
				TurnID:      w.ref.TurnID,
				MessageID:   w.ref.MessageID,
				Epoch:       w.ref.Epoch,
				After:       int64(len(r.events)),
				Kind:        parley.KindText,
				Offset:      from,
				Text:        w.text[from:],
			})
		}
	}
	return pieces
}

// pair is two processes that share a record; one of them runs the turns. None of their loops runs: the test drives
// them.
type pair struct {
	t         *rapid.T
	source    *record
	wire      *wire
	hubs      [2]*Hub
	owner     int
	epoch     int64
	streaming []*open
	opened    []*Stream
	texts     map[parley.ID]string
	readers   [2][]*reader
}

func newPair(t *rapid.T) *pair {
	p := &pair{t: t, source: newRecord(), epoch: 1, texts: map[parley.ID]string{}}
	p.wire = &wire{source: p.source}
	for i := range p.hubs {
		p.hubs[i] = build(p.source, Options{Relay: end{p.wire, i}, Repair: never})
		p.hubs[i].FlushWith(func(parley.ID) {
			if i == p.owner {
				p.flush()
			}
		})
	}
	for at := range p.hubs { // each process watches the sessions and knows that the other does
		p.join(at, 0, never)
		p.drain()
		p.work(at)
	}
	p.deliverAll()
	return p
}

func (p *pair) join(at int, after int64, flush time.Duration) {
	w := p.hubs[at].Watch(WatchRequest{Sessions: []Place{{p.source.id, after}}, Flush: flush})
	p.readers[at] = append(p.readers[at], newReader(w, after))
}

// commit reports a commit to its owner, and puts it on the wire for the other.
func (p *pair) commit(c store.Commit) {
	p.hubs[p.owner].Committed(c)
	remote := store.Commit{WorkspaceID: c.WorkspaceID, SessionID: c.SessionID, Epoch: c.Epoch, Remote: true}
	if n := len(c.Events); n > 0 {
		remote.LastEvent = c.Events[n-1].Sequence
	}
	p.wire.waiting[1-p.owner] = append(p.wire.waiting[1-p.owner], packet{from: p.owner, commit: &remote})
}

// flush stores the streaming text, and reports it.
func (p *pair) flush() {
	p.source.mu.Lock()
	for _, o := range p.streaming {
		p.source.streaming[o.id].text = o.text
	}
	p.source.mu.Unlock()
	for _, o := range p.streaming {
		o.stream.Kept(parley.KindText, len(o.text))
	}
}

func (p *pair) open() {
	o := &open{turn: parley.NewID(), id: parley.NewID()}
	ref := StreamRef{SessionID: p.source.id, TurnID: o.turn, MessageID: o.id, Epoch: p.epoch}
	c := p.source.add(p.epoch, nil, created(o.turn, o.id))
	p.source.mu.Lock()
	p.source.streaming[o.id] = &written{ref: ref}
	p.source.mu.Unlock()
	p.commit(c)
	o.stream = p.hubs[p.owner].Open(ref)
	p.streaming, p.opened = append(p.streaming, o), append(p.opened, o.stream)
}

// settle ends a message with the stored text.
func (p *pair) settle(i int, text string) {
	o := p.streaming[i]
	p.streaming = append(p.streaming[:i], p.streaming[i+1:]...)
	p.texts[o.id] = text
	p.source.mu.Lock()
	delete(p.source.streaming, o.id)
	p.source.mu.Unlock()
	p.commit(p.source.add(p.epoch, []parley.ID{o.id}, settled(o.turn, o.id, text)))
}

// takeOver gives the session to the other process: streaming messages are settled with their stored text, while the old
// holder still writes.
func (p *pair) takeOver() {
	p.owner, p.epoch = 1-p.owner, p.epoch+1
	for len(p.streaming) > 0 {
		o := p.streaming[0]
		p.source.mu.Lock()
		text := p.source.streaming[o.id].text
		p.source.mu.Unlock()
		o.stream.Append(parley.KindText, "late words of a fenced worker")
		p.settle(0, text)
	}
}

// deliver hands any one waiting packet to its receiver, perhaps again later, perhaps never.
func (p *pair) deliver(to int) {
	waiting := p.wire.waiting[to]
	if len(waiting) == 0 {
		return
	}
	i := rapid.IntRange(0, min(len(waiting)-1, 3)).Draw(p.t, "packet")
	next := waiting[i]
	fate := rapid.IntRange(0, 9).Draw(p.t, "fate")
	if fate > 0 { // otherwise it comes again
		p.wire.waiting[to] = append(waiting[:i:i], waiting[i+1:]...)
	}
	if fate == 1 {
		return // lost
	}
	p.take(to, next)
}

// deliverAll hands over all waiting packets, in order.
func (p *pair) deliverAll() {
	for to := range p.hubs {
		for len(p.wire.waiting[to]) > 0 {
			next := p.wire.waiting[to][0]
			p.wire.waiting[to] = p.wire.waiting[to][1:]
			p.take(to, next)
		}
	}
}

func (p *pair) take(to int, next packet) {
	if next.commit != nil {
		p.hubs[to].Committed(*next.commit)
		return
	}
	var from parley.ID
	from[0] = byte(next.from + 1)
	p.hubs[to].Heard(from, next.hints)
}

// work makes a process's loops do what is due.
func (p *pair) work(i int) {
	x := p.hubs[i].exchange
	x.talk(time.Now().Add(time.Hour)) // every interval has passed
	for {
		id, to, ok := x.nextBehind()
		if !ok {
			break
		}
		p.check(x.fetch(context.Background(), id, to))
		delete(x.fetching, id)
	}
	for x.lookUp(context.Background()) {
	}
}

// repair does what happens with time: the poll, the look for silent streams, the flush.
func (p *pair) repair() {
	p.flush()
	for i, h := range p.hubs {
		p.check(h.repair(context.Background()))
		p.work(i)
		h.exchange.noteSilence(time.Now().Add(2 * never))
		p.work(i)
	}
}

func (p *pair) check(err error) {
	if err != nil {
		p.t.Fatal(err)
	}
}

// drain makes every reader read all available frames.
func (p *pair) drain() {
	for _, readers := range p.readers {
		for _, r := range readers {
			r.watcher.nextBatch()
			p.check(r.drain(context.Background(), 1<<20))
		}
	}
}

// TestWatchersElsewhereSeeTheRecord runs any interleaving of turns that move between two processes and of hints between
// them that are lost, late, doubled or out of order. Every watcher on either gets events 1..n without gap or repeat,
// and its text is the record's. Once time has passed, even with every hint lost, it has the stored text of a message
// that still streams.
func TestWatchersElsewhereSeeTheRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair(t)
		message := func(t *rapid.T) int {
			if len(p.streaming) == 0 {
				t.Skip()
			}
			return rapid.IntRange(0, len(p.streaming)-1).Draw(t, "message")
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(*rapid.T) { p.open() },
			"append": func(t *rapid.T) {
				o := p.streaming[message(t)]
				piece := rapid.SampledFrom([]string{"a", "bc ", "größe", "🙂", strings.Repeat("long ", 500)}).
					Draw(t, "piece")
				o.text += piece
				o.stream.Append(parley.KindText, piece)
				if rapid.IntRange(0, 3).Draw(t, "told") > 0 {
					p.hubs[p.owner].exchange.talk(time.Now().Add(time.Hour))
				}
			},
			"settle": func(t *rapid.T) {
				i := message(t)
				p.settle(i, p.streaming[i].text)
			},
			"other": func(t *rapid.T) {
				for range rapid.IntRange(1, pageEvents+5).Draw(t, "events") {
					p.commit(p.source.add(p.epoch, nil, created(parley.NewID(), parley.NewID())))
				}
			},
			"flush":    func(*rapid.T) { p.flush() },
			"takeOver": func(*rapid.T) { p.takeOver() },
			"join": func(t *rapid.T) {
				at := rapid.IntRange(0, 1).Draw(t, "process")
				after := rapid.Int64Range(0, int64(len(p.source.events))).Draw(t, "after")
				flush := rapid.SampledFrom([]time.Duration{0, never}).Draw(t, "flush")
				p.join(at, after, flush)
			},
			"leave": func(t *rapid.T) {
				at := rapid.IntRange(0, 1).Draw(t, "process")
				if len(p.readers[at]) == 0 {
					t.Skip()
				}
				p.readers[at][0].watcher.Close()
				p.readers[at] = p.readers[at][1:]
			},
			"read": func(t *rapid.T) {
				for _, r := range slices.Concat(p.readers[0], p.readers[1]) {
					if rapid.Bool().Draw(t, "batch") {
						r.watcher.nextBatch()
					}
					p.check(r.drain(context.Background(), rapid.SampledFrom([]int{1, 5, 1000}).Draw(t, "frames")))
				}
			},
			"work": func(t *rapid.T) {
				p.wire.again = rapid.Bool().Draw(t, "again")
				p.work(rapid.IntRange(0, 1).Draw(t, "process"))
			},
			"deliver": func(t *rapid.T) {
				for range rapid.IntRange(1, 4).Draw(t, "packets") {
					p.deliver(1 - p.owner)
				}
			},
			"deliverBack": func(t *rapid.T) { p.deliver(p.owner) },
			"deliverAll":  func(*rapid.T) { p.deliverAll() },
			"resync":      func(t *rapid.T) { p.hubs[rapid.IntRange(0, 1).Draw(t, "process")].Resync() },
			"expire": func(*rapid.T) {
				for _, h := range p.hubs {
					h.exchange.renew(time.Now().Add(2 * interestLife))
				}
			},
			"repair": func(t *rapid.T) { // with every hint lost
				p.wire.waiting = [2][]packet{}
				p.drain()
				p.repair()
				p.drain()
				for at, readers := range p.readers {
					for i, r := range readers {
						for _, o := range p.streaming {
							if got := r.texts[o.id]; got != o.text {
								t.Fatalf("reader %d of process %d has %q of %q", i, at, got, o.text)
							}
						}
					}
				}
			},
		})
		for len(p.streaming) > 0 {
			p.settle(0, p.streaming[0].text)
		}
		p.repair()
		p.drain()
		for at, readers := range p.readers {
			for i, r := range readers {
				if r.after != int64(len(p.source.events)) {
					t.Fatalf("reader %d of process %d ended at event %d of %d", i, at, r.after, len(p.source.events))
				}
				for id, text := range r.texts {
					if want := p.texts[id]; text != want {
						t.Fatalf("reader %d of process %d has %q, the record %q", i, at, text, want)
					}
				}
				r.watcher.Close()
			}
		}
		for _, stream := range p.opened {
			stream.Drop() // as a worker does that has lost its claim
		}
		for i, h := range p.hubs {
			for _, r := range h.rooms {
				if !r.empty() {
					t.Fatal(
						fmt.Errorf("%d seats and %d streams are left on process %d", len(r.seats), len(r.streams), i),
					)
				}
			}
		}
	})
}
