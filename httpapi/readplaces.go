package httpapi

import (
	"net/http"

	"example.org/parley/internal/inflight"
)

// How many requests of a principal run at once; the next ones wait for them. A database answers few reads at a time,
// and SQLite writes one change at a time, in the order in which they come: whoever sends hundreds of requests about
// messages of 16 MiB must not stand before everybody else. Changes that read much while they hold SQLite's writer run
// one at a time.
const (
	readsOfOne   = 8
	changesOfOne = 32
	// Hundreds of requests may wait for one turn, and all of them read it when it ends.
	answersOfOne = 2
)

// placesOf returns the places among which a request waits; nil if it does not wait. Streams and files last as long as
// their reader takes, and have bounds of their own. New messages are short, and their commits are shared.
func (a *api) placesOf(r *route, x *exchange) *inflight.Places {
	switch {
	case r.open || r.lasting || r.lingers || r.uploads || r.crowds || r.streams(x):
		return nil
	case r.alone:
		return a.writes
	case r.method == http.MethodGet:
		return a.reads
	}
	return a.changes
}

// leavePlace lets the principal's next request run.
func (x *exchange) leavePlace() {
	if x.leave != nil {
		x.leave()
	}
}
