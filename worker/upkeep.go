package worker

import (
	"context"
	"time"
)

// outboxPoll is how often the outbox is looked at without a hint.
const outboxPoll = 2 * time.Second

// sweepLoop takes over what dead processes left. After a sleep of the machine
// the renewal of the own lease goes first, or the sweep would take over what
// this process still runs. Stop ends it.
func (w *Worker) sweepLoop() {
	ticker := time.NewTicker(w.options.Lease / 2)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-ticker.C:
		}
		if held := w.currentLease(); held != nil && held.expired() {
			continue
		}
		ctx, stop := context.WithTimeout(context.Background(), w.options.Lease)
		touched, err := w.store.Sweep(ctx)
		stop()
		if err != nil {
			w.log.Warn("the sweep failed", "error", err)
		}
		if touched > 0 {
			poke(w.claimNow)
		}
	}
}

// outboxLoop applies what transactions left to be done elsewhere. Stop ends it.
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
			select {
			case <-w.stopping:
				return
			default:
			}
		}
	}
}
