package runner

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// Runtime runs the turns of agents that name it (A1).
type Runtime interface {
	// Name is what agents call it.
	Name() string
	// Open prepares for turns of a session; it is called before each run and cheap
	// when the session is open already.
	Open(ctx context.Context, session parley.Session) error
	// RunTurn runs a claimed turn until it is finished, parked or released, and
	// writes all of it through the store under the claim's fence. It returns nil
	// when the turn reached such a state; CodeFenced when the claim was lost. The
	// cause of ctx tells a cancel of the turn from a stop of the process.
	RunTurn(ctx context.Context, claim store.Claim) error
	// Cancel stops a running turn; false when it does not run here.
	Cancel(turnID parley.ID) bool
	// State tells what the runtime does for a session right now.
	State(sessionID parley.ID) State
	// Close forgets a session.
	Close(ctx context.Context, sessionID parley.ID) error
}

// State is what a runtime does for a session in this process.
type State string

// The runtime states.
const (
	Idle    State = "idle"
	Running State = "running"
)
