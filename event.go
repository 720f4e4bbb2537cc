package parley

import "encoding/json"

// EventType names a notification (C4): past tense, with a dot. The types are
// constants that follow from the structs of package event, which describe the data.
type EventType string

// EndsTurn reports whether the event is the one that ends a turn.
func (t EventType) EndsTurn() bool {
	return t == EventSessionCompleted || t == EventSessionFailed || t == EventSessionCancelled
}

// Event is a durable notification about a session, with its own gap-free
// sequence. Data is one JSON object, described by package event. For step.generated
// and step.error the messages are stored by id alone; Data is complete in what the
// store returns and publishes.
type Event struct {
	SessionID ID              `json:"session_id"`
	Sequence  int64           `json:"sequence"`
	Type      EventType       `json:"type"`
	CreatedAt Time            `json:"created_at"`
	TurnID    ID              `json:"-"`
	Data      json.RawMessage `json:"data"`
}

// FeedEvent is a notification of the workspace feed. It is a hint: lists are
// fetched again after any doubt.
type FeedEvent struct {
	WorkspaceID ID
	SessionID   ID
	Type        EventType
	OwnerID     ID         // of the session, to decide who may see it
	Visibility  Visibility // of the session
	Data        json.RawMessage
}

// Commit is what one committed transaction has to tell the live side.
type Commit struct {
	WorkspaceID ID
	SessionID   ID
	Epoch       int64
	Events      []Event       // in order, complete
	Feed        []FeedEvent   // list changes
	Settled     []ID          // messages that stream no more
	Pieces      []StreamPiece // of messages that agents outside stream: durable, and for those who watch
	Ready       bool          // a session became ready: claimers may look
	Outbox      bool          // work was left to the outbox
	Compaction  bool          // a compaction may begin
	Cancel      ID            // turn whose cancellation was asked for, if any

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
