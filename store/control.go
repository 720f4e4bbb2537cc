package store

import (
	"context"

	"example.org/parley"
)

// Control is how people steer what runs and what waits to run. Each method
// is a transition like those of Turns.
type Control interface {
	// SendQueued has a queued message heard now: as DuringSteer it is shown to the
	// first unfinished turn at its next step, and the turn that it waited for is
	// cancelled; as DuringInterrupt that turn is cancelled and this message runs
	// next. claimBy is as for PostMessage. One that runs next already stays as it
	// is. CodeConflict once it is in the record, was removed, or starts no turn.
	SendQueued(
		ctx context.Context,
		scope Scope,
		messageID parley.ID,
		how parley.During,
		claimBy parley.ID,
	) (Posted, error)

	// MoveQueued puts a queued message before another one of its queue, or to the
	// end (zero). CodeNotFound for a message that is not in this queue; CodeConflict
	// once it is in the record, was removed, or when it or the other one is about
	// to start.
	MoveQueued(ctx context.Context, scope Scope, messageID, before parley.ID) (parley.Message, error)

	// RetryTurn takes a failed or cancelled turn up again, as a new turn on the
	// same message: what it had settled stays, the answer that failed or was
	// interrupted is asked for anew. claimBy is as for PostMessage. CodeConflict
	// with the state for any other turn, while a turn is unfinished, and when the
	// record has gone on; CodeArchived; CodeKeyReused.
	RetryTurn(
		ctx context.Context,
		scope Scope,
		sessionID, turnID parley.ID,
		again TurnAgain,
		claimBy parley.ID,
	) (TurnResumed, error)

	// ContinueTurn has a turn go on that stopped at a limit: a waiting one for
	// budget or rate_limit is ready again; one that failed with ClassLimit is taken
	// up by a new turn, as RetryTurn does. The same refusals.
	ContinueTurn(
		ctx context.Context,
		scope Scope,
		sessionID, turnID parley.ID,
		again TurnAgain,
		claimBy parley.ID,
	) (TurnResumed, error)
}

// TurnAgain is the turn that takes up another one.
type TurnAgain struct {
	TurnID      parley.ID // minted by the caller
	Idempotency Idempotency
}

// TurnResumed is the answer to RetryTurn and ContinueTurn.
type TurnResumed struct {
	Turn          parley.Turn // the one that runs now
	EventSequence int64       // the session's last event before
	Replayed      bool        // the idempotency key was used before: this is the first answer
	Claim         *Claim
}
