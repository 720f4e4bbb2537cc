package httpapi

import (
	"context"
	"sync"

	"example.org/parley"
)

// readsOfOne is how many reads of a principal run at once; the next ones wait for them. A database answers few reads at
// a time, in the order in which they come: whoever sends hundreds of long ones must not stand before everybody else.
const readsOfOne = 8

// places lets so many requests of each principal run at once.
type places struct {
	mu sync.Mutex // guards the lines
	of map[parley.ID]*placeLine
}

// placeLine is the line of a principal's requests.
type placeLine struct {
	running chan struct{} // holds one element for each request that runs
	all     int           // requests that run or wait
}

func newPlaces() *places { return &places{of: map[parley.ID]*placeLine{}} }

// enter waits for a place, and leave gives it back. The error is the context's, which ends with the client.
func (p *places) enter(ctx context.Context, id parley.ID) (leave func(), err error) {
	p.mu.Lock()
	line := p.of[id]
	if line == nil {
		line = &placeLine{running: make(chan struct{}, readsOfOne)}
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

// takesPlace reports whether a request waits for a place among the reads of its principal. Streams and files do not:
// they last as long as their reader takes, and have bounds of their own.
func (r *route) takesPlace(x *exchange) bool {
	return r.method == "GET" && !r.open && !r.lasting && !r.lingers && !x.wantsStream()
}

// leavePlace lets the principal's next read run.
func (x *exchange) leavePlace() {
	if x.leave != nil {
		x.leave()
	}
}
