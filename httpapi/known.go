package httpapi

import (
	"context"
	"sync"
	"time"

	"example.org/parley/stream"
)

// whileKnown ends the request's context once its key or sign-in has ended, as leave ends streams: for requests that are
// no streams and may last long. outKnown ends this.
func (a *api) whileKnown(x *exchange) {
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
	go func() { // ends with outKnown
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

// outKnown ends what whileKnown began, and returns why the request is no longer let in; nil if it is.
func (x *exchange) outKnown() error {
	if x.known == nil {
		return nil
	}
	return x.known()
}
