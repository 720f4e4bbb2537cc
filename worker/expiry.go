package worker

import (
	"context"
	"time"

	"example.org/parley"
)

// expiry is data that expires by age. The worker looks for it at intervals.
type expiry struct {
	every time.Duration // between looks; the first comes within first
	first time.Duration
	keep  time.Duration // the age at which it expires
	end   func(ctx context.Context,
		before parley.Time) (more bool, err error) // expires what is older than before, one transaction's worth
	failed string // logged when that fails
}

// versions expires old versions of messages.
func (w *Worker) versions() expiry {
	return expiry{
		every:  time.Hour,
		first:  time.Minute,
		keep:   w.options.KeepVersions,
		end:    w.store.ThinVersions,
		failed: "old versions of messages could not be deleted",
	}
}

// clients expires clients (windows, tabs) that died or lost their network without a goodbye, so that others no longer
// see them.
func (w *Worker) clients() expiry {
	const every = parley.ClientLease / 3
	return expiry{
		every:  every,
		first:  every,
		keep:   parley.ClientLease,
		end:    w.store.ExpireClients,
		failed: "clients that disappeared could not be ended",
	}
}

// expire looks for data that is too old, until Stop ends it.
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
		next.Reset(e.every + w.options.jitter(e.every/60)) // jittered, so that processes do not coincide
	}
}

// expireAll expires everything older than before, one transaction at a time.
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
