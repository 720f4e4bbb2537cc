package store

import (
	"context"
	"encoding/json"
	"time"

	"example.org/parley"
)

// CompactionFence names a claim of a compaction, as Fence names one of a turn.
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

// CompactionMode is what a compaction counts as among the places of a process: one that nobody waits for is background
// work.
func CompactionMode(awaited bool) parley.Mode {
	if awaited {
		return parley.ModeForeground
	}
	return parley.ModeBackground
}

// NewCompaction is a compaction to be requested. Only one that somebody asked for has Through and Instructions.
type NewCompaction struct {
	ID           parley.ID
	Reason       parley.CompactionReason
	Through      int64  // the last sequence that it may cover; 0: any
	Instructions string // what this summary must hold besides the usual
	From         parley.CompactionSource
	Awaited      bool // a turn waits for it
}

// CompactionBegin opens the record of an attempt's call.
type CompactionBegin struct {
	Call                      parley.Call // ID and everything about the request
	System                    string
	Tools                     []byte       // see StepBegin
	Middleware                []byte       // see StepBegin
	Instruction               string       // see StepBegin
	Reservation               *Reservation // see StepBegin
	CoversFrom, CoversThrough int64
	AbsorbsID                 parley.ID
	Part, Parts               int // which of the requests for the summary this is; 0, 0: the only one
}

// CompactionSettle ends an attempt or, without Summary and Failure, the call of a part after which another follows.
type CompactionSettle struct {
	Call    *CallSettled    // nil if none began
	Summary *NewSummary     // nil: see Failure
	Failure *parley.Failure // nil, too: the attempt goes on
	// Again is the delay before the next attempt; 0: none. No attempt follows number MaxCompactionAttempts.
	Again time.Duration
}

// NewSummary is a summary to be stored.
type NewSummary struct {
	MessageID     parley.ID
	Author        parley.Author
	Content       json.RawMessage // canonical
	TokenEstimate int
}

// SummaryRevision is a summary in a person's words, in place of one that a session has.
type SummaryRevision struct {
	OfID    parley.ID  // the summary that it replaces
	Latest  parley.ID  // the summary of the session's latest compaction when that one was read; zero for none
	Summary NewSummary // covers what the other one covers
}

// Summaries stores what people make of summaries.
type Summaries interface {
	// ReviseSummary enters another version of a summary into the record; the one that it replaces stays there.
	// CodeConflict while a turn or a compaction is unfinished, if another summary has been written since, or if OfID is
	// not a summary; CodeNotFound, CodeArchived.
	ReviseSummary(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		revision SummaryRevision,
	) (parley.Message, error)
}

// Compactions stores the compactions of sessions: at most one row per session, with its own claim apart from the
// turn's. Each method but the last is a transition that locks the session's head.
type Compactions interface {
	// RequestCompaction starts a compaction. If one is unfinished, a manual request is CodeConflict with the state and
	// any other request returns it, awaited from now on if the request is. While the summary of the previous compaction
	// is queued, every request is CodeConflict. An automatic compaction does not start while the previous one rests
	// (Compaction.RestsUntil), or within CompactionRest messages after its summary was set aside; then
	// RequestCompaction returns the previous one with RestsUntil set. CodeNotFound; CodeArchived for a manual request.
	RequestCompaction(
		ctx context.Context,
		scope Scope,
		sessionID parley.ID,
		wanted NewCompaction,
	) (parley.Compaction, error)
	// ClaimCompactions claims compactions for the free places of a process with a lease: those that may begin, those
	// of processes with an expired lease, and those that this process holds but does not run (running lists what it
	// runs). Those that a turn waits for come first; among equals a workspace's turn comes the later the more of its
	// compactions run or come before. The others count as background work. It settles open work of an earlier attempt
	// as interrupted, and gives up a compaction that began MaxCompactionAttempts times. CodeFenced without a lease.
	ClaimCompactions(
		ctx context.Context,
		processID parley.ID,
		running []parley.ID,
		occupancy Occupancy,
	) ([]CompactionClaim, error)
	// BeginCompaction opens the call's record and writes compaction.started. CodeFenced; CodeOverBudget, with nothing
	// written, if the budget has no room.
	BeginCompaction(ctx context.Context, fence CompactionFence, begin CompactionBegin) error
	// SettleCompaction ends an attempt. It settles the call, adds its usage to the session's totals, enters the summary
	// into the record (now if no turn is unfinished, else in the transaction that finishes the turn), and writes
	// compaction.completed or compaction.failed. The end of a part only settles its call. CodeFenced.
	SettleCompaction(ctx context.Context, fence CompactionFence, settle CompactionSettle) (parley.Compaction, error)
	// ReleaseCompaction releases a claim; the attempt does not count. CodeFenced.
	ReleaseCompaction(ctx context.Context, fence CompactionFence) error
	// EnterSummary enters a queued summary into the record before the turn's next step; it returns nil if none is
	// queued. CodeConflict while a step or a tool call is open.
	EnterSummary(ctx context.Context, fence Fence) (*parley.Message, error)

	// Compaction reads the running compaction, or the last one; State is CompactionNone for a session that never had
	// one.
	Compaction(ctx context.Context, scope Scope, sessionID parley.ID) (parley.Compaction, error)
}
