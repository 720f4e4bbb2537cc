package worker

import (
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

const (
	// progressEvery is how often one call's progress is told; what comes between is passed over.
	progressEvery = time.Second
	// maxProgressText bounds what a tool says of its progress, in bytes.
	maxProgressText = 512
)

// progress passes on what the tools of a batch tell of themselves to the turn's
// own goroutine, which writes it. Tools never wait for it.
type progress chan store.ProgressNote

// of makes what one call tells its progress to.
func (p progress) of(call *toolCall) func(parley.ToolProgress) {
	var mu sync.Mutex // guards told
	var told time.Time
	return func(how parley.ToolProgress) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if !told.IsZero() && now.Sub(told) < progressEvery {
			return
		}
		told = now
		how.Message = parley.Clip(how.Message, maxProgressText)
		select {
		case p <- store.ProgressNote{ToolCallID: call.id, ToolName: call.name, ToolProgress: how}:
		default: // the turn is busy; the next one will do
		}
	}
}

// noteProgress tells watchers how far a call has come. It is no part of the
// record: when it cannot be written, nothing else is lost.
func (t *tools) noteProgress(note store.ProgressNote) error {
	err := t.w.store.NoteProgress(t.writes, t.fence, note)
	if parley.ErrorCode(err) == parley.CodeFenced {
		return err
	}
	if err != nil {
		t.log().WarnContext(t.ctx, "the progress of a tool could not be told", "tool", note.ToolName, "error", err)
	}
	return nil
}
