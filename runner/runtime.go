package runner

import "example.org/parley"

// Runtime runs the turns of agents that name it (A1). It is safe for concurrent use.
type Runtime interface {
	// Name is the name that agents use.
	Name() string
	// RunTurn runs a turn until one of its methods says Over, or fails; it returns that error. The runtime itself opens
	// or has kept what it needs for the session.
	RunTurn(turn Turn) error
	// Cancel tells the runtime that a waiting turn was cancelled, so that it can drop what it keeps for the turn. A
	// running turn learns it from its context. Cancel does not block.
	Cancel(turnID parley.ID)
	// Close releases what the runtime keeps for a session that is gone, or whose turn another process runs now. It does
	// not block.
	Close(sessionID parley.ID)
	// Waiting lists the waiting turns for which the runtime keeps something.
	Waiting() []Waiting
}

// Waiting is a waiting turn for which a runtime keeps something in this process.
type Waiting struct{ WorkspaceID, SessionID, TurnID parley.ID }
