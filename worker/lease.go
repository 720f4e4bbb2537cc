package worker

import (
	"context"
	"sync/atomic"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// renewals is how often a lease is renewed within its length.
const renewals = 3

// registerPause is the wait between attempts to register, after a lease was lost and no new one could be had.
const registerPause = time.Second

// lease is one registration of this process. The end of its context ends every run and every write under it. If it is
// renewed late, another lease with the same id and context takes its place: what was claimed under the first one counts
// as expired from then on, since a sweep may already have given some of it to others.
type lease struct {
	id    parley.ID
	ctx   context.Context //nolint:containedctx // it is the lease: its end ends everything under it
	end   context.CancelCauseFunc
	until time.Time    // by this machine's monotonic clock; only leaseLoop's goroutine uses it
	wall  atomic.Int64 // the same by the wall clock, in Unix milliseconds: it advances while a machine sleeps
}

func (l *lease) prolong(until time.Time) {
	l.until = until
	l.wall.Store(until.UnixMilli())
}

// expired reports whether the lease missed its renewal: another process may have taken over, or may be about to.
func (l *lease) expired() bool { return time.Now().UnixMilli() >= l.wall.Load() }

// register starts a lease and makes it the current one.
func (w *Worker) register(ctx context.Context) (*lease, error) {
	started := time.Now()
	fresh := &lease{id: parley.NewID()}
	fresh.prolong(started.Add(w.options.Lease))
	process := store.Process{ID: fresh.id, Name: w.options.ProcessName, Slots: w.options.Slots}
	if err := w.store.RegisterProcess(ctx, process, w.options.Lease); err != nil {
		return nil, err
	}
	fresh.ctx, fresh.end = context.WithCancelCause(context.Background())
	w.hold(fresh)
	return fresh, nil
}

// hold makes a lease the current one.
func (w *Worker) hold(current *lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lease = current
}

func (w *Worker) currentLease() *lease {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lease
}

// leaseLoop renews the process's lease, whatever else happens. When the lease is lost, it aborts all runs and registers
// the process again. Stop ends it, after the last run.
func (w *Worker) leaseLoop(held *lease) {
	ticker := time.NewTicker(w.options.Lease / renewals)
	defer ticker.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-ticker.C:
		}
		if renewed := w.renew(held); renewed != nil {
			held = renewed
			continue
		}
		w.hold(nil)
		held.end(ErrLeaseLost)
		w.observer.LeaseLost()
		w.log.Warn("the lease of this process was lost; its turns were aborted", "process_id", held.id)
		if held = w.registerAgain(); held == nil {
			return
		}
		poke(w.claimNow)
	}
}

// renew returns the lease under which this process continues; nil if it lost its own. A process that was stopped past
// its lease asks too: unless another one has finished taking over, it continues, under a new lease in place of the one
// that it renewed too late.
func (w *Worker) renew(held *lease) *lease {
	started := time.Now()
	ctx, stop := context.WithDeadline(context.Background(), started.Add(w.options.Lease/renewals))
	defer stop()
	cancels, err := w.store.RenewLease(ctx, held.id, w.options.Lease)
	switch {
	case err == nil:
		if held.expired() { // asked now: the process may have been stopped in the middle of the renewal
			held = &lease{id: held.id, ctx: held.ctx, end: held.end}
		}
		held.prolong(started.Add(w.options.Lease))
		w.hold(held)
		for _, turnID := range cancels {
			w.Cancel(turnID)
		}
		return held
	case parley.ErrorCode(err) == parley.CodeFenced:
		return nil
	}
	w.log.Warn("the lease of this process could not be renewed", "process_id", held.id, "error", err)
	if !time.Now().Before(held.until) {
		return nil
	}
	return held
}

// registerAgain gets a new lease; nil if the worker ends first.
func (w *Worker) registerAgain() *lease {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() { // ends with registerAgain
		select {
		case <-w.ended:
			stop()
		case <-ctx.Done():
		}
	}()
	for {
		fresh, err := w.register(ctx)
		if err == nil {
			return fresh
		}
		if !sleep(ctx, registerPause) {
			return nil
		}
		w.log.Warn("this process could not register", "error", err)
	}
}
