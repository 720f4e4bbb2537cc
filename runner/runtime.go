package runner

import (
	"context"

	"example.org/parley"
)

// Runtime runs the turns of agents that name it (A1). It is safe for concurrent use.
type Runtime interface {
	// Name is what agents call it.
	Name() string
	// RunTurn runs a turn until a method of it says Over, or fails; it returns that
	// error. What it needs for the session it opens by itself.
	RunTurn(turn Turn) error
	// Cancel tells what still runs for a turn that waits that the turn was cancelled;
	// false when nothing does. One that runs learns it from its context. It does not
	// block.
	Cancel(turnID parley.ID) bool
	// State tells what the runtime has for a session in this process.
	State(sessionID parley.ID) State
	// Close ends what the runtime has for a session.
	Close(ctx context.Context, sessionID parley.ID) error
}

// State is what a runtime has for a session in this process.
type State string

// The runtime states.
const (
	Idle State = "idle" // nothing
	Kept State = "kept" // something, such as a process
)
