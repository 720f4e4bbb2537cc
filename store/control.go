package store

import (
	"context"

	"example.org/parley"
)

// Control lets people steer running and queued work. Each method is a transition like those of Turns.
type Control interface {
	// SendQueued delivers a queued message early. With DuringSteer the first unfinished turn sees it at its next step,
	// and the message's own queued turn is cancelled; with DuringInterrupt the first unfinished turn is cancelled and
	// the message runs next. claimBy is as in PostMessage. A message that already runs next stays unchanged.
	// CodeConflict if it is in the record, was removed, or starts no turn.
	SendQueued(
		ctx context.Context,
		scope Scope,
		messageID parley.ID,
		how parley.During,
		claimBy parley.ID,
	) (Posted, error)

	// MoveQueued moves a queued message before another one of its queue, or to the end (zero). CodeNotFound if the
	// message is not in this queue; CodeConflict if it is in the record or was removed, or if either message is about
	// to start.
	MoveQueued(ctx context.Context, scope Scope, messageID, before parley.ID) (parley.Message, error)

	// RetryTurn resumes a failed or cancelled turn as a new turn on the same message. It keeps what the turn had
	// settled and asks again for the answer that failed or was interrupted. claimBy is as in PostMessage. CodeConflict,
	// with the state, for any other turn, while a turn is unfinished, and if the record has moved on; CodeArchived;
	// CodeKeyReused.
	RetryTurn(
		ctx context.Context,
		scope Scope,
		sessionID, turnID parley.ID,
		again TurnAgain,
		claimBy parley.ID,
	) (TurnResumed, error)

	// ContinueTurn resumes a turn that stopped at a limit. A turn waiting for budget or rate_limit becomes ready again;
	// a new turn resumes one that failed with ClassLimit, as in RetryTurn. It refuses what RetryTurn refuses.
	ContinueTurn(
		ctx context.Context,
		scope Scope,
		sessionID, turnID parley.ID,
		again TurnAgain,
		claimBy parley.ID,
	) (TurnResumed, error)
}

// TurnAgain is the new turn that resumes an earlier one.
type TurnAgain struct {
	TurnID      parley.ID // minted by the caller
	Idempotency Idempotency
}

// TurnResumed is the result of RetryTurn and ContinueTurn.
type TurnResumed struct {
	Turn          parley.Turn // the turn that runs now
	EventSequence int64       // the session's last event before the call
	Replayed      bool        // the idempotency key was used before; this is the first result
	Claim         *Claim
}
