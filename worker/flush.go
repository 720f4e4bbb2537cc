package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// flusher writes the new text of streaming messages to the store, as versions: one call for all messages at each
// interval. Versions only append, so a flush of a long answer costs no more than one of a short answer. Text is cut at
// the ends of chunks, which are ends of runes.
type flusher struct {
	w *Worker

	now chan struct{} // capacity 1: some rows are to be flushed immediately

	mu     sync.Mutex // guards rows and wanted
	rows   map[*row]struct{}
	wanted map[parley.ID]struct{} // sessions whose text watchers in other processes lack

	writing sync.Mutex // held for a whole flush: guards the flushed marks of rows
}

func newFlusher(w *Worker) *flusher {
	return &flusher{w: w, now: make(chan struct{}, 1), rows: map[*row]struct{}{}, wanted: map[parley.ID]struct{}{}}
}

// want has a session flushed immediately. It does not block.
func (f *flusher) want(sessionID parley.ID) {
	f.mu.Lock()
	f.wanted[sessionID] = struct{}{}
	f.mu.Unlock()
	poke(f.now)
}

// due returns the rows to flush: all of them, or those of the sessions wanted.
func (f *flusher) due(rows []*row, all bool) []*row {
	f.mu.Lock()
	defer f.mu.Unlock()
	for open := range f.rows {
		if _, wanted := f.wanted[open.fence.SessionID]; wanted || all {
			rows = append(rows, open)
		}
	}
	clear(f.wanted)
	return rows
}

// add starts flushing a row whose opening has committed.
func (f *flusher) add(fresh *row) {
	f.mu.Lock()
	f.rows[fresh] = struct{}{}
	f.mu.Unlock()
}

// remove stops flushing rows. A flush under way may still write a version; the store skips settled messages.
func (f *flusher) remove(rows []*row) {
	f.mu.Lock()
	for _, gone := range rows {
		delete(f.rows, gone)
	}
	f.mu.Unlock()
}

// forget stops flushing all rows of a turn that broke.
func (f *flusher) forget(turnID parley.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for open := range f.rows {
		if open.fence.TurnID == turnID {
			delete(f.rows, open)
		}
	}
}

// loop flushes at each interval, and wanted rows in between. Stop ends it, after the last run.
func (f *flusher) loop() {
	ticker := time.NewTicker(f.w.options.StoreFlush)
	defer ticker.Stop()
	var rows []*row
	for {
		all := false
		select {
		case <-f.w.ended:
			return
		case <-f.now:
		case <-ticker.C:
			all = true
		}
		held := f.w.currentLease()
		if held == nil {
			continue
		}
		rows = f.due(rows[:0], all)
		f.flush(held.ctx, rows)
	}
}

// flush writes the new text of rows. Runs that turn out to be fenced end.
func (f *flusher) flush(ctx context.Context, rows []*row) {
	if len(rows) == 0 {
		return
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	for f.write(ctx, rows) { // repeated rows have grown meanwhile
		continue
	}
}

// write writes the next versions of rows, and reports whether some of them repeated an earlier flush. Text that the
// store could not take stays for the next flush: a row's versions follow each other without gaps.
func (f *flusher) write(ctx context.Context, rows []*row) (repeated bool) {
	var versions []store.FencedVersion
	var left []*row
	for _, open := range rows {
		if len(open.unsure) > 0 {
			left = append(left, open)
		} else {
			open.unsure = open.grown()
		}
		versions = append(versions, open.unsure...)
	}
	if len(versions) == 0 {
		return false
	}
	appended, err := f.w.store.AppendVersions(ctx, versions)
	if err != nil {
		if ctx.Err() == nil {
			f.w.log.Warn("streaming text could not be flushed to the store; the next flush repeats it", "error", err)
		}
		return false
	}
	for _, open := range rows {
		if !slices.Contains(appended.Locked, open.fence) {
			open.kept()
		}
	}
	for _, fence := range appended.Fenced {
		f.w.abortClaim(fence)
	}
	return slices.ContainsFunc(left, func(open *row) bool { return len(open.unsure) == 0 })
}
