package stream

import (
	"context"
	"errors"
	"time"
)

// ErrGone is what a Writer gives when its reader takes no more.
var ErrGone = errors.New("stream: the reader is gone")

// CatchUpTime is how long the beginning of a stream is written aside. What takes
// longer goes on in the stream's own goroutine.
const CatchUpTime = 100 * time.Millisecond

// Writer writes frames to one reader, in the form that it understands. Its methods
// are called by one goroutine at a time.
type Writer interface {
	// Write writes the frames of a stream until the stream ends (nil), Next fails
	// (its error), or the reader is gone (ErrGone). What was written has been sent
	// whenever nothing is Buffered.
	Write(ctx context.Context, from *Stream) error
	// Beat sends a sign of life; any error says that the reader is gone.
	Beat() error
}

// Leave says whether a reader may go on reading.
type Leave interface {
	// Holds is asked when a relay begins, with each heartbeat, and after each change.
	Holds() bool
	// Watch has changed called whenever the answer may be another one, until over is
	// called.
	Watch(changed func()) (over func())
}

// Relay has w write the stream until it ends, the reader or ctx is gone, or leave
// does not hold any more. An error says that it broke off for another reason: the
// reader may open another stream where it was.
func (s *Stream) Relay(ctx context.Context, w Writer, leave Leave) error {
	for {
		on, err := s.untilBeat(ctx, w, leave)
		if !on {
			return err
		}
		if w.Beat() != nil {
			return nil //nolint:nilerr // who watched is gone
		}
	}
}

// CatchUp has w write what is there already, on another goroutine: reading the store
// takes a deep stack, which the stream's goroutine would keep for as long as it
// idles. False when there is nothing to relay behind it.
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
	Aside(func() { on = leave.Holds() }) // which may read the store
	if !on {
		return false, nil
	}
	return goesOn(ctx, timed, w.Write(timed, s))
}

// goesOn tells what the end of a Write means: the stream goes on if timed alone has
// ended it, perhaps in the middle of a read, which is done again.
func goesOn(ctx, timed context.Context, err error) (on bool, broken error) {
	switch {
	case err == nil || ctx.Err() != nil || errors.Is(err, ErrGone):
		return false, nil //nolint:nilerr // nobody watches any more
	case timed.Err() != nil:
		return true, nil //nolint:nilerr // the read is done again
	}
	return false, err
}

// Aside runs work on another goroutine, which ends with it, and waits: so a deep
// stack is not kept by a goroutine that lasts. A panic is the caller's.
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
