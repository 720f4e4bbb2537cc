package inflight

import (
	"context"
	"sync"

	"example.org/parley"
)

// Places lets so many pieces of work of each owner, such as a principal or a workspace, run at once; the next ones
// wait.
type Places struct {
	most int

	mu sync.Mutex // guards the lines
	of map[parley.ID]*line
}

// line is an owner's work.
type line struct {
	running chan struct{} // holds one element for each piece that runs
	all     int           // pieces that run or wait
}

// NewPlaces lets most pieces of work of an owner run at once.
func NewPlaces(most int) *Places { return &Places{most: most, of: map[parley.ID]*line{}} }

// Enter waits for a place, and leave gives it back. The error is the context's.
func (p *Places) Enter(ctx context.Context, id parley.ID) (leave func(), err error) {
	p.mu.Lock()
	l := p.of[id]
	if l == nil {
		l = &line{running: make(chan struct{}, p.most)}
		p.of[id] = l
	}
	l.all++
	p.mu.Unlock()
	select {
	case l.running <- struct{}{}:
		return sync.OnceFunc(func() {
			<-l.running
			p.forget(id, l)
		}), nil
	case <-ctx.Done():
		p.forget(id, l)
		return nil, context.Cause(ctx)
	}
}

// forget drops the line that the last piece has left.
func (p *Places) forget(id parley.ID, l *line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.all--; l.all == 0 {
		delete(p.of, id)
	}
}
