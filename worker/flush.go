package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// flusher writes what streaming messages have grown by to the store, as
// versions: one call for all of them at each interval. Versions only append, so
// that a long answer costs no more per flush than a short one. Text is cut where
// chunks end, and those end on runes.
type flusher struct {
	w *Worker

	now chan struct{} // of one: some rows are to be flushed at once

	mu     sync.Mutex // guards rows and wanted
	rows   map[*row]struct{}
	wanted map[parley.ID]struct{} // sessions whose text watchers in other processes lack

	writing sync.Mutex // held for a whole flush: guards the flushed marks of rows
}

func newFlusher(w *Worker) *flusher {
	return &flusher{w: w, now: make(chan struct{}, 1), rows: map[*row]struct{}{}, wanted: map[parley.ID]struct{}{}}
}

// want has a session flushed at once. It does not block.
func (f *flusher) want(sessionID parley.ID) {
	f.mu.Lock()
	f.wanted[sessionID] = struct{}{}
	f.mu.Unlock()
	poke(f.now)
}

// due takes the rows to flush: all of them, or those of the sessions wanted.
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

// loop flushes at each interval, and what is wanted in between. Stop ends it, after the last run.
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

// flush writes what rows have grown by. Runs that turn out to be fenced end.
func (f *flusher) flush(ctx context.Context, rows []*row) {
	if len(rows) == 0 {
		return
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	for f.write(ctx, rows) { // what was repeated first has grown meanwhile
		continue
	}
}

// write writes the next versions of rows, and reports whether some of those that
// it wrote were left from a flush before. What the store could not take now stays
// as it is, for the next flush: a row's versions follow each other without a hole.
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
