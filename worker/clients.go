package worker

import (
	"context"
	"time"

	"parley"
)

// clientsEvery is how often it is looked for clients that went without a word.
const clientsEvery = parley.ClientLease / 3

// clientLoop ends the presence of clients (windows, tabs) that died or lost their
// network: the others see them go. Stop ends it.
func (w *Worker) clientLoop() {
	next := time.NewTimer(w.options.jitter(clientsEvery))
	defer next.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-next.C:
		}
		w.expireClients(parley.TimeOf(w.options.now().Add(-parley.ClientLease)))
		next.Reset(clientsEvery)
	}
}

// expireClients forgets all clients that last spoke before a time.
func (w *Worker) expireClients(before parley.Time) {
	for more := true; more; {
		var err error
		if more, err = w.store.ExpireClients(context.Background(), before); err != nil {
			w.log.Warn("clients that went without a word could not be ended", "error", err)
			return
		}
		select {
		case <-w.stopping:
			return
		default:
		}
	}
}
