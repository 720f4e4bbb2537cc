package worker

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
)

// aged is a store with a given number of transactions' worth of expired data.
type aged struct {
	Store
	left int

	mu     sync.Mutex    // guards before
	before []parley.Time // of the calls
}

func (s *aged) end(before parley.Time) (bool, error) {
	s.left--
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = append(s.before, before)
	return s.left > 0, nil
}

func (s *aged) ThinVersions(_ context.Context, before parley.Time) (bool, error) {
	return s.end(before)
}

func (s *aged) ExpireClients(_ context.Context, before parley.Time) (bool, error) {
	return s.end(before)
}

// TestOldDataExpires: soon after the start and then at intervals, everything old enough expires, one transaction
// at a time, until Stop.
func TestOldDataExpires(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of          func(*Worker) expiry
		every, keep time.Duration
	}{
		"versions": {(*Worker).versions, time.Hour, 48 * time.Hour},
		"clients":  {(*Worker).clients, parley.ClientLease / 3, parley.ClientLease},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &aged{left: 3}
				options := Options{
					KeepVersions: 48 * time.Hour,
					jitter:       func(time.Duration) time.Duration { return 0 },
				}.withDefaults()
				w := &Worker{store: store, options: options, log: options.Log, stopping: make(chan struct{})}
				began := time.Now()
				done := make(chan struct{})
				go func() { // ends with stopping
					defer close(done)
					w.expire(c.of(w))
				}()
				time.Sleep(c.every) // of synctest's clock
				synctest.Wait()
				store.mu.Lock()
				first := parley.TimeOf(began.Add(-c.keep))
				if want := []parley.Time{
					first,
					first,
					first,
					first + parley.Time(c.every.Milliseconds()),
				}; !slices.Equal(
					store.before,
					want,
				) {
					t.Errorf("what is from before %v ended, want %v", store.before, want)
				}
				store.mu.Unlock()
				close(w.stopping)
				<-done
			})
		})
	}
}
