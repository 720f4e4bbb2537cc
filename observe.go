package parley

import (
	"context"
	"time"
)

// Observer is told what a worker does, for metrics and traces. It decides
// nothing: whatever it does, turns run the same. Its methods are called on the
// path of turns by many goroutines at once, return at once and never fail.
type Observer interface {
	TurnObserver
	ProcessObserver
}

// TurnObserver follows turns. Each Began returns the context under which that
// piece of work runs, and the matching Ended gets that context; between the two
// of a turn lie its steps, between those of a step its calls and tools. A tool
// that ignores its deadline may end after its turn.
type TurnObserver interface {
	// Contents reports whether it reads what models are shown and answer.
	Contents() bool
	TurnBegan(ctx context.Context, claim *Claim) context.Context
	TurnEnded(ctx context.Context, ended TurnRun)
	StepBegan(ctx context.Context, step int) context.Context
	// StepEnded tells the error with which the store broke the step off, or nil.
	StepEnded(ctx context.Context, broken error)
	CallBegan(ctx context.Context, begun CallBegun) context.Context
	CallEnded(ctx context.Context, ended CallEnded)
	// CallRetried tells that a failed call is made again after a wait; ctx is the step's.
	CallRetried(ctx context.Context, failed *Call, notice RetryNotice)
	ToolBegan(ctx context.Context, begun ToolBegun) context.Context
	ToolEnded(ctx context.Context, ended ToolEnded)
}

// ProcessObserver follows the process that runs the turns.
type ProcessObserver interface {
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

// Operation names a store call of a worker.
type Operation string

// The operations.
const (
	OperationClaim          Operation = "claim"
	OperationRecoverTurn    Operation = "recover_turn"
	OperationBeginStep      Operation = "begin_step"
	OperationRetryCall      Operation = "retry_call"
	OperationBeginCall      Operation = "begin_call"
	OperationOpenBlock      Operation = "open_block"
	OperationAppendVersions Operation = "append_versions"
	OperationSettleStep     Operation = "settle_step"
	OperationSettleTool     Operation = "settle_tool"
	OperationParkTurn       Operation = "park_turn"
	OperationParkRefused    Operation = "park_refused"
	OperationOpenChild      Operation = "open_child"
	OperationUseApprovals   Operation = "use_approvals"
	OperationFinishTurn     Operation = "finish_turn"
	OperationReleaseTurn    Operation = "release_turn"
	OperationRenewLease     Operation = "renew_lease"
	OperationSweep          Operation = "sweep"
	OperationApplyOutbox    Operation = "apply_outbox"
)

// Operations lists every operation.
func Operations() []Operation {
	return []Operation{OperationClaim, OperationRecoverTurn, OperationBeginStep, OperationRetryCall, OperationBeginCall,
		OperationOpenBlock, OperationAppendVersions, OperationSettleStep, OperationSettleTool, OperationParkTurn,
		OperationParkRefused, OperationOpenChild, OperationUseApprovals, OperationFinishTurn, OperationReleaseTurn, OperationRenewLease, OperationSweep, OperationApplyOutbox}
}

// TurnOutcome is how one run of a turn ended.
type TurnOutcome string

// The outcomes. The last four leave the turn unfinished.
const (
	RunCompleted TurnOutcome = "completed"
	RunFailed    TurnOutcome = "failed"
	RunCancelled TurnOutcome = "cancelled"
	RunParked    TurnOutcome = "parked"   // it waits for something outside
	RunReleased  TurnOutcome = "released" // given back: the process stops
	RunLost      TurnOutcome = "lost"     // another holder has it
	RunLeft      TurnOutcome = "left"     // could not be ended; left to the sweep
)

// TurnOutcomes lists every outcome.
func TurnOutcomes() []TurnOutcome {
	return []TurnOutcome{RunCompleted, RunFailed, RunCancelled, RunParked, RunReleased, RunLost, RunLeft}
}

// TurnRun is one run of a turn by one worker, from its claim on.
type TurnRun struct {
	Claim   *Claim
	Outcome TurnOutcome
	Failure *Failure   // of RunFailed
	Waits   WaitReason // of RunParked: what for
	Limit   Limit      // of RunParked for a budget: the limit that left no room; "" when a price is not known
	Took    time.Duration
}

// CallBegun is a model request that is about to be sent.
type CallBegun struct {
	Call     *Call
	Request  *ModelRequest // what the model is shown; nil for an observer that reads no contents
	Reserved *Reservation  // what it holds of budgets until it has ended; nil when none bounds it
}

// CallEnded is a model request that was answered, failed or broken off.
type CallEnded struct {
	Call       *Call
	Reserved   *Reservation // as it began
	Settled    *CallSettled
	FirstToken time.Duration // 0 when no chunk came
	Took       time.Duration
	Status     int                  // the HTTP status that the provider failed it with, else 0
	Answer     func() []RequestPart // what came of the answer, made when asked for
	Broken     error                // set: the store refused the call or a part of its answer, and Settled says nothing
}

// ToolBegun is a tool that is about to run.
type ToolBegun struct {
	Name   string
	Source string    // Tool.Source
	Call   *ToolCall // not begun yet: an observer may set its TraceParent
}

// ToolOutcome is how one run of a tool ended.
type ToolOutcome string

// The outcomes of tools.
const (
	ToolSucceeded ToolOutcome = "ok"
	ToolFailed    ToolOutcome = "error"
	ToolTimedOut  ToolOutcome = "timeout"
	ToolStopped   ToolOutcome = "interrupted" // its turn was cancelled, stopped or lost
	ToolPanicked  ToolOutcome = "panic"
)

// ToolEnded is a tool that has answered.
type ToolEnded struct {
	Name    string
	Source  string // Tool.Source
	Outcome ToolOutcome
	Result  *ToolResultContent
	Took    time.Duration
}

// RateScope is whose requests were refused or held back, because there were too many.
type RateScope string

// The scopes.
const (
	RateOfKey     RateScope = "key"     // a request of any sort: 429
	RateOfSession RateScope = "session" // a message: 429
	RateOfLoop    RateScope = "loop"    // a session's own loop, whose turn waits
	RateOfStreams RateScope = "streams" // a stream beside as many as a principal or workspace may have: 429
)

// RateScopes lists every scope.
func RateScopes() []RateScope {
	return []RateScope{RateOfKey, RateOfSession, RateOfLoop, RateOfStreams}
}
