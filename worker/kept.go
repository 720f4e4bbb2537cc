package worker

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// When the worker checks whether turns still wait, because its runtimes keep something for those that do.
const (
	keptPoll  = 5 * time.Second        // between looks without a hint
	keptAgain = 500 * time.Millisecond // from a look to the one that confirms it
	keptRead  = 5 * time.Second        // one look at a turn
)

// keptLoop releases what runtimes keep for turns that no longer wait, because another process runs them or because they
// ended and the hint was lost. Stop ends it.
func (w *Worker) keptLoop() {
	ticker := time.NewTicker(keptPoll)
	defer ticker.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.keptNow:
		case <-ticker.C:
		}
		gone := w.lookAtKept(nil)
		if len(gone) == 0 {
			continue
		}
		again := time.NewTimer(keptAgain) // this process may just have claimed one of them
		select {
		case <-w.stopping:
			again.Stop()
			return
		case <-again.C:
		}
		for turnID, end := range w.lookAtKept(gone) {
			w.log.Debug("what was kept for a turn that waits no more is ended", "turn_id", turnID)
			end()
		}
	}
}

// lookAtKept finds the turns, among all or some, that no longer wait and do not run here. It returns for each a
// function that releases what is kept for it.
func (w *Worker) lookAtKept(of map[parley.ID]func()) map[parley.ID]func() {
	gone := map[parley.ID]func(){}
	for _, runtime := range w.runtimes {
		for _, waiting := range runtime.Waiting() {
			if of != nil && of[waiting.TurnID] == nil {
				continue
			}
			if end := w.ending(runtime, waiting); end != nil {
				gone[waiting.TurnID] = end
			}
		}
	}
	return gone
}

// ending returns the function that releases what a runtime keeps for a turn; nil while the turn needs it.
func (w *Worker) ending(runtime runner.Runtime, waiting runner.Waiting) func() {
	ctx, stop := context.WithTimeout(context.Background(), keptRead)
	defer stop()
	turn, err := w.store.Turn(ctx, store.Scope{WorkspaceID: waiting.WorkspaceID}, waiting.TurnID)
	switch {
	case parley.ErrorCode(err) == parley.CodeNotFound:
		return func() { runtime.Close(waiting.SessionID) }
	case err != nil: // the next look may be luckier
		return nil
	case turn.Status == parley.TurnCancelled:
		return func() { runtime.Cancel(waiting.TurnID) }
	case !turn.Status.Finished() && (turn.Status != parley.TurnRunning || w.runsHere(waiting.TurnID)):
		return nil
	}
	// It runs elsewhere, or has ended there: another program has the session.
	return func() { runtime.Close(waiting.SessionID) }
}

func (w *Worker) runsHere(turnID parley.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runs[turnID] != nil
}

// keeps reports whether a runtime keeps something for a session whose turn waits.
func (w *Worker) keeps(sessionID parley.ID) bool {
	for _, runtime := range w.runtimes {
		for _, waiting := range runtime.Waiting() {
			if waiting.SessionID == sessionID {
				return true
			}
		}
	}
	return false
}
