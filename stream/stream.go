package stream

import (
	"context"
	"errors"
	"io"
	"iter"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/live"
)

// Stream is what one reader sees. One goroutine at a time calls its methods.
type Stream struct {
	watcher *live.Watcher
	until   parley.ID
	objects objects
	patch   *event.ObjectPatch // to be shown next; nil for none
	of      parley.ID          // its session
}

// ErrUnfinished is returned by Frames if a stream ends before its turn.
var ErrUnfinished = errors.New("stream: it ended before the turn; the session was deleted or the process stops")

// Next waits for the next frame. It returns io.EOF at the end of the stream. Any other error is ctx's or the store's;
// Next may be called again. A delta by which an object grows is followed by its patch.
func (s *Stream) Next(ctx context.Context) (frame Frame, err error) {
	err = s.Take(ctx, &frame)
	return frame, err
}

// Take is Next without a frame on the stack, for readers that mostly wait. *to must be zero.
func (s *Stream) Take(ctx context.Context, to *Frame) error {
	if s.patch != nil {
		to.Kind, to.SessionID, to.Patch = live.PatchFrame, s.of, s.patch
		s.patch = nil
		return nil
	}
	err := s.watcher.Take(ctx, to)
	if err == nil && (to.Kind == live.DeltaFrame || to.Kind == live.EventFrame) {
		s.patch, s.of = s.objects.after(to), to.SessionID
	}
	return err
}

// Buffered reports whether Next would return immediately, so that a writer need not send yet.
func (s *Stream) Buffered() bool { return s.patch != nil || s.watcher.Buffered() }

// Close ends the stream.
func (s *Stream) Close() { s.watcher.Close() }

// Frames yields the frames up to the stream's end. The sequence ends after the first error: ErrUnfinished if the
// requested turn had not ended.
func (s *Stream) Frames(ctx context.Context) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		for ended := s.until.IsZero(); ; {
			frame, err := s.Next(ctx)
			if errors.Is(err, io.EOF) {
				if !ended {
					yield(Frame{}, ErrUnfinished)
				}
				return
			}
			ended = ended || frame.Kind == live.EventFrame && frame.Event.Type.EndsTurn()
			if !yield(frame, err) || err != nil {
				return
			}
		}
	}
}
