package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"example.org/parley/stream"
)

// The bounds of writing a stream.
const (
	WriteTimeout = 30 * time.Second // of one write: a reader that reads nothing for this long is cut off

	keepBuffer = 4 << 10  // bytes of frames that an idle watcher keeps
	FullBuffer = 32 << 10 // bytes of frames to write at once
)

// Frames writes server-sent events to one client. One goroutine at a time uses it.
type Frames struct {
	Buffer []byte // what the next Flush sends

	w       http.ResponseWriter
	control *http.ResponseController
	cutAt   time.Time // the connection's write deadline
}

// NewFrames answers 200 with headers that keep proxies from delaying, compressing or caching the stream.
func NewFrames(w http.ResponseWriter) *Frames {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Frames{w: w, control: http.NewResponseController(w)}
}

// Flush sends the buffer. The deadline rolls: it is at least half of WriteTimeout ahead of every write.
func (f *Frames) Flush() error {
	if now := time.Now(); f.cutAt.Sub(now) < WriteTimeout/2 {
		f.cutAt = now.Add(WriteTimeout)
		if err := f.control.SetWriteDeadline(f.cutAt); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	if len(f.Buffer) > 0 {
		if _, err := f.w.Write(f.Buffer); err != nil {
			return err
		}
		if f.Buffer = f.Buffer[:0]; cap(f.Buffer) > keepBuffer {
			f.Buffer = nil
		}
	}
	return f.control.Flush()
}

// Pass passes a stream's frames to take until take says that the answer is over, or the stream ends. It sends what take
// has added to the buffer when no more is at hand. f may be nil: then nothing is sent.
func (f *Frames) Pass(
	ctx context.Context, from *stream.Stream, take func(frame *stream.Frame) (over bool, err error),
) error {
	if f != nil && len(f.Buffer) == 0 {
		f.Buffer = nil // an idle stream keeps none
	}
	frame := new(stream.Frame) // not on the stack, which it would double
	for {
		if f != nil && len(f.Buffer) > 0 && (len(f.Buffer) >= FullBuffer || !from.Buffered()) {
			if f.Flush() != nil {
				return stream.ErrGone
			}
		}
		*frame = stream.Frame{}
		err := from.Take(ctx, frame)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if over, err := take(frame); err != nil || over {
			return stream.Own(err)
		}
	}
}

// Beat sends a comment, which keeps proxies from cutting an idle stream. f may be nil.
func (f *Frames) Beat() error {
	if f == nil {
		return nil
	}
	f.Buffer = append(f.Buffer, ": still here\n\n"...)
	return f.Flush()
}

// End leaves the connection usable for the next request.
func (f *Frames) End() { _ = f.control.SetWriteDeadline(time.Time{}) }
