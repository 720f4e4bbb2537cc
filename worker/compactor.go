package worker

import (
	"context"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/internal/caught"
	"example.org/parley/store"
)

// Bounds and intervals of compactions.
const (
	maxCompactions  = 8                     // at once in a process, of any workspaces; they use no turn's slot
	keptCompactions = 8                     // more, for workspaces that have few
	compactionPoll  = 2 * time.Second       // between looks without a hint
	compactionBound = 5 * time.Minute       // for one attempt, or one part of it
	summaryPatience = 60 * time.Second      // a request with a full window waits for its summary
	overflowLook    = time.Second           // between a turn's looks at a compaction that it waits for
	maxResting      = 4096                  // sessions remembered as pausing their compactions
	compactionPause = 50 * time.Millisecond // before an attempt with a smaller source
	maxTranscript   = 2 << 20               // most bytes that one attempt summarises
	leastTranscript = 8 << 10               // fewest bytes, however short the model's context
	sourceShare     = 2                     // the model's tokens divided by this are for the source
	bytesPerToken   = 4                     // of text, approximately
	leastTokenBytes = 2                     // of text, with few exceptions; a summary is cut at its source's length
	compactionPage  = 256                   // rows per page read for a compaction
)

// compactor claims compactions of sessions and runs them beside the turns.
type compactor struct {
	now      chan struct{} // capacity 1: a compaction may begin
	requests sync.WaitGroup
	runs     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	running map[parley.ID]*compacting
	places  store.Occupancy
	resting map[parley.ID]int64 // by session: no compaction begins by itself before this sequence
	stopped bool
	changed chan struct{} // closed and replaced when an attempt begins or ends
}

// compacting is one attempt that this process runs.
type compacting struct {
	claim  store.CompactionClaim
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the attempt has ended
}

func newCompactor() *compactor {
	return &compactor{
		now:     make(chan struct{}, 1),
		running: map[parley.ID]*compacting{},
		places:  store.Occupancy{Slots: maxCompactions, Reserve: keptCompactions},
		resting: map[parley.ID]int64{},
		changed: make(chan struct{}),
	}
}

// compactLoop is the process's only claimer of compactions. Stop ends it.
func (w *Worker) compactLoop() {
	ticker := time.NewTicker(compactionPoll)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.compactor.now:
		case <-ticker.C:
		}
		w.claimCompactions()
	}
}

// claimCompactions claims compactions for free slots and starts them.
func (w *Worker) claimCompactions() {
	held := w.currentLease()
	c := w.compactor
	c.mu.Lock()
	running := make([]parley.ID, 0, len(c.running))
	for id := range c.running {
		running = append(running, id)
	}
	places := c.places.Clone()
	c.mu.Unlock()
	if held == nil || places.Free() == 0 {
		return
	}
	claims, err := w.store.ClaimCompactions(held.ctx, held.id, running, places)
	if err != nil && held.ctx.Err() == nil {
		w.log.Warn("compactions could not be claimed", "error", err)
	}
	for _, claim := range claims {
		w.startCompaction(held, claim)
	}
}

// startCompaction runs a claimed compaction in a goroutine of its own, which ends
// with the attempt, with the lease, or with Stop.
func (w *Worker) startCompaction(held *lease, claim store.CompactionClaim) {
	ctx, cancel := context.WithCancelCause(held.ctx)
	run := &compacting{claim: claim, cancel: cancel, done: make(chan struct{})}
	workspaceID, mode := claim.Fence.WorkspaceID, store.CompactionMode(claim.Compaction.Awaited)
	c := w.compactor
	c.mu.Lock()
	c.running[claim.Compaction.ID] = run
	c.places.Take(workspaceID, mode)
	c.change()
	if c.stopped {
		cancel(ErrStopped)
	}
	c.mu.Unlock()
	c.runs.Go(func() {
		defer func() {
			cancel(nil)
			c.mu.Lock()
			delete(c.running, claim.Compaction.ID)
			c.places.Leave(workspaceID, mode)
			c.change()
			c.mu.Unlock()
			close(run.done)
			poke(c.now)
		}()
		w.runCompaction(ctx, held, &run.claim)
	})
}

