package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// TestUrgentLane: a lease renewal overtakes all waiting transitions.
func TestUrgentLane(t *testing.T) {
	w := newWorld(t, Options{})
	var order []string
	var wait sync.WaitGroup
	submit := func(name string, write func(context.Context, func(*txn) error) error) {
		wait.Go(func() {
			if err := write(context.Background(), func(*txn) error {
				order = append(order, name) // only on the writer's goroutine
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	release := w.hold()
	for i := range 5 {
		submit(fmt.Sprint("post ", i), w.store.write)
		waiting(w.store.writer.queue, i+1)
	}
	submit("renewal", w.store.writeUrgent)
	waiting(w.store.writer.urgent, 1)
	release()
	wait.Wait()
	if diff := cmp.Diff([]string{"renewal", "post 0", "post 1", "post 2", "post 3", "post 4"}, order); diff != "" {
		t.Error(diff)
	}
}

// TestCancelsGoFirst: a cancel, and the settling of a cancelled turn, are durable before all waiting transitions.
func TestCancelsGoFirst(t *testing.T) {
	w := newWorld(t, Options{})
	asked, stopped := w.session(nil).ID, w.session(nil).ID
	w.post(asked, w.said("hello"), w.process)
	claim := w.post(stopped, w.said("hello"), w.process).Claim
	begin := stepBegin(1)
	if _, err := w.store.BeginStep(t.Context(), claim.Fence, begin); err != nil {
		t.Fatal(err)
	}
	told := &order{}
	w.store.Listen(told)
	release := w.hold()
	var wait sync.WaitGroup
	submit := func(write func() error) {
		wait.Go(func() {
			if err := write(); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxBatch {
		submit(func() error {
			return w.store.write(t.Context(), func(*txn) error { told.transitions++; return nil })
		})
	}
	waiting(w.store.writer.queue, maxBatch)
	submit(func() error {
		_, err := w.store.RequestCancel(t.Context(), w.scope, asked, parley.ID{}, false)
		return err
	})
	submit(func() error {
		settle := stepSettle(begin, "as far as it came", &store.TurnEnd{Status: parley.TurnCancelled})
		settle.Blocks[0].Status, settle.Call.Outcome = parley.MessageCancelled, parley.CallCancelled
		_, err := w.store.SettleStep(t.Context(), claim.Fence, settle)
		return err
	})
	for len(w.store.writer.queue)+len(w.store.writer.urgent) < maxBatch+2 {
		runtime.Gosched()
	}
	release()
	wait.Wait()
	if diff := cmp.Diff([]int{0, 0}, told.at); diff != "" {
		t.Errorf("transitions that ran first (-want +got):\n%s", diff)
	}
}

// order counts the transitions before each announced commit. It is used only on the writer's goroutine.
type order struct {
	transitions int
	at          []int
}

func (o *order) Committed(store.Commit) { o.at = append(o.at, o.transitions) }
