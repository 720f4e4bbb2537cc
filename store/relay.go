package store

import (
	"context"

	"example.org/parley"
)

// Relay carries hints between the processes that share a database, beside the
// commits, which its store tells to its listeners by itself (Commit.Remote). That
// of a database of one process tells nobody; what agents outside stream it knows
// as well. What it carries is no truth: it may be lost,
// merged, late, doubled or out of order, and correctness never depends on it.
type Relay interface {
	// Hear names the one who is told what other processes say. Call it once,
	// before the first Tell.
	Hear(listener RelayListener)
	// Tell passes hints on, soon after. It never blocks: what waits is merged, and
	// bounded. Beyond the bound the oldest is dropped and the others are told to
	// resync. A process does not hear what it told.
	Tell(hints RelayHints)
	// Streamed reads from the store what streams at this moment in these sessions:
	// for every such message at least one piece, without text if there is none, or
	// none beyond have. The pieces of one message and kind are in order.
	Streamed(ctx context.Context, sessions []parley.ID, have []StreamEnd) ([]StreamPiece, error)
}

// RelayListener hears what other processes say. Its methods must not block.
type RelayListener interface {
	// Heard takes what one process said. from is that process for as long as it runs.
	Heard(from parley.ID, hints RelayHints)
	// Resync says that hints may have been lost: everything that is watched is
	// read again.
	Resync()
}

// RelayHints is what one process tells the others at once.
type RelayHints struct {
	Interests []Interest
	Pieces    []StreamPiece
	Ask       bool // everyone says again what it is interested in
}

// Interest says that a process watches a session, or does so no more. It expires
// unless it is repeated.
type Interest struct {
	SessionID parley.ID
	PaceMS    int  // new text of one message is wanted once in so many milliseconds; the first of it at once
	Flush     bool // some text is missing: what streams is to be flushed to the store now
	Over      bool // nobody watches any more
}

// StreamPiece is a piece of the text of a message that streams in another
// process. Without text it says that the store has all of it before Offset.
type StreamPiece struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	TurnID      parley.ID
	MessageID   parley.ID
	Epoch       int64 // of the claim under which it is written
	// an event of the session at which the message was streaming: what settles it comes later; 0 for unknown
	After  int64
	Kind   parley.ContentKind
	Offset int // UTF-8 bytes
	Text   string
}

// StreamEnd says how far the text of a streaming message is known.
type StreamEnd struct {
	MessageID parley.ID
	Kind      parley.ContentKind
	End       int // UTF-8 bytes
}
