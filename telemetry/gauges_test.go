package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley/observe"
	"example.org/parley/store"
)

// gathered collects gauges by name; the values of one name are added up.
func gathered(t *testing.T, g *gauges) map[string]float64 {
	t.Helper()
	found := map[string]float64{}
	for _, family := range g.Collect() {
		for _, sample := range family.Samples {
			found[family.Name] += sample.Value
		}
	}
	return found
}

// A hanging database is asked once, and does not keep a scrape from reporting the rest; one that answers is not asked
// at every scrape.
func TestScrapesOfADatabaseThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		var asked atomic.Int64
		g := newGauges()
		g.sources = Sources{
			Ready: func(context.Context) error { return nil },
			Queue: func(context.Context) (store.QueueStats, error) {
				n := asked.Add(1)
				if n == 1 {
					<-hangs // ignores its deadline
				}
				return store.QueueStats{Foreground: store.ReadyTurns{Waiting: int(n)}}, nil
			},
			Worker: func() observe.WorkerStats { return observe.WorkerStats{Slots: 4} },
		}
		began := time.Now()
		for n := range 2 {
			got := gathered(t, g)
			if _, told := got["parley_queue_depth"]; told || got["parley_ready"] != 0 ||
				got["parley_worker_slots"] != 4 ||
				got["parley_queue_look_failures_total"] != float64(n+1) {
				t.Errorf("while it hangs: %v", got)
			}
		}
		if took := time.Since(began); took != 2*lookTime || asked.Load() != 1 {
			t.Errorf("two scrapes took %s and asked %d times", took, asked.Load())
		}
		close(hangs)
		synctest.Wait()
		for range 3 { // the first two within a second of each other
			got := gathered(t, g)
			if got["parley_queue_depth"] != float64(asked.Load()) || got["parley_ready"] != 1 ||
				got["parley_queue_look_failures_total"] != 2 {
				t.Errorf("once it answers: %v", got)
			}
			time.Sleep(lookMemory * 6 / 10)
		}
		if asked.Load() != 3 {
			t.Errorf("three scrapes in 1.2 s asked %d times in all; want 3", asked.Load())
		}
	})
}

func TestScrapesOfADatabaseThatFails(t *testing.T) {
	t.Parallel()
	g := newGauges()
	g.sources = Sources{
		Ready: func(context.Context) error { return errors.New("no") },
		Queue: func(context.Context) (store.QueueStats, error) { return store.QueueStats{}, errors.New("no") },
	}
	got := gathered(t, g)
	if _, told := got["parley_queue_depth"]; told || got["parley_ready"] != 0 ||
		got["parley_queue_look_failures_total"] != 1 {
		t.Errorf("%v", got)
	}
}
