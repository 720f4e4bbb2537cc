package store

import (
	"encoding/json"

	"example.org/parley"
)

// FeedEvent is a notification of the workspace feed. It is a hint: lists are
// fetched again after any doubt.
type FeedEvent struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	Type        parley.EventType
	OwnerID     parley.ID         // of the session, to decide who may see it
	Visibility  parley.Visibility // of the session
	Data        json.RawMessage
}

// Commit is what one committed transaction has to tell the live side.
type Commit struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	Epoch       int64
	Events      []parley.Event // in order, complete
	Feed        []FeedEvent    // list changes
	Settled     []parley.ID    // messages that stream no more
	Pieces      []StreamPiece  // of messages that agents outside stream: durable, and for those who watch
	Ready       bool           // a session became ready: claimers may look
	Outbox      bool           // work was left to the outbox
	Compaction  bool           // a compaction may begin
	Cancel      parley.ID      // turn whose cancellation was asked for, if any

	// Remote: another process committed it, and what is known of it came by a hint
	// that may be late, merged with others or doubled. It has no Events and no
	// Settled; LastEvent says how far the session is, 0 for no news of that. Without
	// a session it says that any of them may be ready.
	Remote    bool
	LastEvent int64
	FeedLost  bool // of Remote: list changes of the workspace are missing from Feed
}

// Hints is told of commits, after they are durable and in their order per
// session. It carries no truth: whoever listens re-reads by sequence, and
// losing a call loses nothing. A store calls it before it answers the transition's
// caller, on the goroutine that commits: calls must not block. A store that
// several processes share calls it for the commits of the others too, marked
// Remote and in no order.
type Hints interface {
	Committed(Commit)
}
