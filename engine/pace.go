package engine

import (
	"context"
	"time"
)

// pace lets work run one at a time, and rests after each piece for as long as that took. Imports have one: each is a
// transaction of thousands of rows, for which everybody who writes to SQLite waits.
type pace struct {
	running chan struct{} // holds an element while something runs
	rested  time.Time     // until when the last piece is rested from; whoever runs may use it
}

func newPace() *pace { return &pace{running: make(chan struct{}, 1)} }

// run waits until work may run, and runs it. The error is the work's or the context's. Work that panics ends like any
// other.
func (p *pace) run(ctx context.Context, work func() error) error {
	select {
	case p.running <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.running }()
	if rest := time.Until(p.rested); rest > 0 {
		timer := time.NewTimer(rest)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	begun := time.Now()
	defer func() { p.rested = time.Now().Add(time.Since(begun)) }()
	return work()
}
