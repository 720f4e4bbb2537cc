package store

import (
	"encoding/json"

	"example.org/parley"
)

// FeedEvent is a notification of the workspace feed. It is a hint: after any doubt, readers fetch the lists again.
type FeedEvent struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	Type        parley.EventType
	OwnerID     parley.ID         // of the session; decides who may see the event
	Visibility  parley.Visibility // of the session
	PrincipalID parley.ID         // the only one who may see it; zero: all who may see the session
	Data        json.RawMessage
}

// Commit is what one committed transaction tells the live side.
type Commit struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	Epoch       int64
	Events      []parley.Event // in order, complete
	Feed        []FeedEvent    // list changes
	Settled     []parley.ID    // messages that stopped streaming
	Pieces      []StreamPiece  // durable text that outside agents stream, for watchers
	Ready       bool           // a session became ready to claim
	Outbox      bool           // the outbox has new work that is due
	Reserved    bool           // that work is reserved for this process
	Compaction  bool           // a compaction may begin
	Pipeline    bool           // something may begin in the run of a pipeline
	Cancel      parley.ID      // turn that is asked to stop, if any

	// Remote: another process made the commit, and this process knows it only from a hint that may be late, merged or
	// duplicated. It has no Events and no Settled; LastEvent is the session's last event, 0 if unknown. Without a
	// session it means that any session may be ready.
	Remote    bool
	LastEvent int64
	FeedLost  bool // remote only: Feed misses list changes of the workspace
}

// Hints receives commits after they are durable, in order per session. It carries no truth: listeners re-read by
// sequence, and a lost call loses nothing. A store calls it on the committing goroutine before the transition returns,
// so calls must not block. A store that several processes share also reports the commits of the others, marked Remote
// and in any order.
type Hints interface {
	Committed(Commit)
}
