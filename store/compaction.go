package store

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
)

// CompactionFence names a claim of a compaction, as Fence does of a turn.
type CompactionFence struct {
	WorkspaceID  parley.ID
	SessionID    parley.ID
	CompactionID parley.ID
	Epoch        int64
}

// CompactionClaim is the right to run one attempt of a compaction.
type CompactionClaim struct {
	Fence      CompactionFence
	Compaction parley.Compaction
	Session    parley.Session
	Agent      parley.Agent // in its current version
}

// CompactionBegin opens the record of an attempt's call.
type CompactionBegin struct {
	Call                      parley.Call // ID and all that describes the request
	System                    string
	Middleware                []byte       // as of StepBegin
	Reservation               *Reservation // as of StepBegin
	CoversFrom, CoversThrough int64
	AbsorbsID                 parley.ID
}

// CompactionSettle ends an attempt.
type CompactionSettle struct {
	Call    *CallSettled // nil when none was begun
	Summary *NewSummary  // nil: Failure says why there is none
	Failure *parley.Failure
	// Again is when another attempt follows; 0: none. None follows the last of
	// MaxCompactionAttempts.
	Again time.Duration
}

// NewSummary is a summary on its way into the record.
type NewSummary struct {
	MessageID     parley.ID
	Author        parley.Author
	Content       json.RawMessage // canonical
	TokenEstimate int
}

// Compactions keeps the compactions of sessions: one row for each session
// that has had one, with a claim of its own beside that of the turn. Each method
// but the last is a transition that locks the session's head.
type Compactions interface {
	// RequestCompaction has a compaction made under a new id, unless one is
	// unfinished: that one is returned then. One that was asked for is a CodeConflict
	// with the state instead; so is any while the summary of the one before waits in
	// the queue. One by itself does not begin while the last one rests
	// (Compaction.RestsUntil), or the summary of the last one was set aside
	// CompactionRest messages ago or less: that one is returned, with RestsUntil set.
	// CodeNotFound; CodeArchived for one that was asked for.
	RequestCompaction(
		ctx context.Context,
		scope Scope,
		sessionID, id parley.ID,
		reason parley.CompactionReason,
	) (parley.Compaction, error)
	// ClaimCompactions takes up to n compactions for a process with a lease: those that
	// may begin, those of processes whose lease has run out, and those that this
	// process holds and does not run (running names what it does). What an attempt
	// before has left open is settled as interrupted; one that was begun
	// MaxCompactionAttempts times is given up. CodeFenced without a lease.
	ClaimCompactions(ctx context.Context, processID parley.ID, running []parley.ID, n int) ([]CompactionClaim, error)
	// BeginCompaction opens the record of the call and tells compaction.started.
	// CodeFenced; CodeOverBudget, and nothing is written, when there is no room.
	BeginCompaction(ctx context.Context, fence CompactionFence, begin CompactionBegin) error
	// SettleCompaction ends an attempt: its call, its usage into the session's sums,
	// the summary into the record (at once when no turn is unfinished, else in the
	// transaction that finishes the turn), compaction.completed or compaction.failed.
	// CodeFenced.
	SettleCompaction(ctx context.Context, fence CompactionFence, settle CompactionSettle) (parley.Compaction, error)
	// ReleaseCompaction gives a claim back: the attempt does not count. CodeFenced.
	ReleaseCompaction(ctx context.Context, fence CompactionFence) error
	// EnterSummary has a summary that waits for the turn to end enter the record
	// before its next step; nil when none waits. CodeConflict while a step or a tool
	// call is open.
	EnterSummary(ctx context.Context, fence Fence) (*parley.Message, error)

	// Compaction reads the one that runs, or the last one; State is CompactionNone for
	// a session that never had one.
	Compaction(ctx context.Context, scope Scope, sessionID parley.ID) (parley.Compaction, error)
}
