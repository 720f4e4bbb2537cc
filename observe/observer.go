package observe

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// Observer is notified of a worker's actions, for metrics and traces. It decides nothing: whatever it does, turns run
// the same. Many goroutines call its methods at once on the path of turns; they must return quickly and never fail.
type Observer interface {
	Turns
	Process
}

// Turns follows turns. Each Began returns the context under which that piece of work runs, and the matching Ended gets
// that context; a turn's steps lie between its two calls, and a step's calls and tools between the step's. A tool that
// ignores its deadline may end after its turn.
type Turns interface {
	// Contents reports whether it reads the models' input and output.
	Contents() bool
	TurnBegan(ctx context.Context, claim *store.Claim) context.Context
	TurnEnded(ctx context.Context, ended TurnRun)
	StepBegan(ctx context.Context, step int) context.Context
	// StepEnded reports the store's error that ended the step, or nil.
	StepEnded(ctx context.Context, broken error)
	CallBegan(ctx context.Context, begun CallBegun) context.Context
	CallEnded(ctx context.Context, ended CallEnded)
	// CallRetried reports that a failed call is repeated after a wait; ctx is the step's.
	CallRetried(ctx context.Context, failed *parley.Call, notice store.RetryNotice)
	ToolBegan(ctx context.Context, begun ToolBegun) context.Context
	ToolEnded(ctx context.Context, ended ToolEnded)
}

// Process follows the process that runs the turns.
type Process interface {
	// Claimed counts turns that this process claimed; posted says that the transaction of their message claimed them.
	Claimed(turns int, posted bool)
	// LeaseLost counts leases that ended before the process did.
	LeaseLost()
	// Swept counts a sweep and the sessions that it took over or repaired.
	Swept(sessions int)
	// CachedResponses counts outcomes of the response cache.
	CachedResponses(outcome ResponseCacheOutcome, n int)
	// Stored reports how long a store call of the worker took and how it ended. CodeFenced is a write that the store
	// refused because the claim was outdated.
	Stored(operation Operation, took time.Duration, err error)
}
