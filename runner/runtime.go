package runner

import "example.org/parley"

// Runtime runs the turns of agents that name it (A1). It is safe for concurrent use.
type Runtime interface {
	// Name is what agents call it.
	Name() string
	// RunTurn runs a turn until a method of it says Over, or fails; it returns that
	// error. What it needs for the session it opens by itself, or has kept.
	RunTurn(turn Turn) error
	// Cancel tells what the runtime keeps for a turn that waits that the turn was
	// cancelled. A turn that runs learns it from its context. It does not block.
	Cancel(turnID parley.ID)
	// Close ends what the runtime keeps for a session that is gone, or whose turn another
	// process runs now. It does not block.
	Close(sessionID parley.ID)
	// Waiting lists the turns that wait, and for which the runtime keeps something.
	Waiting() []Waiting
}

// Waiting is a turn that waits, and for which a runtime keeps something in this process.
type Waiting struct{ WorkspaceID, SessionID, TurnID parley.ID }
