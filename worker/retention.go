package worker

import (
	"context"
	"time"

	"parley"
)

// thinEvery is how often it is looked for what need not be kept any longer.
const thinEvery = time.Hour

// thinLoop deletes versions that are old enough, soon after the start and every
// hour, a transaction at a time. Stop ends it.
func (w *Worker) thinLoop() {
	next := time.NewTimer(w.options.jitter(thinEvery / 60))
	defer next.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-next.C:
		}
		w.thin(parley.TimeOf(w.options.now().Add(-w.options.KeepVersions)))
		next.Reset(thinEvery + w.options.jitter(thinEvery/60))
	}
}

// thin deletes all versions from before a time.
func (w *Worker) thin(before parley.Time) {
	for more := true; more; {
		var err error
		if more, err = w.store.ThinVersions(context.Background(), before); err != nil {
			w.log.Warn("old versions of messages could not be deleted", "error", err)
			return
		}
		select {
		case <-w.stopping:
			return
		default:
		}
	}
}
