package worker

import (
	"context"
	"sync"
	"time"

	"parley"
)

// flusher writes what streaming messages have grown by to the store, as
// versions: one call for all of them at each interval. Versions only append, so
// that a long answer costs no more per flush than a short one. Text is cut where
// chunks end, and those end on runes.
type flusher struct {
	w *Worker

	mu   sync.Mutex // guards rows
	rows map[*row]struct{}

	writing sync.Mutex // held for a whole flush: guards the flushed marks of rows
}

func newFlusher(w *Worker) *flusher { return &flusher{w: w, rows: map[*row]struct{}{}} }

// add begins to flush a row whose opening has committed.
func (f *flusher) add(fresh *row) {
	f.mu.Lock()
	f.rows[fresh] = struct{}{}
	f.mu.Unlock()
}

// remove ends it. A flush under way may still write a version; the store skips
// those of settled messages.
func (f *flusher) remove(rows []*row) {
	f.mu.Lock()
	for _, gone := range rows {
		delete(f.rows, gone)
	}
	f.mu.Unlock()
}

// forget ends it for all rows of a turn that broke.
func (f *flusher) forget(turnID parley.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for open := range f.rows {
		if open.fence.TurnID == turnID {
			delete(f.rows, open)
		}
	}
}

// loop flushes at each interval. Stop ends it, after the last run.
func (f *flusher) loop() {
	ticker := time.NewTicker(f.w.options.StoreFlush)
	defer ticker.Stop()
	var rows []*row
	for {
		select {
		case <-f.w.ended:
			return
		case <-ticker.C:
		}
		held := f.w.currentLease()
		if held == nil {
			continue
		}
		rows = rows[:0]
		f.mu.Lock()
		for open := range f.rows {
			rows = append(rows, open)
		}
		f.mu.Unlock()
		f.flush(held.ctx, rows)
	}
}

// flush writes what rows have grown by. Runs that turn out to be fenced end.
func (f *flusher) flush(ctx context.Context, rows []*row) {
	if len(rows) == 0 {
		return
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	var versions []parley.FencedVersion
	type grown struct {
		row  *row
		kind int
		end  int
	}
	var marks []grown
	for _, open := range rows {
		n := open.versions
		for i, kind := range open.kinds() {
			from := open.flushed[i]
			if kind == "" || open.stream.Len(kind) <= from {
				continue
			}
			text := open.stream.Text(kind)
			n++
			versions = append(versions, parley.FencedVersion{Fence: open.fence, Version: parley.Version{
				MessageID: open.id, N: n, Kind: kind, Offset: from, End: len(text),
				Chunks: int(open.chunks.Load()), Text: text[from:],
			}})
			marks = append(marks, grown{open, i, len(text)})
		}
	}
	if len(versions) == 0 {
		return
	}
	fenced, err := f.w.store.AppendVersions(ctx, versions)
	if err != nil {
		if ctx.Err() == nil {
			f.w.log.Warn("streaming text could not be flushed to the store; the next flush repeats it", "error", err)
		}
		return
	}
	for _, mark := range marks {
		mark.row.versions++
		mark.row.flushed[mark.kind] = mark.end
	}
	for _, sessionID := range fenced {
		f.w.abortSession(sessionID)
	}
}
