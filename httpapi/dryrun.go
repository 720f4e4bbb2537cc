package httpapi

import (
	"context"
	"net/http"
	"sync"
	"time"

	"parley"
	"parley/engine"
	"parley/live"
	"parley/runner"
)

// dryVerb is DryRunMessage or DryRunSession, but for who watches.
type dryVerb func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error)

// dryRunMessage answers a message of a session without writing anything.
func (a *api) dryRunMessage(x *exchange, id parley.ID, input engine.MessageInput, flush time.Duration) error {
	return a.dryRun(x, flush, func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error) {
		return a.engine.DryRunMessage(ctx, x.principal, id, input, watch)
	})
}

// dryRunSession does so for the first message of a session that is not made.
func (a *api) dryRunSession(x *exchange, input engine.SessionInput, flush time.Duration) error {
	return a.dryRun(x, flush, func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error) {
		return a.engine.DryRunSession(ctx, x.principal, input, watch)
	})
}

// dryHeader marks an answer of which nothing was written.
const dryHeader = "Parley-Dry-Run"

// dryRun runs a turn dry while the request lasts, and answers with its frames, or
// with what it would have written.
func (a *api) dryRun(x *exchange, flush time.Duration, run dryVerb) error {
	x.w.Header().Set(dryHeader, "true")
	if !wantsStream(x.r) {
		control := http.NewResponseController(x.w)
		_ = control.SetWriteDeadline(time.Time{}) // a turn may take longer than an answer
		ran, err := run(x.r.Context(), engine.DryWatch{})
		if err != nil {
			return err
		}
		return sendJSON(x, http.StatusOK, ran)
	}
	sink := &drySink{x: x}
	done, beats := make(chan struct{}), sync.WaitGroup{}
	beats.Go(func() { beatInto(done, &sink.mu, func() *stream { return sink.s }) }) // ends with the run
	_, err := run(x.r.Context(), engine.DryWatch{Flush: flush, Sink: sink})
	close(done)
	beats.Wait()
	switch {
	case sink.s == nil: // nothing was shown yet
		return err
	case err != nil && x.r.Context().Err() == nil:
		a.log.WarnContext(x.r.Context(), "a dry run broke off", "request_id", x.requestID.String(), "error", err)
	}
	sink.s.end()
	return nil
}

// drySink writes a dry run's frames. Its events have no id: no store has them.
type drySink struct {
	x *exchange

	mu sync.Mutex // guards s, which frames and heartbeats write to
	s  *stream    // nil before the first frame
}

func (d *drySink) Event(event parley.Event) error {
	event.Sequence = 0
	return d.write(&live.Frame{Kind: live.EventFrame, SessionID: event.SessionID, Event: event})
}

func (d *drySink) Delta(delta runner.DryDelta) error {
	return d.write(&live.Frame{Kind: live.DeltaFrame, Delta: live.Delta{
		MessageID: delta.MessageID, Kind: delta.Kind, Offset: delta.Offset, End: delta.End, Text: delta.Text, SessionID: delta.SessionID,
	}})
}

func (d *drySink) write(frame *live.Frame) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.s == nil {
		d.s = newStream(d.x.w)
	}
	d.s.buffer = appendFrame(d.s.buffer, frame)
	if d.s.flush() != nil {
		return errGone
	}
	return nil
}

func servePreview(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var input engine.MessageInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	preview, err := a.engine.Preview(x.r.Context(), x.principal, id, input)
	if err != nil {
		return err
	}
	return sendExact(x, preview)
}

func serveContext(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	shown, err := a.engine.Context(x.r.Context(), x.principal, id)
	if err != nil {
		return err
	}
	return sendExact(x, shown)
}
