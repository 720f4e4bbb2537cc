package worker

import (
	"context"
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// How the audit is linked, beside everything else.
const (
	linkPause      = 500 * time.Millisecond // between looks for unlinked entries
	linkOtherPause = 5 * time.Second        // while another process links
	linkLease      = 15 * time.Second       // how long one process holds the linking
	linkPass       = time.Minute            // between two passes over the sessions' heads
	linkBound      = 10 * time.Second       // for one transaction
	maxUnlinked    = 4096                   // sessions remembered as changed; a pass finds those beyond
)

// linker links the audit's entries and the heads of sessions (ADR 0036). It runs in every process; the store decides
// which one links.
type linker struct {
	store store.AuditLinker
	id    parley.ID

	mu    sync.Mutex // guards moved
	moved map[parley.ID]struct{}
}

func newLinker(store store.AuditLinker) *linker {
	return &linker{store: store, id: parley.NewID(), moved: map[parley.ID]struct{}{}}
}

// note remembers a session with a new commit. It never blocks.
func (l *linker) note(session parley.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.moved) < maxUnlinked {
		l.moved[session] = struct{}{}
	}
}

// take removes and returns some of the changed sessions.
func (l *linker) take() (moved []parley.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.moved {
		if len(moved) == store.LinkHeads/2 {
			break
		}
		moved = append(moved, id)
		delete(l.moved, id)
	}
	return moved
}

// putBack returns sessions to the queue.
func (l *linker) putBack(moved []parley.ID) {
	for _, id := range moved {
		l.note(id)
	}
}

// step links once. Sessions that could not be linked stay for the next step; the pass finds those that another process
// was to link.
func (l *linker) step(ctx context.Context, pass *parley.ID) (store.LinkStep, error) {
	moved := l.take()
	ctx, stop := context.WithTimeout(ctx, linkBound)
	defer stop()
	step, err := l.store.LinkAudit(ctx, l.id, linkLease, moved, pass)
	if err != nil {
		l.putBack(moved)
	}
	return step, err
}

// linkLoop links new entries. Stop ends it.
func (w *Worker) linkLoop() {
	l := w.linker
	pause := time.NewTimer(linkPause)
	defer pause.Stop()
	var pass *parley.ID // the position of a pass over the sessions; nil between passes
	begun := time.Time{}
	for {
		select {
		case <-w.stopping:
			return
		case <-pause.C:
		}
		if pass == nil && time.Since(begun) >= linkPass {
			pass, begun = &parley.ID{}, time.Now()
		}
		step, err := l.step(context.Background(), pass)
		rest := linkPause
		switch {
		case parley.ErrorCode(err) == parley.CodeFenced:
		case err != nil:
			w.log.Warn("the audit could not be linked; trying again", "error", err)
		case !step.Held:
			rest = linkOtherPause
		default:
			if step.Gone > 0 {
				w.log.Error(
					"entries of the audit were removed before they were linked, and not by Parley: run "+
						"parley verify",
					"entries",
					step.Gone,
				)
			}
			pass = next(pass, step)
			if step.More {
				rest = 0
			}
		}
		pause.Reset(rest)
	}
}

// next returns where a pass continues: a step with too much to link is repeated.
func next(pass *parley.ID, step store.LinkStep) *parley.ID {
	switch {
	case pass == nil || step.More:
		return pass
	case step.Last.IsZero():
		return nil
	}
	return &step.Last
}
