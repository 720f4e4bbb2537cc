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

// leaving is a store with so many transactions' worth of clients that are gone.
type leaving struct {
	Store
	left int

	mu     sync.Mutex    // guards before
	before []parley.Time // of the calls
}

func (s *leaving) ExpireClients(_ context.Context, before parley.Time) (bool, error) {
	s.left--
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = append(s.before, before)
	return s.left > 0, nil
}

// TestSilentClientsExpire: clients that said nothing for a lease are ended, all of
// them, again and again, and Stop ends it.
func TestSilentClientsExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &leaving{left: 3}
		options := Options{jitter: func(time.Duration) time.Duration { return 0 }}.withDefaults()
		w := &Worker{store: store, options: options, log: options.Log, stopping: make(chan struct{})}
		began := time.Now()
		done := make(chan struct{})
		go func() { // ends with stopping
			defer close(done)
			w.clientLoop()
		}()
		time.Sleep(clientsEvery) // of synctest's clock
		synctest.Wait()
		store.mu.Lock()
		first := parley.TimeOf(began.Add(-parley.ClientLease))
		want := []parley.Time{first, first, first, parley.TimeOf(began.Add(clientsEvery - parley.ClientLease))}
		if !slices.Equal(store.before, want) {
			t.Errorf("expired what is from before %v, want %v", store.before, want)
		}
		store.mu.Unlock()
		close(w.stopping)
		<-done
	})
}
