package parley

import "time"

// The bounds of a message that an outside agent streams into the record.
const (
	DefaultOutsideTimeout = 5 * time.Minute // without an append until it is settled as failed
	MaxOutsideTimeout     = time.Hour
	MaxOutsideAppends     = 1 << 16 // per message
	MaxOutsideCalls       = 128     // tool calls in one settle
)

// OutsideGrown says how far an open message has grown.
type OutsideGrown struct {
	MessageID ID   `json:"message_id"`
	SessionID ID   `json:"session_id"`
	Text      int  `json:"text_end"`      // UTF-8 bytes
	Reasoning int  `json:"reasoning_end"` // UTF-8 bytes
	DueAt     Time `json:"due_at"`        // about when it is settled as failed unless something arrives
}