// runCompaction makes one attempt and stores its outcome. A panic in it, or an error of the store, ends only the
// attempt.
func (w *Worker) runCompaction(ctx context.Context, held *lease, claim *store.CompactionClaim) {
	log := w.log.With("session_id", claim.Fence.SessionID, "compaction_id", claim.Fence.CompactionID)
	settle, err := func() (settle store.CompactionSettle, err error) {
		defer func() {
			if value := recover(); value != nil {
				err = caught.New(value)
			}
		}()
		patience := compactionBound
		if claim.Compaction.From == parley.FromOriginals {
			patience *= parley.MaxCompactionParts
		}
		bounded, stop := context.WithTimeout(ctx, patience)
		defer stop()
		return w.summarise(bounded, held.ctx, claim)
	}()
	switch {
	case held.ctx.Err() != nil: // another process takes it over
		return
	case ctx.Err() != nil:
		err = w.store.ReleaseCompaction(held.ctx, claim.Fence) //nolint:contextcheck // ctx has ended
	case err == nil:
		_, err = w.store.SettleCompaction(
			held.ctx,
			claim.Fence,
			settle,
		) //nolint:contextcheck // the answer is paid for, so keep it
	case transient(err):
		log.WarnContext(ctx, "a compaction could not go on", "error", err)
		err = w.store.ReleaseCompaction(held.ctx, claim.Fence) //nolint:contextcheck // as above
	default:
		log.ErrorContext(ctx, "a compaction broke on an error inside", "error", err)
		_, err = w.store.SettleCompaction(
			held.ctx,
			claim.Fence,
			store.CompactionSettle{Failure: brokenFailure(err), Again: parley.BaseWait},
		) //nolint:contextcheck // as above
	}
	if err != nil && parley.ErrorCode(err) != parley.CodeFenced {
		log.WarnContext(
			ctx,
			"the end of a compaction could not be stored; it will be tried again",
			"error",
			err,
		) //nolint:contextcheck // as above
	}
}

// stopCompactions lets running attempts finish until patience ends, then aborts them, and returns when none runs.
func (w *Worker) stopCompactions(patience context.Context) {
	c := w.compactor
	c.requests.Wait()
	gone := make(chan struct{})
	go func() { // ends with the last attempt
		c.runs.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return
	case <-patience.Done():
	}
	w.abortCompactions(ErrStopped, parley.ID{})
	<-gone
}

// abortCompactions ends the attempts for a deleted session, or all attempts.
func (w *Worker) abortCompactions(cause error, sessionID parley.ID) {
	c := w.compactor
	c.mu.Lock()
	defer c.mu.Unlock()
	if sessionID.IsZero() {
		c.stopped = true
	}
	for _, run := range c.running {
		if sessionID.IsZero() || run.claim.Fence.SessionID == sessionID {
			run.cancel(cause)
		}
	}
}

// wantCompaction requests a summary of a session that needs one. The turn continues without waiting for the request.
func (w *Worker) wantCompaction(
	ctx context.Context,
	session *parley.Session,
	last int64,
	reason parley.CompactionReason,
) {
	c := w.compactor
	c.mu.Lock()
	rests := last < c.resting[session.ID]
	c.mu.Unlock()
	if rests {
		return
	}
	scope, sessionID := store.Scope{WorkspaceID: session.WorkspaceID}, session.ID
	c.requests.Go(func() { // ends with the transaction
		made, err := w.store.RequestCompaction(
			ctx,
			scope,
			sessionID,
			store.NewCompaction{ID: parley.NewID(), Reason: reason},
		)
		switch {
		case err == nil && made.RestsUntil > 0:
			c.rest(sessionID, made.RestsUntil)
		case err == nil && made.State == parley.CompactionPending:
			poke(c.now)
		case err != nil && ctx.Err() == nil && parley.ErrorCode(err) != parley.CodeConflict &&
			parley.ErrorCode(err) != parley.CodeNotFound:
			w.log.WarnContext(ctx, "a compaction could not be asked for", "session_id", sessionID, "error", err)
		}
	})
}

// rest remembers how far a session's record must grow before the next request.
func (c *compactor) rest(sessionID parley.ID, until int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.resting) >= maxResting {
		clear(c.resting)
	}
	c.resting[sessionID] = until
}

// news returns a channel that is closed when the process's attempt at this compaction ends or, if it runs none, when it
// begins or ends any attempt.
func (c *compactor) news(compactionID parley.ID) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if run := c.running[compactionID]; run != nil {
		return run.done
	}
	return c.changed
}

// change wakes those who wait for news. The caller holds c.mu.
func (c *compactor) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}
