package observe

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// Observer is told what a worker does, for metrics and traces. It decides
// nothing: whatever it does, turns run the same. Its methods are called on the
// path of turns by many goroutines at once, return at once and never fail.
type Observer interface {
	Turns
	Process
}

// Turns follows turns. Each Began returns the context under which that
// piece of work runs, and the matching Ended gets that context; between the two
// of a turn lie its steps, between those of a step its calls and tools. A tool
// that ignores its deadline may end after its turn.
type Turns interface {
	// Contents reports whether it reads what models are shown and answer.
	Contents() bool
	TurnBegan(ctx context.Context, claim *store.Claim) context.Context
	TurnEnded(ctx context.Context, ended TurnRun)
	StepBegan(ctx context.Context, step int) context.Context
	// StepEnded tells the error with which the store broke the step off, or nil.
	StepEnded(ctx context.Context, broken error)
	CallBegan(ctx context.Context, begun CallBegun) context.Context
	CallEnded(ctx context.Context, ended CallEnded)
	// CallRetried tells that a failed call is made again after a wait; ctx is the step's.
	CallRetried(ctx context.Context, failed *parley.Call, notice store.RetryNotice)
	ToolBegan(ctx context.Context, begun ToolBegun) context.Context
	ToolEnded(ctx context.Context, ended ToolEnded)
}

// Process follows the process that runs the turns.
type Process interface {
	// Claimed counts turns that this process took; posted says that the
	// transaction of their message took them.
	Claimed(turns int, posted bool)
	// LeaseLost counts leases that ended before the process did.
	LeaseLost()
	// Swept counts a sweep and the sessions that it took over or repaired.
	Swept(sessions int)
	// CachedResponses counts what the response cache did.
	CachedResponses(outcome ResponseCacheOutcome, n int)
	// Stored tells how long a store call of the worker took and how it ended. A
	// CodeFenced is a write that the store refused to a holder of an old claim.
	Stored(operation Operation, took time.Duration, err error)
}
