package engine

import (
	"context"
	"time"
)

// pace runs one piece of work at a time, and rests after each for as long as it took. Imports use it: each one is a
// transaction of thousands of rows, and on SQLite every other writer waits for it.
type pace struct {
	running chan struct{} // holds an element while something runs
	rested  time.Time     // when the rest after the last piece ends; only the running piece uses it
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
