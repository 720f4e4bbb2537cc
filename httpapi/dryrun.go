package httpapi

import (
	"context"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/stream"
)

// dryVerb is DryRunMessage or DryRunSession without the watcher.
type dryVerb func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error)

// dryRunMessage answers a message of a session without writing anything.
func (a *api) dryRunMessage(x *exchange, id parley.ID, input engine.MessageInput, flush time.Duration) error {
	return a.dryRun(x, flush, func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error) {
		return a.engine.DryRunMessage(ctx, x.principal, id, input, watch)
	})
}

// dryOpenVerb is DryRunSession or DryRunEnsureSession.
type dryOpenVerb func(context.Context, parley.Principal, engine.SessionInput, engine.DryWatch) (engine.DryRun, error)

// dryRunSession answers the first message of a session without creating the session.
func (a *api) dryRunSession(x *exchange, open dryOpenVerb, input engine.SessionInput, flush time.Duration) error {
	return a.dryRun(x, flush, func(ctx context.Context, watch engine.DryWatch) (engine.DryRun, error) {
		return open(ctx, x.principal, input, watch)
	})
}

// dryHeader marks the answer of a dry run.
const dryHeader = "Parley-Dry-Run"

// dryRun runs a turn dry for as long as the request lasts, and answers with its frames, or with what it would have
// written.
func (a *api) dryRun(x *exchange, flush time.Duration, run dryVerb) error {
	a.endWithKey(x)
	x.w.Header().Set(dryHeader, "true")
	if !x.wantsStream() {
		control := http.NewResponseController(x.w)
		_ = control.SetWriteDeadline(time.Time{}) // a turn may take longer than an answer
		ran, err := run(x.r.Context(), engine.DryWatch{})
		if err != nil {
			return err
		}
		return sendJSON(x, http.StatusOK, ran)
	}
	pushed := stream.Push(func() *sse { return newSSE(x.w) })
	defer pushed.End() // whatever happens
	sink := stream.NewDrySink(func(frame *stream.Frame) error {
		return pushed.Write(func(s *sse) error { return s.send(frame) })
	})
	_, err := run(x.r.Context(), engine.DryWatch{Flush: flush, Sink: sink})
	s, begun := pushed.End()
	switch {
	case !begun: // no frame was sent yet
		return err
	case err != nil && x.r.Context().Err() == nil:
		a.log.WarnContext(x.r.Context(), "a dry run broke off", "request_id", x.requestID.String(), "error", err)
	}
	s.End()
	return nil
}

func servePreview(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	var input engine.PreviewInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	return sendPreview(x, func() (engine.Preview, error) {
		return a.engine.Preview(x.r.Context(), x.principal, id, input)
	})
}

func serveContext(a *api, x *exchange) error {
	id, err := a.session(x)
	if err != nil {
		return err
	}
	return sendPreview(x, func() (engine.Preview, error) {
		return a.engine.Context(x.r.Context(), x.principal, id)
	})
}

// sendPreview answers with a preview, as briefly as asked.
func sendPreview(x *exchange, show func() (engine.Preview, error)) error {
	args := x.arguments()
	brief := parley.ValueOf(args.flag("brief"))
	if args.err != nil {
		return args.err
	}
	shown, err := show()
	if err != nil {
		return err
	}
	if brief {
		shown = shown.Brief()
	}
	return sendExact(x, shown)
}
