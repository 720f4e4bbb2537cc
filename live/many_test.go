package live

import (
	"context"
	"runtime"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// crowd is the source of sessions without activity.
type crowd struct{}

func (crowd) Events(context.Context, store.Scope, parley.ID, int64, int) ([]parley.Event, error) {
	return nil, nil
}

func (crowd) Heads(_ context.Context, ids []parley.ID) ([]store.HeadState, error) {
	heads := make([]store.HeadState, len(ids))
	for i, id := range ids {
		heads[i] = store.HeadState{SessionID: id, LastEvent: 7}
	}
	return heads, nil
}

// Ten thousand idle watchers on three processes: what each costs all processes together, including their messages to
// each other, and that nothing is left after they have gone.
func TestIdleWatchersElsewhereAreCheap(t *testing.T) {
	const processes, watchers, most = 3, 10_000, 4 << 10
	spoken := &wire{source: newRecord()}
	var hubs [processes]*Hub
	for i := range hubs {
		hubs[i] = build(crowd{}, Options{Relay: end{spoken, 0}})
	}
	// deliver carries what one hub tells to the others.
	deliver := func() (interests int) {
		for i, h := range hubs {
			h.exchange.talk(time.Now())
			h.exchange.renew(time.Now())
			said := spoken.waiting[1]
			spoken.waiting[1] = nil
			var from parley.ID
			from[0] = byte(i + 1)
			for _, p := range said {
				interests += len(p.hints.Interests)
				for j, other := range hubs {
					if i != j {
						other.Heard(from, p.hints)
					}
				}
			}
		}
		return interests
	}
	before := heap()
	all := make([]*Watcher, watchers)
	for i := range all {
		all[i] = hubs[i%processes].Watch(
			WatchRequest{Sessions: []Place{{parley.NewID(), 7}}, Flush: 120 * time.Millisecond},
		)
		if all[i].Buffered() {
			t.Fatal("a frame of a session without activity")
		}
		if err := all[i].fill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := deliver(); got != 2*watchers {
		t.Errorf("%d interests were announced, want each twice", got)
	}
	if got := deliver(); got != watchers {
		t.Errorf("%d interests were repeated, want %d", got, watchers)
	}
	if each := (int64(heap()) - int64(before)) / watchers; each > most {
		t.Errorf("an idle watcher costs %d bytes, at most %d are allowed", each, most)
	} else {
		t.Logf("an idle watcher costs %d bytes", each)
	}
	for _, w := range all {
		w.Close()
	}
	deliver()
	for i, h := range hubs {
		x := h.exchange
		if n := len(x.wants) + len(x.saying) + len(x.inlets) + len(x.behind); n != 0 {
			t.Errorf("%d entries are left in process %d", n, i)
		}
	}
	runtime.KeepAlive(all)
}
