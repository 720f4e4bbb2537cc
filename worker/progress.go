package worker

import (
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

const (
	// progressEvery is the least time between two progress events of a call; progress in between is dropped.
	progressEvery = time.Second
	// maxProgressText bounds a tool's progress text, in bytes.
	maxProgressText = 512
)

// progress carries the progress of a batch's tools to the turn's own goroutine, which writes it. Tools never wait for
// it.
type progress chan store.ProgressNote

// of returns the function by which one call reports its progress.
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
		default: // the turn is busy; the next report will do
		}
	}
}

// noteProgress tells watchers how far a call has come. Progress is not part of the record: if it cannot be written,
// nothing else is lost.
func (t *tools) noteProgress(note store.ProgressNote) error {
	err := t.w.store.NoteProgress(t.writes, t.fence, note)
	if parley.ErrorCode(err) == parley.CodeFenced {
		return err
	}
	if err != nil {
		t.log().WarnContext(t.ctx, "the progress of a tool could not be reported", "tool", note.ToolName, "error", err)
	}
	return nil
}
