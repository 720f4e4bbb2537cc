package worker

import (
	"context"
	"time"

	"example.org/parley"
)

// expiry is something that ends by its age: it is looked for again and again.
type expiry struct {
	every time.Duration // between looks; the first comes within first
	first time.Duration
	keep  time.Duration // how old it may grow
	end   func(ctx context.Context,
		before parley.Time) (more bool, err error) // ends what is from before a time, as much as one transaction takes
	failed string // what is logged when that fails
}

// versions of messages need not be kept for ever.
func (w *Worker) versions() expiry {
	return expiry{
		every:  time.Hour,
		first:  time.Minute,
		keep:   w.options.KeepVersions,
		end:    w.store.ThinVersions,
		failed: "old versions of messages could not be deleted",
	}
}

// clients (windows, tabs) that died or lost their network do not say so: the others
// see them go all the same.
func (w *Worker) clients() expiry {
	const every = parley.ClientLease / 3
	return expiry{
		every:  every,
		first:  every,
		keep:   parley.ClientLease,
		end:    w.store.ExpireClients,
		failed: "clients that went without a word could not be ended",
	}
}

// expire looks for what has grown too old, until Stop ends it.
func (w *Worker) expire(e expiry) {
	next := time.NewTimer(w.options.jitter(e.first))
	defer next.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-next.C:
		}
		w.expireAll(e, parley.TimeOf(w.options.now().Add(-e.keep)))
		next.Reset(e.every + w.options.jitter(e.every/60)) // apart from the other processes'
	}
}

// expireAll ends all that is from before a time, a transaction at a time.
func (w *Worker) expireAll(e expiry, before parley.Time) {
	for more := true; more; {
		var err error
		if more, err = e.end(context.Background(), before); err != nil {
			w.log.Warn(e.failed, "error", err)
			return
		}
		select {
		case <-w.stopping:
			return
		default:
		}
	}
}
