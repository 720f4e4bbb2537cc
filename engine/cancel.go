package engine

import (
	"cmp"
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// How long a cancel waits for the turn's holder, and how often it looks.
const (
	cancelPatience = 2 * time.Second
	cancelLook     = 10 * time.Millisecond
	cancelLookMost = 100 * time.Millisecond
)

// CancelInput says what to stop.
type CancelInput struct {
	TurnID parley.ID `json:"turn_id,omitzero" doc:"The session's first unfinished turn by default."`
	Queued bool      `json:"queued,omitempty" doc:"Cancel the queued turns behind it too."`
}

// CancelResult is a cancelled turn with everything that its cancel settled; a repeated cancel returns the same.
type CancelResult struct {
	Turn     parley.Turn        `json:"turn"`
	Settled  []parley.ID        `json:"settled" doc:"Messages: interrupted ones, whose partial text is kept, and the results of calls that had none."`
	Removed  []parley.ID        `json:"removed" doc:"Messages taken from the queue."`
	Turns    []parley.ID        `json:"turns" doc:"The queued turns that were cancelled with it."`
	Children []parley.ID        `json:"children" doc:"Tool sessions that answered its calls and are stopped."`
	By       parley.CancelledBy `json:"by" enum:"holder,canceller" doc:"Who settled it: the worker that ran it, or the cancel itself."`
}

// cancelResult returns what is recorded of a turn's cancel.
func cancelResult(turn parley.Turn) CancelResult {
	proof := parley.ValueOf(turn.Cancelled)
	return CancelResult{
		Turn:     turn,
		Settled:  orEmpty(proof.Settled),
		Removed:  orEmpty(proof.Removed),
		Turns:    orEmpty(proof.Turns),
		Children: orEmpty(proof.Children),
		By:       cmp.Or(proof.By, parley.ByCanceller),
	}
}

// Cancel stops the session's first unfinished turn, or the named one: its holder has two seconds to settle it, then the
// turn is taken from the holder. Cancelling a cancelled turn returns the same answer. It returns CodeNothingToCancel if
// nothing ever ran, and CodeConflict if the turn had finished. If ctx ends first, the request to stop stands.
func (e *Engine) Cancel(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	input CancelInput,
) (_ CancelResult, err error) {
	ctx, call, err := e.enter(ctx, principal, "cancelTurn", CancelTurns, of(sessionID))
	if err != nil {
		return CancelResult{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	asked, err := e.store.RequestCancel(ctx, scope, sessionID, input.TurnID, input.Queued)
	if err != nil {
		return CancelResult{}, err
	}
	if !asked.Held {
		return cancelResult(asked.Turn), nil
	}
	turn, err := e.awaitHolder(ctx, scope, asked.Turn)
	if err != nil {
		return CancelResult{}, err
	}
	if !turn.Status.Finished() {
		taken, err := e.store.TakeCancel(ctx, scope, sessionID, turn.ID)
		if err != nil {
			return CancelResult{}, err
		}
		turn = taken.Turn // the holder may have been faster
	}
	if turn.Status != parley.TurnCancelled {
		queued := ""
		if input.Queued {
			queued = " The queued turns after it are cancelled."
		}
		return CancelResult{}, parley.Conflict(
			turn.Status,
			"The turn was %s before it could be cancelled.%s",
			turn.Status,
			queued,
		)
	}
	return cancelResult(turn), nil
}

// awaitHolder waits until the turn is finished or the holder's time is over.
func (e *Engine) awaitHolder(ctx context.Context, scope store.Scope, turn parley.Turn) (parley.Turn, error) {
	patience := time.NewTimer(cancelPatience)
	defer patience.Stop()
	var done <-chan struct{}
	if e.runner != nil {
		done = e.runner.Cancel(turn.ID)
	}
	pause := cancelLook
	look := time.NewTimer(pause)
	defer look.Stop()
	for {
		over := false
		select {
		case <-ctx.Done():
			return turn, context.Cause(ctx)
		case <-patience.C:
			over = true
		case <-done:
			done, over = nil, true // the run has ended: the store's state is final
		case <-look.C:
			pause = min(2*pause, cancelLookMost)
			look.Reset(pause)
		}
		now, err := e.store.Turn(ctx, scope, turn.ID)
		if err != nil || now.Status.Finished() || over {
			return now, err
		}
	}
}
