package observe

import (
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

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
	Claim   *store.Claim
	Outcome TurnOutcome
	Failure *parley.Failure   // for RunFailed
	Waits   parley.WaitReason // for RunParked: what it waits for
	Limit   parley.Limit      // for RunParked with a budget: the limit that left no room; "" if a price is unknown
	Took    time.Duration
}
