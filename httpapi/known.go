package httpapi

import (
	"context"
	"sync"
	"time"

	"example.org/parley/stream"
)

// endWithKey cancels the request's context when its key or sign-in ends. Requests that may last long and are not
// streams need it; streams check by themselves. leaveKey stops the watch.
func (a *api) endWithKey(x *exchange) {
	if x.known != nil {
		return
	}
	known := *x // with the context that lasts
	ctx, stop := context.WithCancelCause(x.r.Context())
	x.r = x.r.WithContext(ctx)
	changed := make(chan struct{}, 1)
	unwatch := a.gate.watched(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	done := make(chan error, 1)
	go func() { // ends with leaveKey
		beat := time.NewTicker(stream.Heartbeat)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-changed:
			case <-beat.C:
			}
			if !a.gate.stillKnows(&known) {
				err := errUnknownKey()
				stop(err)
				done <- err
				return
			}
		}
	}()
	x.known = sync.OnceValue(func() error {
		unwatch()
		stop(nil)
		return <-done
	})
}

// leaveKey stops the watch that endWithKey began. It returns the error that ended the request; nil if its key is still
// good.
func (x *exchange) leaveKey() error {
	if x.known == nil {
		return nil
	}
	return x.known()
}
