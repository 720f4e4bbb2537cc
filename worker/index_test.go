package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// indexing is a store that records what is indexed when.
type indexing struct {
	mu    sync.Mutex // guards what follows
	calls [][]parley.ID
	left  int // calls that report more work
	fails int // calls that fail
	steps []store.SearchStep
	anew  []bool
	ended []store.SearchStep
}

func (s *indexing) IndexSessions(_ context.Context, sessions []parley.ID) ([]parley.ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, slices.Clone(sessions))
	if s.fails > 0 {
		s.fails--
		return nil, errors.New("the disk is full")
	}
	if s.left > 0 {
		s.left--
		return sessions, nil
	}
	return nil, nil
}

func (s *indexing) TakeSearchStep(_ context.Context, anew bool) (store.SearchStep, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anew = append(s.anew, anew)
	if len(s.steps) == 0 {
		return store.SearchStep{}, false, nil
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	return step, true, nil
}

func (s *indexing) EndSearchStep(_ context.Context, step store.SearchStep, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, step)
	return nil
}

func (s *indexing) RebuildSearch(context.Context) error { return nil }

func (s *indexing) taken() (calls [][]parley.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, s.calls = s.calls, nil
	return calls
}

func (s *indexing) passes() (anew []bool, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.anew), len(s.ended)
}

// indexerOf runs a worker's index loop over a store until the test's end.
func indexerOf(t *testing.T, store *indexing) *Worker {
	t.Helper()
	options := Options{jitter: func(time.Duration) time.Duration { return 0 }}.withDefaults()
	w := &Worker{
		options:  options,
		log:      options.Log,
		stopping: make(chan struct{}),
		indexer:  newIndexer(store),
		linker:   newLinker(nil),
	}
	done := make(chan struct{})
	go func() { // ends with stopping
		defer close(done)
		w.indexLoop()
	}()
	t.Cleanup(func() {
		close(w.stopping)
		<-done
	})
	synctest.Wait()
	return w
}

// TestCommitsAreIndexedSoon: commits close together share a transaction, other processes' commits are looked at
// later, and unfinished or failed work is tried again.
func TestCommitsAreIndexedSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &indexing{}
		w := indexerOf(t, db)
		session, other := parley.NewID(), parley.NewID()
		for range 5 {
			w.Committed(store.Commit{SessionID: session})
		}
		w.Committed(store.Commit{SessionID: other, Remote: true})
		time.Sleep(indexGather) // of synctest's clock
		synctest.Wait()
		if calls := db.taken(); len(calls) != 1 || !slices.Equal(calls[0], []parley.ID{session}) {
			t.Errorf("indexed %v", calls)
		}
		time.Sleep(indexLook)
		synctest.Wait()
		if calls := db.taken(); len(calls) != 1 || !slices.Equal(calls[0], []parley.ID{other}) {
			t.Errorf("of another process's commits it indexed %v", calls)
		}
		db.left, db.fails = 2, 1
		w.Committed(store.Commit{SessionID: session})
		time.Sleep(indexGather + indexRetry)
		synctest.Wait()
		if calls := db.taken(); len(calls) != 4 {
			t.Errorf("a call that failed once and reported more twice was made %d times", len(calls))
		}
		for range 2 * maxUnindexed {
			w.Committed(store.Commit{SessionID: parley.NewID()})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		known := 0
		for _, call := range db.taken() {
			if known += len(call); len(call) > indexBatch {
				t.Errorf("%d sessions at once", len(call))
			}
		}
		if known > maxUnindexed+indexBatch || known < maxUnindexed {
			t.Errorf("%d sessions were remembered", known)
		}
	})
}

// TestAPassBeginsWithTheProcess: a process begins with a pass, step by step, and new commits do not wait for its end.
func TestAPassBeginsWithTheProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old, fresh := parley.NewID(), parley.NewID()
		db := &indexing{steps: []store.SearchStep{{Sessions: []parley.ID{old}, Last: old}, {}}}
		w := indexerOf(t, db)
		w.Committed(store.Commit{SessionID: fresh})
		time.Sleep(2 * indexGather)
		synctest.Wait()
		if calls := db.taken(); len(calls) != 2 ||
			!slices.ContainsFunc(calls, func(ids []parley.ID) bool { return slices.Contains(ids, fresh) }) {
			t.Errorf("indexed %v", calls)
		}
		if anew, ended := db.passes(); !slices.Equal(anew, []bool{true, false}) || ended != 2 {
			t.Errorf("the steps were %v, and %d passes ended", anew, ended)
		}
		time.Sleep(indexLook)
		synctest.Wait()
		if anew, _ := db.passes(); len(anew) != 3 || anew[2] {
			t.Errorf("the checks for a pass were %v", anew)
		}
	})
}

// TestTheIndexerMakesRoom: the more is committed, the longer the indexer rests.
func TestTheIndexerMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newIndexer(&indexing{})
		time.Sleep(time.Second)
		if rest := x.restAfter(time.Millisecond); rest != idleRest*time.Millisecond {
			t.Errorf("without load it rests %s", rest)
		}
		for range 3 * busyCommits {
			x.note(parley.NewID())
		}
		time.Sleep(time.Second)
		if rest := x.restAfter(time.Millisecond); rest != busyRest*time.Millisecond {
			t.Errorf("under load it rests %s", rest)
		}
	})
}
