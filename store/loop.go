package store

import (
	"context"
	"encoding/json"

	"example.org/parley"
)

// NewLoop is a loop to be stored.
type NewLoop struct {
	Loop        parley.Loop     // ID, Prompt, Max, Until, Context, ArchiveDone and Author; the store sets the rest
	First       NewMessage      // the first iteration's message
	Content     json.RawMessage // canonical; of each iteration's message
	Idempotency Idempotency
}

// LoopStarted is the result of StartLoop.
type LoopStarted struct {
	Loop          parley.Loop
	EventSequence int64 // the session's last event before the call
	Replayed      bool  // the idempotency key was used before; this is the first result
	Claim         *Claim
}

// LoopQuery lists the loops of a session, newest first unless Ascending.
type LoopQuery struct {
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// Loops stores loops. The transitions that end turns create their iterations.
type Loops interface {
	// StartLoop creates a loop with its first iteration, which runs immediately in an idle session and is queued
	// otherwise. claimBy is as in PostMessage. CodeConflict while the session has a running loop; CodeArchived;
	// CodeKeyReused.
	StartLoop(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		loop NewLoop,
		claimBy parley.ID,
	) (LoopStarted, error)
	// StopLoop ends a running loop: it adds no further iteration, withdraws one that has not begun, and lets a running
	// one finish. It leaves a stopped loop unchanged; CodeConflict, with the state, for a loop that ended any other
	// way.
	StopLoop(ctx context.Context, scope Scope, sessionID, loopID parley.ID) (parley.Loop, error)
	Loop(ctx context.Context, scope Scope, id parley.ID) (parley.Loop, error)
	Loops(ctx context.Context, scope Scope, sessionID parley.ID, query LoopQuery) ([]parley.Loop, error)
}
