package parley

import (
	"context"
	"encoding/json"
)

// ControlStore is how people steer what runs and what waits to run. Each method
// is a transition like those of TurnStore.
type ControlStore interface {
	// SendQueued has a queued message heard now: as DuringSteer it is shown to the
	// first unfinished turn at its next step, and the turn that it waited for is
	// cancelled; as DuringInterrupt that turn is cancelled and this message runs
	// next. claimBy is as for PostMessage. One that runs next already stays as it
	// is. CodeConflict once it is in the record, was removed, or starts no turn.
	SendQueued(ctx context.Context, scope Scope, messageID ID, how During, claimBy ID) (Posted, error)

	// MoveQueued puts a queued message before another one of its queue, or to the
	// end (zero). CodeNotFound for a message that is not in this queue; CodeConflict
	// once it is in the record, was removed, or when it or the other one is about
	// to start.
	MoveQueued(ctx context.Context, scope Scope, messageID, before ID) (Message, error)

	// RetryTurn takes a failed or cancelled turn up again, as a new turn on the
	// same message: what it had settled stays, the answer that failed or was
	// interrupted is asked for anew. claimBy is as for PostMessage. CodeConflict
	// with the state for any other turn, while a turn is unfinished, and when the
	// record has gone on; CodeArchived; CodeKeyReused.
	RetryTurn(ctx context.Context, scope Scope, sessionID, turnID ID, again TurnAgain, claimBy ID) (TurnResumed, error)

	// ContinueTurn has a turn go on that stopped at a limit: a waiting one for
	// budget or rate_limit is ready again; one that failed with ClassLimit is taken
	// up by a new turn, as RetryTurn does. The same refusals.
	ContinueTurn(ctx context.Context, scope Scope, sessionID, turnID ID, again TurnAgain, claimBy ID) (TurnResumed, error)
}

// TurnAgain is the turn that takes up another one.
type TurnAgain struct {
	TurnID      ID // minted by the caller
	Idempotency Idempotency
}

// TurnResumed is the answer to RetryTurn and ContinueTurn.
type TurnResumed struct {
	Turn          Turn  // the one that runs now
	EventSequence int64 // the session's last event before
	Replayed      bool  // the idempotency key was used before: this is the first answer
	Claim         *Claim
}

// NewLoop is a loop on its way into a session.
type NewLoop struct {
	Loop        Loop            // ID, Prompt, Max, Until, Context, ArchiveDone and Author; the rest is the store's
	First       NewMessage      // its first iteration's message
	Content     json.RawMessage // canonical, of every iteration's message
	Idempotency Idempotency
}

// LoopStarted is the answer to StartLoop.
type LoopStarted struct {
	Loop          Loop
	EventSequence int64 // the session's last event before
	Replayed      bool  // the idempotency key was used before: this is the first answer
	Claim         *Claim
}

// LoopQuery lists the loops of a session, newest first unless Ascending.
type LoopQuery struct {
	Ascending bool
	AfterID   ID
	Limit     int
}

// LoopStore keeps loops. Their iterations are made by the transitions that end
// turns.
type LoopStore interface {
	// StartLoop makes a loop with its first iteration, which runs at once on an idle
	// session and waits in the queue else. claimBy is as for PostMessage.
	// CodeConflict while another loop of the session runs; CodeArchived;
	// CodeKeyReused.
	StartLoop(ctx context.Context, scope Scope, sessionID ID, loop NewLoop, claimBy ID) (LoopStarted, error)
	// StopLoop ends a running loop: no further iteration follows, one that has not
	// begun is taken back, one that runs is left to its end. A stopped loop stays as
	// it is; CodeConflict with the state for one that had ended otherwise.
	StopLoop(ctx context.Context, scope Scope, sessionID, loopID ID) (Loop, error)
	Loop(ctx context.Context, scope Scope, id ID) (Loop, error)
	Loops(ctx context.Context, scope Scope, sessionID ID, query LoopQuery) ([]Loop, error)
}
