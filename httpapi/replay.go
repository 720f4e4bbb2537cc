package httpapi

import (
	"encoding/json"
	"net/http"
	"time"

	"example.org/parley/engine"
	"example.org/parley/stream"
)

// serveReplay sends a recorded request to a model again for as long as the HTTP request lasts, and answers with the
// result, or with frames as it arrives.
func serveReplay(a *api, x *exchange) error {
	id, err := x.pathID("call")
	if err != nil {
		return err
	}
	var input engine.ReplayInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	a.endWithKey(x)
	if !x.wantsStream() {
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{}) // a model may take longer than an answer
		result, err := a.engine.Replay(x.r.Context(), x.principal, id, input, nil)
		if err != nil {
			return err
		}
		return sendJSON(x, http.StatusCreated, result)
	}
	pushed := stream.Push(func() *sse { return newSSE(x.w) })
	defer pushed.End() // whatever happens
	tell := func(piece engine.ReplayPiece) error { return sendReplay(pushed, "replay.delta", piece) }
	result, err := a.engine.Replay(x.r.Context(), x.principal, id, input, tell)
	if err == nil {
		_ = sendReplay(pushed, "replay.completed", result) // the client may be gone; the record has the result
	}
	s, begun := pushed.End()
	if !begun {
		return err
	}
	if err != nil {
		a.log.WarnContext(x.r.Context(), "a replay broke off", "request_id", x.requestID.String(), "error", err)
	}
	s.End()
	return nil
}

// sendReplay sends a frame of a replay.
func sendReplay[Data engine.ReplayPiece | engine.ReplayResult](to *stream.Pushed[*sse], event string, data Data) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return to.Write(func(s *sse) error {
		s.Buffer = append(append(s.Buffer, "event: "...), event...)
		s.Buffer = append(append(append(s.Buffer, "\ndata: "...), encoded...), "\n\n"...)
		if s.Flush() != nil {
			return stream.ErrGone
		}
		return nil
	})
}
