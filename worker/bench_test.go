package worker

import (
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// BenchmarkTurn runs whole turns of 200 tokens, 64 at once, each in a session of its own: post, claim, stream, settle,
// through SQLite and the hub.
func BenchmarkTurn(b *testing.B) {
	r := newRig(b)
	r.options.Log = nil
	w := r.start(nil)
	tokens := make([]model.Chunk, 0, 202)
	for range 200 {
		tokens = append(tokens, text(0, "token "))
	}
	r.model.endless = chunks(append(tokens, done(parley.FinishStop))...)
	overrides := parley.Settings{Tools: &[]parley.ToolRef{}}
	work := make(chan struct{})
	var users sync.WaitGroup
	for range 64 {
		users.Go(func() {
			for range work {
				turnID := r.post(r.session(overrides, nil), "Go", "").Turn.ID
				w.mu.Lock()
				running := w.runs[turnID]
				w.mu.Unlock()
				if running != nil {
					<-running.done
				}
			}
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		work <- struct{}{}
	}
	close(work)
	users.Wait()
}
