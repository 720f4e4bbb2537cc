package worker

import (
	"context"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// How the index of words is kept up to date, beside the turns.
const (
	indexGather  = 250 * time.Millisecond // what a session commits in this time is indexed together
	indexPass    = 5 * time.Minute        // between two passes over all sessions
	indexLook    = 10 * time.Second       // between looks whether a pass is due, also one that another process has left
	indexRetry   = 2 * time.Second        // after an error of the store
	indexHands   = 64                     // sessions that are indexed together at most
	maxUnindexed = 4096                   // sessions that are known to hold something new; beyond, a pass finds them
	busyCommits  = 100                    // a second, from which on the indexer leaves the machine to the turns
	busyRest     = 31                     // then it rests so many times as long as it works
	idleRest     = 1                      // and else
)

// indexer brings what is said into the index of words: what this process has
// committed, soon after, and by passes what nobody told it of.
type indexer struct {
	store store.SearchIndex
	now   chan struct{} // of one: something was committed

	mu      sync.Mutex // guards what follows
	news    map[parley.ID]struct{}
	others  map[parley.ID]struct{} // in which other processes committed something
	commits int                    // since
	since   time.Time              // when commits was last read
}

func newIndexer(store store.SearchIndex) *indexer {
	return &indexer{
		store:  store,
		now:    make(chan struct{}, 1),
		news:   map[parley.ID]struct{}{},
		others: map[parley.ID]struct{}{},
		since:  time.Now(),
	}
}

// note remembers a session in which something was committed. It never blocks.
func (x *indexer) note(session parley.ID) {
	x.mu.Lock()
	x.commits++
	if len(x.news) < maxUnindexed {
		x.news[session] = struct{}{}
	}
	x.mu.Unlock()
	poke(x.now)
}

// noteOther remembers a session in which another process committed something. That
// one indexes it, unless it runs no turns; it is looked at later.
func (x *indexer) noteOther(session parley.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.others) < maxUnindexed {
		x.others[session] = struct{}{}
	}
}

// lookAtOthers has what other processes committed looked at.
func (x *indexer) lookAtOthers() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.others {
		if len(x.news) < maxUnindexed {
			x.news[id] = struct{}{}
		}
		delete(x.others, id)
	}
	if len(x.news) > 0 {
		poke(x.now)
	}
}

// take hands over some of the sessions with news.
func (x *indexer) take() []parley.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	taken := make([]parley.ID, 0, min(len(x.news), indexHands))
	for id := range x.news {
		if len(taken) == indexHands {
			break
		}
		taken = append(taken, id)
		delete(x.news, id)
	}
	return taken
}

// put gives back sessions that may hold more.
func (x *indexer) put(sessions []parley.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range sessions {
		if len(x.news) < maxUnindexed {
			x.news[id] = struct{}{}
		}
	}
}

func (x *indexer) waiting() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.news) > 0
}

// restAfter is how long to rest after a piece of work: the longer the more is
// committed beside it.
func (x *indexer) restAfter(work time.Duration) time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	elapsed := time.Since(x.since)
	busy := float64(x.commits) > busyCommits*elapsed.Seconds()
	if elapsed > time.Second {
		x.commits, x.since = 0, time.Now()
	}
	if busy {
		return busyRest * work
	}
	return idleRest * work
}

// indexLoop indexes what is committed, a transaction at a time, and looks for passes
// that are due. Stop ends it.
func (w *Worker) indexLoop() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	gathered := time.NewTimer(0)
	<-gathered.C
	look := time.NewTimer(w.options.jitter(indexGather))
	defer gathered.Stop()
	defer look.Stop()
	anew := true           // until the pass with which it begins
	noted := w.indexer.now // nil while what comes is gathered already
	for {
		select {
		case <-w.stopping:
			return
		case <-noted:
			noted = nil
			gathered.Reset(indexGather)
		case <-gathered.C:
			if rest := w.indexNews(ctx); w.indexer.waiting() {
				gathered.Reset(rest)
			} else {
				noted = w.indexer.now
			}
		case <-look.C:
			w.indexer.lookAtOthers()
			look.Reset(w.indexStep(ctx, anew))
			anew = false
		}
	}
}

// indexNews indexes a piece of what was committed, and says how long to rest.
func (w *Worker) indexNews(ctx context.Context) time.Duration {
	sessions := w.indexer.take()
	if len(sessions) == 0 {
		return 0
	}
	began := time.Now()
	left, err := w.indexer.store.IndexSessions(ctx, sessions)
	if err != nil {
		w.log.Warn("what was said could not be indexed for searches; trying again", "error", err)
		w.indexer.put(sessions)
		return indexRetry
	}
	w.indexer.put(left)
	return w.indexer.restAfter(time.Since(began))
}

// indexStep takes a step of a pass if one is due, and says when to look again. What
// is committed meanwhile goes first.
func (w *Worker) indexStep(ctx context.Context, anew bool) time.Duration {
	began := time.Now()
	step, taken, err := w.indexer.store.TakeSearchStep(ctx, anew)
	if err == nil && !taken {
		return indexLook
	}
	for left := step.Sessions; err == nil && len(left) > 0; {
		work := time.Now()
		left, err = w.indexer.store.IndexSessions(ctx, left)
		if !w.sleep(w.indexer.restAfter(time.Since(work))) || w.indexer.waiting() && !w.sleep(w.indexNews(ctx)) {
			return 0
		}
	}
	if err == nil {
		err = w.indexer.store.EndSearchStep(ctx, step, indexPass)
	}
	switch {
	case err != nil:
		w.log.Warn("a pass that indexes for searches was broken off; trying again", "error", err)
		return indexRetry
	case step.Last.IsZero():
		return indexLook
	}
	return w.indexer.restAfter(time.Since(began))
}

// sleep rests; false when the worker stops.
func (w *Worker) sleep(rest time.Duration) bool {
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.stopping:
		return false
	}
}
