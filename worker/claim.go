package worker

import (
	"context"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// claimPoll is how often the claimer looks without a hint.
const claimPoll = time.Second

// claimLoop is the process's only claimer. Stop ends it.
func (w *Worker) claimLoop() {
	ticker := time.NewTicker(claimPoll)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.claimNow:
		case <-ticker.C:
		}
		for w.claimOnce() {
		}
	}
}

// claimOnce claims ready sessions for free slots, up to one batch, and reports whether there may be more.
func (w *Worker) claimOnce() bool {
	n, occupancy, held := w.reserve()
	if n == 0 {
		return false
	}
	claims, err := w.store.Claim(held.ctx, held.id, n, occupancy)
	if err != nil {
		if held.ctx.Err() == nil {
			w.log.Warn("ready sessions could not be claimed", "error", err)
		}
		claims = nil
	}
	more := len(claims) == n
	w.claimed(n, claims, more)
	for _, claim := range claims {
		w.start(held, claim)
	}
	return more
}

// reserve takes free slots for a claim under the current lease. It also reports who holds the others.
func (w *Worker) reserve() (int, store.Occupancy, *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining || w.lease == nil {
		return 0, store.Occupancy{}, nil
	}
	n := min(store.MaxClaims, w.places.Free())
	if n == 0 {
		w.behind = true
		return 0, store.Occupancy{}, nil
	}
	w.behind, w.claiming = false, true
	occupancy := w.places.Clone()
	w.places.Taken += n
	return n, occupancy, w.lease
}

// claimed turns n reserved slots into slots of the claims, and gives the rest back.
func (w *Worker) claimed(n int, claims []store.Claim, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.behind, w.claiming = w.behind || more, false
	w.places.Taken -= n
	for i := range claims {
		w.places.Take(claims[i].Fence.WorkspaceID, claims[i].Mode())
	}
	w.noteIdle()
}

// noteIdle tells Stop when every slot is free. The caller holds w.mu.
func (w *Worker) noteIdle() {
	if w.draining && w.places.Taken == 0 {
		select {
		case <-w.idle:
		default:
			close(w.idle)
		}
	}
}

// release gives a slot back; that of no workspace is a promised one. If sessions may be waiting (no slot was free, or
// only slots kept for others, or background work has its share, or the claim that runs now counts with it), the claimer
// looks first: they are older than the next post.
func (w *Worker) release(workspaceID parley.ID, mode parley.Mode) {
	w.mu.Lock()
	if w.places.Taken >= w.places.Slots ||
		mode == parley.ModeBackground && (w.claiming || w.places.BackgroundFull()) {
		w.behind = true
	}
	if workspaceID.IsZero() {
		w.places.Withdraw()
	} else {
		w.places.Leave(workspaceID, mode)
	}
	wake := w.behind
	w.noteIdle()
	w.mu.Unlock()
	if wake {
		poke(w.claimNow)
	}
}

// Offer implements runner.Worker.
func (w *Worker) Offer(workspaceID parley.ID) (runner.Slot, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining || w.lease == nil || w.behind || !w.places.Admits(workspaceID, parley.ModeForeground) {
		return nil, false
	}
	w.places.Take(workspaceID, parley.ModeForeground)
	return &slot{w, w.lease, workspaceID}, true
}

// backgroundPlace reserves a place for a background turn of any workspace, under the lease that it returns; nil if work
// of others may come first, which the claimer knows: it is claiming, sessions may be waiting, background work has its
// share, or the place would be the last.
func (w *Worker) backgroundPlace() *lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining || w.lease == nil || w.behind || w.claiming || len(w.claimNow) > 0 ||
		w.places.BackgroundFull() || w.places.Taken+1 >= w.places.Slots {
		return nil
	}
	w.places.Promise()
	return w.lease
}

// settlePlace runs a claim in a reserved place, or gives that back if there is none.
func (w *Worker) settlePlace(held *lease, claim *store.Claim) {
	if claim == nil {
		w.release(parley.ID{}, parley.ModeBackground)
		return
	}
	w.mu.Lock()
	w.places.Withdraw()
	w.places.Take(claim.Fence.WorkspaceID, claim.Mode())
	w.mu.Unlock()
	w.observer.Claimed(1, true)
	w.start(held, *claim)
}

// slot implements runner.Slot.
type slot struct {
	w           *Worker
	lease       *lease
	workspaceID parley.ID
}

func (s *slot) ProcessID() parley.ID { return s.lease.id }
func (s *slot) Release()             { s.w.release(s.workspaceID, parley.ModeForeground) }
func (s *slot) Run(claim store.Claim) {
	s.w.observer.Claimed(1, true)
	s.w.start(s.lease, claim)
}

// start runs a claimed turn in a goroutine of its own, in a slot reserved before. A run of the same turn under an older
// claim must end first.
func (w *Worker) start(held *lease, claim store.Claim) {
	ctx, cancel := context.WithCancelCause(held.ctx)
	fresh := &run{claim: lightened(claim), lease: held, cancel: cancel, done: make(chan struct{})}
	w.mu.Lock()
	older := w.runs[claim.Fence.TurnID]
	w.runs[claim.Fence.TurnID] = fresh
	switch {
	case w.aborted != nil:
		cancel(w.aborted)
	case slices.Contains(w.early[:], claim.Fence.TurnID):
		cancel(ErrCancelled)
	}
	w.mu.Unlock()
	go w.run(ctx, fresh, older) // ends with the turn, its cancel, or Stop
}
