package store

import (
	"context"
	"encoding/json"

	"example.org/parley"
)

// NewLoop is a loop on its way into a session.
type NewLoop struct {
	Loop        parley.Loop     // ID, Prompt, Max, Until, Context, ArchiveDone and Author; the rest is the store's
	First       NewMessage      // its first iteration's message
	Content     json.RawMessage // canonical, of every iteration's message
	Idempotency Idempotency
}

// LoopStarted is the answer to StartLoop.
type LoopStarted struct {
	Loop          parley.Loop
	EventSequence int64 // the session's last event before
	Replayed      bool  // the idempotency key was used before: this is the first answer
	Claim         *Claim
}

// LoopQuery lists the loops of a session, newest first unless Ascending.
type LoopQuery struct {
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// Loops keeps loops. Their iterations are made by the transitions that end
// turns.
type Loops interface {
	// StartLoop makes a loop with its first iteration, which runs at once on an idle
	// session and waits in the queue else. claimBy is as for PostMessage.
	// CodeConflict while another loop of the session runs; CodeArchived;
	// CodeKeyReused.
	StartLoop(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		loop NewLoop,
		claimBy parley.ID,
	) (LoopStarted, error)
	// StopLoop ends a running loop: no further iteration follows, one that has not
	// begun is taken back, one that runs is left to its end. A stopped loop stays as
	// it is; CodeConflict with the state for one that had ended otherwise.
	StopLoop(ctx context.Context, scope Scope, sessionID, loopID parley.ID) (parley.Loop, error)
	Loop(ctx context.Context, scope Scope, id parley.ID) (parley.Loop, error)
	Loops(ctx context.Context, scope Scope, sessionID parley.ID, query LoopQuery) ([]parley.Loop, error)
}
