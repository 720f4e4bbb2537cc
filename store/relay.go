package store

import (
	"context"

	"example.org/parley"
)

// Relay carries hints between the processes that share a database. Commits travel apart: the store reports them to its
// own listeners (Commit.Remote). The relay of a single-process database tells nobody, but also knows what outside
// agents stream. Hints carry no truth: they may be lost, merged, late, duplicated or out of order, and correctness
// never depends on them.
type Relay interface {
	// Hear sets the listener for hints of other processes. Call it once, before the first Tell.
	Hear(listener RelayListener)
	// Tell passes hints on soon after. It never blocks: waiting hints are merged and bounded. Beyond the bound it drops
	// the oldest and tells the others to resync. A process does not hear its own hints.
	Tell(hints RelayHints)
	// Streamed reads from the store what streams now in these sessions: at least one piece for every streaming message,
	// without text if it has none or none beyond have. The pieces of one message and kind are in order.
	Streamed(ctx context.Context, sessions []parley.ID, have []StreamEnd) ([]StreamPiece, error)
}

// RelayListener receives the hints of other processes. Its methods must not block.
type RelayListener interface {
	// Heard receives hints of one process. from identifies that process for its lifetime.
	Heard(from parley.ID, hints RelayHints)
	// Resync means that hints may be lost: the listener reads everything again that it watches.
	Resync()
}

// RelayHints is a batch of hints from one process to the others.
type RelayHints struct {
	Interests []Interest
	Pieces    []StreamPiece
	Raws      []RawPiece
	Ask       bool // every process repeats its interests
}

// Interest says that a process watches a session, or stopped watching. It expires unless repeated.
type Interest struct {
	SessionID parley.ID
	PaceMS    int  // milliseconds between pieces of one message; the first piece comes immediately
	Flush     bool // text is missing: flush streaming text to the store now
	Over      bool // the process stopped watching
	Raw       bool // unprocessed text is read there
}

// RawPiece is a piece of a provider's unprocessed text. It never changes, and nothing stores it: one that is lost is a
// gap between its neighbours.
type RawPiece struct {
	SessionID, TurnID, CallID, MessageID parley.ID
	After                                int64 // the session's last event when it came: it is shown after that one
	Offset, End                          int64 // bytes of the call's text, as the provider sent it
	Text                                 string
}

// StreamPiece is a piece of the text that a message streams in another process. Without text it says that the store has
// everything before Offset.
type StreamPiece struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	TurnID      parley.ID
	MessageID   parley.ID
	Epoch       int64 // of the claim that writes it
	// an event of the session at which the message was still streaming, so its settling comes later; 0: unknown
	After  int64
	Kind   parley.ContentKind
	Offset int // UTF-8 bytes
	Text   string
}

// StreamEnd says how much text of a streaming message is known.
type StreamEnd struct {
	MessageID parley.ID
	Kind      parley.ContentKind
	End       int // UTF-8 bytes
}
