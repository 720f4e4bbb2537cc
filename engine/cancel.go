package engine

import (
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

// CancelledBy says who settled a cancelled turn.
type CancelledBy string

// The worker that ran it, or the cancel itself.
const (
	ByHolder    CancelledBy = "holder"
	ByCanceller CancelledBy = "canceller"
)

// CancelResult is a cancelled turn.
type CancelResult struct {
	Turn    parley.Turn `json:"turn"`
	Settled []parley.ID `json:"settled"` // messages whose partial text is now settled
	By      CancelledBy `json:"by"`
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
		return CancelResult{Turn: asked.Turn, Settled: orEmpty(asked.Settled), By: ByCanceller}, nil
	}
	turn, err := e.awaitHolder(ctx, scope, asked.Turn)
	if err != nil {
		return CancelResult{}, err
	}
	by := ByHolder
	if !turn.Status.Finished() {
		taken, err := e.store.TakeCancel(ctx, scope, sessionID, turn.ID)
		if err != nil {
			return CancelResult{}, err
		}
		if len(taken.Settled) > 0 {
			return CancelResult{Turn: taken.Turn, Settled: taken.Settled, By: ByCanceller}, nil
		}
		turn, by = taken.Turn, ByCanceller // unless the holder was faster; see below
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
	settled, err := e.cancelledMessages(ctx, scope, turn)
	if err != nil {
		return CancelResult{}, err
	}
	if len(settled) > 0 {
		by = ByHolder
	}
	return CancelResult{Turn: turn, Settled: settled, By: by}, nil
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

// cancelledMessages finds the messages that the holder's cancel interrupted.
func (e *Engine) cancelledMessages(ctx context.Context, scope store.Scope, turn parley.Turn) ([]parley.ID, error) {
	refs, err := e.store.MessageIDs(ctx, scope, turn.SessionID, store.MessageQuery{
		TurnID: turn.ID, Status: parley.MessageCancelled, RecordOnly: true, Limit: parley.MaxPage,
	})
	if err != nil {
		return nil, err
	}
	settled := make([]parley.ID, 0, len(refs))
	for _, ref := range refs {
		settled = append(settled, ref.ID)
	}
	return settled, nil
}
