package worker

import (
	"context"
	"slices"
	"time"

	"example.org/parley/store"
)

// How the outbox is worked at.
const (
	outboxPoll  = 2 * time.Second // between looks without a hint
	outboxHands = 4               // errands that a process works at at once: a long one keeps no other waiting
)

// When leases are looked at, and what runs out is swept.
const (
	sweepLook   = time.Second            // between looks at most
	sweepRest   = 50 * time.Millisecond  // and at least, while this process's own lease waits to be renewed
	sweepSpread = 200 * time.Millisecond // of the looks of several processes at one lease that has ended
)

// sweepLoop takes over what dead processes left, soon after their lease has
// ended: it rests until then. Twice in a lease it sweeps in any case, for what
// nobody sees, and gives back what this process holds and does not run. swept is
// when Start did so; zero when it failed. Stop ends it.
func (w *Worker) sweepLoop(swept time.Time) {
	var suspects []store.Fence
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-look.C:
		}
		left := w.untilExpiry()
		due := time.Since(swept) >= w.options.Lease/2
		if left <= 0 || due {
			if w.sweep() {
				swept = time.Now()
			}
			left = w.untilExpiry()
		}
		if due {
			suspects = w.giveBackLost(suspects)
		}
		look.Reset(min(max(left, sweepRest), sweepLook) + w.options.jitter(min(sweepSpread, w.options.Lease/10)))
	}
}

// untilExpiry is when the next lease runs out, as far as the store tells.
func (w *Worker) untilExpiry() time.Duration {
	ctx, stop := context.WithTimeout(context.Background(), w.options.Lease)
	defer stop()
	left, err := w.store.NextExpiry(ctx)
	if err != nil {
		w.log.Warn("the leases of the processes could not be read", "error", err)
		return sweepLook
	}
	return left
}

// sweep takes over what nobody runs any more. After a stop of this process or a
// sleep of the machine the renewal of its own lease goes first, or it would take
// over what it still runs; false then, and when the store fails.
func (w *Worker) sweep() bool {
	if held := w.currentLease(); held != nil && held.expired() {
		return false
	}
	ctx, stop := context.WithTimeout(context.Background(), w.options.Lease)
	defer stop()
	touched, err := w.store.Sweep(ctx)
	if err != nil {
		w.log.Warn("the sweep failed", "error", err)
	}
	if touched > 0 {
		w.log.Info("turns that nobody ran any more were taken up", "sessions", touched)
		poke(w.claimNow)
	}
	return err == nil
}

// giveBackLost releases the claims that this process holds by the store's word
// and that nothing here runs: their answer was lost on its way. Only those do
// that were so half a lease ago (suspects), when an answer may have been under
// way. It returns those that are so now.
func (w *Worker) giveBackLost(suspects []store.Fence) []store.Fence {
	current := w.currentLease()
	if current == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(current.ctx, w.options.Lease)
	defer stop()
	held, err := w.store.HeldTurns(ctx, current.id)
	if err != nil {
		if ctx.Err() == nil {
			w.log.Warn("the claims of this process could not be read", "error", err)
		}
		return suspects
	}
	lost := w.notRunning(held)
	for _, fence := range lost {
		if !slices.Contains(suspects, fence) {
			continue
		}
		err := w.store.ReleaseTurn(ctx, fence)
		w.logOf(fence).Warn("a turn was claimed for this process and never reached it; it was given back", "error", err)
	}
	return lost
}

// notRunning are the claims without a run here.
func (w *Worker) notRunning(held []store.Fence) []store.Fence {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(held, func(fence store.Fence) bool {
		running := w.runs[fence.TurnID]
		return running != nil && running.claim.Fence.Epoch == fence.Epoch
	})
}

// outboxLoop applies what transactions left to be done elsewhere. Several run at
// once; one that finds more wakes another. Stop ends them.
func (w *Worker) outboxLoop() {
	ticker := time.NewTicker(outboxPoll)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.outboxNow:
		case <-ticker.C:
		}
		for more := true; more; {
			var err error
			if more, err = w.store.ApplyOutbox(context.Background()); err != nil {
				w.log.Warn("the outbox could not be applied", "error", err)
				break
			}
			if more {
				poke(w.outboxNow)
			}
			select {
			case <-w.stopping:
				return
			default:
			}
		}
	}
}
