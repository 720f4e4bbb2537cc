package stream

import (
	"context"
	"errors"
	"time"
)

// ErrGone is returned by a Writer whose reader accepts no more.
var ErrGone = errors.New("stream: the reader is gone")

// ownError is an error of a writer's own.
type ownError struct{ error }

func (e ownError) Unwrap() error { return e.error }

// Own marks an error that a Writer met with a frame that it had taken. Its Write is not repeated, unlike one that only
// ran out of time: the frame would be lost.
func Own(err error) error {
	if err == nil {
		return nil
	}
	return ownError{err}
}

// CatchUpTime is how long the beginning of a stream may be written on another goroutine. After that, the stream's own
// goroutine continues.
const CatchUpTime = 100 * time.Millisecond

// Writer writes frames to one reader, in the reader's format. One goroutine at a time calls its methods.
type Writer interface {
	// Write writes the frames of a stream until the stream ends (nil), Next fails (its error), the reader is gone
	// (ErrGone), or the writer itself fails (Own). Everything written has been sent whenever nothing is Buffered. ctx
	// ends often, and Write is then called again: what a frame needs must not depend on it.
	Write(ctx context.Context, from *Stream) error
	// Beat sends a heartbeat; any error means that the reader is gone.
	Beat() error
}

// Leave says whether a reader may continue to read.
type Leave interface {
	// Holds is called when a relay begins, with each heartbeat, and after each change.
	Holds() bool
	// Watch calls changed whenever the answer may have changed, until over is called.
	Watch(changed func()) (over func())
}

// Relay lets w write the stream until it ends, the reader or ctx is gone, or leave no longer holds. An error means that
// it broke off for another reason: the reader may open another stream where it stopped.
func (s *Stream) Relay(ctx context.Context, w Writer, leave Leave) error {
	for {
		on, err := s.untilBeat(ctx, w, leave)
		if !on {
			return err
		}
		if w.Beat() != nil {
			return nil //nolint:nilerr // the reader is gone
		}
	}
}

// CatchUpAndRelay is Relay for a reader that mostly waits: CatchUp comes first.
func (s *Stream) CatchUpAndRelay(ctx context.Context, w Writer, leave Leave) error {
	if on, err := s.CatchUp(ctx, w); !on {
		return err
	}
	return s.Relay(ctx, w, leave)
}

// CatchUp lets w write the frames that already exist, on another goroutine: reading the store needs a deep stack, which
// the stream's goroutine would keep while it idles. It returns false if nothing is left to relay.
func (s *Stream) CatchUp(ctx context.Context, w Writer) (on bool, err error) {
	timed, stop := context.WithTimeout(ctx, CatchUpTime)
	defer stop()
	Aside(func() { on, err = goesOn(ctx, timed, w.Write(timed, s)) })
	return on, err
}

// untilBeat relays until a heartbeat is due, or leave may have changed.
func (s *Stream) untilBeat(ctx context.Context, w Writer, leave Leave) (on bool, err error) {
	timed, stop := context.WithTimeout(ctx, Heartbeat)
	defer stop()
	defer leave.Watch(stop)()
	Aside(func() { on = leave.Holds() }) // may read the store
	if !on {
		return false, nil
	}
	return goesOn(ctx, timed, w.Write(timed, s))
}

// goesOn interprets the end of a Write: the stream continues if only timed ended it, perhaps in the middle of a read,
// which is repeated.
func goesOn(ctx, timed context.Context, err error) (on bool, broken error) {
	var own ownError
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, ErrGone):
		return false, nil //nolint:nilerr // nobody watches any more
	case errors.As(err, &own):
		return false, own.error
	case timed.Err() != nil:
		return true, nil //nolint:nilerr // the read is repeated
	}
	return false, err
}

// Aside runs work on another goroutine and waits for it, so that a long-lived goroutine does not keep a deep stack. A
// panic is passed on to the caller.
func Aside(work func()) {
	failed := make(chan any, 1)
	go func() {
		defer func() { failed <- recover() }()
		work()
	}()
	if cause := <-failed; cause != nil {
		panic(cause)
	}
}
