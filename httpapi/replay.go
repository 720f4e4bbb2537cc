package httpapi

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"parley/engine"
)

// serveReplay sends a recorded request again while the request lasts, and answers
// with what came, or with it while it comes.
func serveReplay(a *api, x *exchange) error {
	id, err := x.pathID("call")
	if err != nil {
		return err
	}
	var input engine.ReplayInput
	if err := checked(a, x, &input); err != nil {
		return err
	}
	if !wantsStream(x.r) {
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{}) // a model may take longer than an answer
		result, err := a.engine.Replay(x.r.Context(), x.principal, id, input, nil)
		if err != nil {
			return err
		}
		return sendJSON(x, http.StatusCreated, result)
	}
	sink := &replaySink{x: x}
	done, beats := make(chan struct{}), sync.WaitGroup{}
	beats.Go(func() { beatInto(done, &sink.mu, func() *stream { return sink.s }) }) // ends with the replay
	result, err := a.engine.Replay(x.r.Context(), x.principal, id, input, sink.tell)
	close(done)
	beats.Wait()
	if err != nil && sink.s == nil {
		return err
	}
	if err != nil {
		a.log.WarnContext(x.r.Context(), "a replay broke off", "request_id", x.requestID.String(), "error", err)
		sink.s.end()
		return nil
	}
	_ = sink.send("replay.completed", result) // the client may be gone: the record has it
	sink.s.end()
	return nil
}

// replaySink writes a replay's frames.
type replaySink struct {
	x *exchange

	mu sync.Mutex // guards s, which frames and heartbeats write to
	s  *stream    // nil before the first frame
}

func (r *replaySink) tell(piece engine.ReplayPiece) error { return r.send("replay.delta", piece) }

func (r *replaySink) send(event string, data any) error {
	encoded, err := json.Marshal(data)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.s == nil {
		r.s = newStream(r.x.w)
	}
	r.s.buffer = append(append(append(append(append(r.s.buffer, "event: "...), event...), "\ndata: "...), encoded...), "\n\n"...)
	if r.s.flush() != nil {
		return errGone
	}
	return nil
}

// beatInto sends heartbeats into a stream, once there is one, until done.
func beatInto(done <-chan struct{}, mu *sync.Mutex, into func() *stream) {
	ticker := time.NewTicker(Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		mu.Lock()
		if s := into(); s != nil {
			s.buffer = append(s.buffer, ": still here\n\n"...)
			_ = s.flush() // the next frame finds out that the client is gone
		}
		mu.Unlock()
	}
}
