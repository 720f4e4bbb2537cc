package worker

import (
	"context"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// How the full-text index is kept up to date, beside the turns.
const (
	indexGather  = 250 * time.Millisecond // a session's commits within this time are indexed together
	indexPass    = 5 * time.Minute        // between two passes over all sessions
	indexLook    = 10 * time.Second       // between checks for a pass that is due, or that another process left
	indexRetry   = 2 * time.Second        // after an error of the store
	indexBatch   = 64                     // most sessions indexed together
	maxUnindexed = 4096                   // sessions remembered as changed; a pass finds those beyond
	busyCommits  = 100                    // per second; from here on the indexer yields to the turns
	busyRest     = 31                     // rest as a multiple of working time when busy
	idleRest     = 1                      // and otherwise
)

// indexer brings messages into the full-text index: those that this process committed, soon after, and all others in
// passes.
type indexer struct {
	store store.SearchIndex
	now   chan struct{} // capacity 1: something was committed

	mu      sync.Mutex // guards what follows
	news    map[parley.ID]struct{}
	others  map[parley.ID]struct{} // sessions in which other processes committed something
	commits int                    // commits since the time below
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

// note remembers a session with a new commit. It never blocks.
func (x *indexer) note(session parley.ID) {
	x.mu.Lock()
	x.commits++
	if len(x.news) < maxUnindexed {
		x.news[session] = struct{}{}
	}
	x.mu.Unlock()
	poke(x.now)
}

// noteOther remembers a session in which another process committed something. That process indexes it itself, unless it
// runs no turns; so this one looks at it later.
func (x *indexer) noteOther(session parley.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.others) < maxUnindexed {
		x.others[session] = struct{}{}
	}
}

// lookAtOthers moves the sessions that other processes committed to into the queue.
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

// take removes and returns some of the changed sessions.
func (x *indexer) take() []parley.ID {
	x.mu.Lock()
	defer x.mu.Unlock()
	taken := make([]parley.ID, 0, min(len(x.news), indexBatch))
	for id := range x.news {
		if len(taken) == indexBatch {
			break
		}
		taken = append(taken, id)
		delete(x.news, id)
	}
	return taken
}

// put gives back sessions that may have more to index.
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

// restAfter returns how long to rest after a piece of work: longer when more is committed at the same time.
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

// indexLoop indexes commits, one transaction at a time, and makes passes when they are due. Stop ends it.
func (w *Worker) indexLoop() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	gathered := time.NewTimer(0)
	<-gathered.C
	look := time.NewTimer(w.options.jitter(indexGather))
	defer gathered.Stop()
	defer look.Stop()
	anew := true           // until the first pass has begun
	noted := w.indexer.now // nil while commits are being gathered
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

// indexNews indexes some of the new commits, and returns how long to rest.
func (w *Worker) indexNews(ctx context.Context) time.Duration {
	sessions := w.indexer.take()
	if len(sessions) == 0 {
		return 0
	}
	began := time.Now()
	left, err := w.indexer.store.IndexSessions(ctx, sessions)
	if err != nil {
		w.log.Warn("new messages could not be indexed for searches; trying again", "error", err)
		w.indexer.put(sessions)
		return indexRetry
	}
	w.indexer.put(left)
	return w.indexer.restAfter(time.Since(began))
}

// indexStep takes one step of a pass if one is due, and returns when to look again. New commits go first.
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
		w.log.Warn("a pass of the search index was interrupted; trying again", "error", err)
		return indexRetry
	case step.Last.IsZero():
		return indexLook
	}
	return w.indexer.restAfter(time.Since(began))
}

// sleep rests; it returns false when the worker stops.
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
