package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// never is a poll or flush interval longer than any test.
const never = time.Hour

// open is a streaming message in the property test.
type open struct {
	stream *Stream
	turn   parley.ID
	id     parley.ID
	text   string
}

// TestWatchersSeeTheRecord runs any interleaving of appends, settles, joins, reads and lost hints: every watcher gets
// events 1..n without gap or repeat, and its text, folded by the rule for clients, is the record's.
func TestWatchersSeeTheRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		source := newRecord()
		hub := New(source, Options{Poll: never})
		defer hub.Close()
		var (
			streaming []*open
			readers   []*reader
			texts     = map[parley.ID]string{}
			opened    []*Stream
			epoch     = int64(1)
		)
		commit := func(c store.Commit) {
			if rapid.IntRange(0, 4).Draw(t, "told") > 0 { // one in five hints is lost
				hub.Committed(c)
			}
		}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		settle := func(i int) {
			o := streaming[i]
			streaming = append(streaming[:i], streaming[i+1:]...)
			texts[o.id] = o.text
			commit(source.add(epoch, []parley.ID{o.id}, settled(o.turn, o.id, o.text)))
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) {
				o := &open{turn: parley.NewID(), id: parley.NewID()}
				commit(source.add(epoch, nil, created(o.turn, o.id)))
				o.stream = hub.Open(StreamRef{SessionID: source.id, TurnID: o.turn, MessageID: o.id, Epoch: epoch})
				streaming, opened = append(streaming, o), append(opened, o.stream)
			},
			"append": func(t *rapid.T) {
				if len(streaming) == 0 {
					t.Skip()
				}
				o := rapid.SampledFrom(streaming).Draw(t, "message")
				piece := rapid.SampledFrom([]string{"a", "bc ", "größe", "🙂", strings.Repeat("long ", 500)}).
					Draw(t, "piece")
				o.text += piece
				o.stream.Append(parley.KindText, piece)
			},
			"settle": func(t *rapid.T) {
				if len(streaming) == 0 {
					t.Skip()
				}
				settle(rapid.IntRange(0, len(streaming)-1).Draw(t, "message"))
			},
			"other": func(t *rapid.T) {
				n := rapid.IntRange(1, pageEvents+5).Draw(t, "events")
				for range n {
					commit(source.add(epoch, nil, created(parley.NewID(), parley.NewID())))
				}
			},
			"join": func(t *rapid.T) {
				after := rapid.Int64Range(0, int64(len(source.events))).Draw(t, "after")
				flush := rapid.SampledFrom([]time.Duration{0, never}).Draw(t, "flush")
				w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, after}}, Flush: flush})
				readers = append(readers, newReader(w, after))
			},
			"read": func(t *rapid.T) {
				if len(readers) == 0 {
					t.Skip()
				}
				r := rapid.SampledFrom(readers).Draw(t, "reader")
				check(r.drain(ctx, rapid.IntRange(1, 40).Draw(t, "frames")))
			},
			"batch": func(t *rapid.T) {
				for _, r := range readers {
					r.watcher.nextBatch()
				}
			},
			"poll": func(*rapid.T) { check(hub.repair(ctx)) },
			"fence": func(t *rapid.T) { // another process takes over: its streams here are never settled by this one
				epoch++
				for len(streaming) > 0 {
					o := streaming[0]
					o.stream.Append(parley.KindText, "late words of a fenced worker")
					settle(0)
				}
			},
		})
		for len(streaming) > 0 {
			settle(0)
		}
		check(hub.repair(ctx))
		for i, r := range readers {
			r.watcher.nextBatch()
			check(r.drain(ctx, 1<<20))
			if r.after != int64(len(source.events)) {
				t.Fatalf("reader %d ended at event %d of %d", i, r.after, len(source.events))
			}
			for id, text := range r.texts {
				if want := texts[id]; text != want {
					t.Fatalf("reader %d has %q, the record %q", i, text, want)
				}
			}
			r.watcher.Close()
		}
		for _, stream := range opened {
			stream.Drop() // harmless after the settle; ends streams whose hint was lost
		}
		hub.mu.Lock()
		defer hub.mu.Unlock()
		for _, r := range hub.rooms {
			if !r.empty() {
				t.Fatal(fmt.Errorf("%d seats and %d streams are left in the room", len(r.seats), len(r.streams)))
			}
		}
	})
}
