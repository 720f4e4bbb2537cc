package worker

import (
	"context"
	"slices"
	"time"

	"parley"
)

const (
	claimPoll  = time.Second // how often the claimer looks without a hint
	claimBatch = 256         // sessions per claim at most
)

// claimLoop is the one claimer of the process. Stop ends it.
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

// claimOnce takes as many ready sessions as there are free slots, up to a
// batch, and reports whether there may be more.
func (w *Worker) claimOnce() bool {
	n, held := w.reserve(claimBatch)
	if n == 0 {
		return false
	}
	claims, err := w.store.Claim(held.ctx, held.id, n)
	if err != nil {
		if held.ctx.Err() == nil {
			w.log.Warn("ready sessions could not be claimed", "error", err)
		}
		claims = nil
	}
	w.giveBack(n-len(claims), len(claims) == n)
	for _, claim := range claims {
		w.start(held, claim)
	}
	return len(claims) == n
}

// reserve takes up to n free slots for claims of the current lease.
func (w *Worker) reserve(n int) (int, *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.draining || w.lease == nil {
		return 0, nil
	}
	n = min(n, w.free)
	w.free -= n
	if n == 0 {
		w.hungry = true
	}
	return n, w.lease
}

// giveBack returns slots that a claim did not need; hungry says that there may
// be more ready sessions than it got.
func (w *Worker) giveBack(n int, hungry bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hungry = hungry
	w.free += n
	w.noteIdle()
}

// noteIdle tells Stop when every slot is free. w.mu is held.
func (w *Worker) noteIdle() {
	if w.draining && w.free == w.options.Slots {
		select {
		case <-w.idle:
		default:
			close(w.idle)
		}
	}
}

// release gives a slot back. The claimer is woken when it wants slots, and when
// so many are taken that the shares of workspaces and background work may have
// kept it from claiming.
func (w *Worker) release() {
	w.mu.Lock()
	wake := w.hungry || (w.options.Slots-w.free)*2 > w.options.Slots
	w.free++
	w.noteIdle()
	w.mu.Unlock()
	if wake {
		poke(w.claimNow)
	}
}

// Offer implements parley.Runner.
func (w *Worker) Offer() (parley.Slot, bool) {
	n, held := w.reserve(1)
	if n == 0 {
		return nil, false
	}
	return &slot{w, held}, true
}

// slot implements parley.Slot.
type slot struct {
	w     *Worker
	lease *lease
}

func (s *slot) ProcessID() parley.ID { return s.lease.id }
func (s *slot) Release()             { s.w.release() }
func (s *slot) Run(claim parley.Claim) {
	s.w.observer.Claimed(1, true)
	s.w.start(s.lease, claim)
}

// start runs a claimed turn in a goroutine of its own, in a slot reserved
// before. A run of the same turn under an older claim lets go first.
func (w *Worker) start(held *lease, claim parley.Claim) {
	ctx, cancel := context.WithCancelCause(held.ctx)
	fresh := &run{claim: claim, lease: held, cancel: cancel, done: make(chan struct{})}
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
