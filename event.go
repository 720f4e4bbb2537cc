package parley

import "encoding/json"

// EventType names a notification (C4): past tense, with a dot. The constants derive from the structs of package event,
// which describe the data.
type EventType string

// EndsTurn reports whether the event ends a turn.
func (t EventType) EndsTurn() bool {
	return t == EventSessionCompleted || t == EventSessionFailed || t == EventSessionCancelled
}

// Event is a durable notification about a session, with its own gap-free sequence. Data is one JSON object, described
// by package event. For step.generated and step.error the messages are stored only by id; Data is complete in what the
// store returns and publishes.
type Event struct {
	SessionID ID              `json:"session_id"`
	Sequence  int64           `json:"sequence"`
	Type      EventType       `json:"type"`
	CreatedAt Time            `json:"created_at"`
	TurnID    ID              `json:"-"`
	Data      json.RawMessage `json:"data"`
}

// ResyncReason is why a watcher must read again what it shows.
type ResyncReason string

// The reasons.
const (
	ResyncConnected  ResyncReason = "connected"  // the first frame of every feed: read the lists now
	ResyncOverflow   ResyncReason = "overflow"   // the reader was too slow for the feed
	ResyncBeyond     ResyncReason = "beyond"     // the requested position lies beyond the session's last event
	ResyncMissed     ResyncReason = "missed"     // list changes of another process may have been missed
	ResyncUnreadable ResyncReason = "unreadable" // the position to begin at cannot be read
)
