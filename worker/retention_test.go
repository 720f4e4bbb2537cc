package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"parley"
)

// thinning is a store with so many transactions' worth of old versions.
type thinning struct {
	Store
	left int

	mu     sync.Mutex    // guards before
	before []parley.Time // of the calls
}

func (s *thinning) ThinVersions(_ context.Context, before parley.Time) (bool, error) {
	s.left--
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = append(s.before, before)
	return s.left > 0, nil
}

func (s *thinning) calls() []parley.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.before)
}

// TestVersionsThinOutHourly: soon after the start and every hour all that is old
// enough goes, a transaction at a time, and Stop ends it.
func TestVersionsThinOutHourly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &thinning{left: 3}
		options := Options{KeepVersions: 48 * time.Hour, jitter: func(time.Duration) time.Duration { return 0 }}.withDefaults()
		w := &Worker{store: store, options: options, log: options.Log, stopping: make(chan struct{})}
		began := time.Now()
		done := make(chan struct{})
		go func() { // ends with stopping
			defer close(done)
			w.thinLoop()
		}()
		synctest.Wait()
		if calls := store.calls(); len(calls) != 3 || calls[0] != parley.TimeOf(began.Add(-48*time.Hour)) {
			t.Errorf("at the start it was asked for %v", calls)
		}
		time.Sleep(thinEvery) // of synctest's clock
		synctest.Wait()
		if calls := store.calls(); len(calls) != 4 {
			t.Errorf("an hour later it had been asked %d times", len(calls))
		}
		close(w.stopping)
		<-done
	})
}
