package worker

import (
	"context"
	"slices"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// How the outbox is applied.
const (
	outboxPoll  = 2 * time.Second // between looks without a hint
	outboxLoops = 4               // errands that a process applies at once: a long one does not hold up the others
)

// When leases are checked and expired ones are swept.
const (
	sweepLook   = time.Second            // longest wait between looks
	sweepRest   = 50 * time.Millisecond  // shortest, while this process's own lease waits for renewal
	sweepSpread = 200 * time.Millisecond // spreads the looks of several processes at one ended lease
)

// sweepLoop takes over from dead processes soon after their lease has ended: it rests until then. Twice per lease it
// sweeps in any case, for what no hint told of, and gives back claims that this process holds but does not run. swept
// is the time of Start's sweep; zero if that failed. Stop ends the loop.
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

// untilExpiry returns the time until the next lease expires, as far as the store knows.
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

// sweep takes over turns that nobody runs any more. After a stop of this process or a sleep of the machine it first
// renews its own lease, or it would take over what it still runs; it returns false if that or the store fails.
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
		w.log.Info("turns that nobody ran any more were taken over", "sessions", touched)
		poke(w.claimNow)
	}
	return err == nil
}

// giveBackLost releases claims that this process holds by the store's account but does not run: their answer was lost
// on the way. It releases only those that were already so half a lease ago (suspects), when an answer may still have
// been under way, and returns those that are so now.
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
		w.logOf(fence).Warn("a turn was claimed for this process but never reached it; it was given back", "error", err)
	}
	return lost
}

// notRunning returns the claims without a run here.
func (w *Worker) notRunning(held []store.Fence) []store.Fence {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(held, func(fence store.Fence) bool {
		running := w.runs[fence.TurnID]
		return running != nil && running.claim.Fence.Epoch == fence.Epoch
	})
}

// applyOnce does a part of an errand, and reports whether there is more to do: one that fails holds up no others. A
// turn that it starts runs here at once if there is a place for it.
func (w *Worker) applyOnce() (more bool) {
	place := w.backgroundPlace()
	var claimBy parley.ID
	if place != nil {
		claimBy = place.id
	}
	claim, more, err := w.store.ApplyOutbox(context.Background(), claimBy)
	if err != nil {
		w.log.Warn("the outbox could not be applied", "error", err)
	}
	if place != nil {
		w.settlePlace(place, claim)
	}
	return more
}

// outboxLoop applies errands that transactions left for other sessions. Several loops run; one that finds more wakes
// another. Stop ends them.
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
			if more = w.applyOnce(); more {
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
