package httpapi

import (
	"context"
	"net/http"
	"sync"

	"example.org/parley"
)

// How many requests of a principal run at once; the next ones wait for them. A database answers few reads at a time,
// and SQLite writes one change at a time, in the order in which they come: whoever sends hundreds of requests about
// messages of 16 MiB must not stand before everybody else.
const (
	readsOfOne   = 8
	changesOfOne = 32
)

// places lets so many requests of each principal run at once.
type places struct {
	most int

	mu sync.Mutex // guards the lines
	of map[parley.ID]*placeLine
}

// placeLine is the line of a principal's requests.
type placeLine struct {
	running chan struct{} // holds one element for each request that runs
	all     int           // requests that run or wait
}

func newPlaces(most int) *places { return &places{most: most, of: map[parley.ID]*placeLine{}} }

// enter waits for a place, and leave gives it back. The error is the context's, which ends with the client.
func (p *places) enter(ctx context.Context, id parley.ID) (leave func(), err error) {
	p.mu.Lock()
	line := p.of[id]
	if line == nil {
		line = &placeLine{running: make(chan struct{}, p.most)}
		p.of[id] = line
	}
	line.all++
	p.mu.Unlock()
	select {
	case line.running <- struct{}{}:
		return sync.OnceFunc(func() {
			<-line.running
			p.forget(id, line)
		}), nil
	case <-ctx.Done():
		p.forget(id, line)
		return nil, context.Cause(ctx)
	}
}

// forget drops the line that the last request has left.
func (p *places) forget(id parley.ID, line *placeLine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line.all--; line.all == 0 {
		delete(p.of, id)
	}
}

// placesOf returns the places among which a request waits; nil if it does not wait. Streams and files last as long as
// their reader takes, and have bounds of their own. New messages are short, and their commits are shared.
func (a *api) placesOf(r *route, x *exchange) *places {
	switch {
	case r.open || r.lasting || r.lingers || r.uploads || r.crowds || r.streams(x):
		return nil
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
