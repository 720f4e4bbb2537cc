package parley

import "time"

// The bounds of a message that an agent outside streams into the record.
const (
	DefaultOutsideTimeout = 5 * time.Minute // without an append, until it is settled as failed
	MaxOutsideTimeout     = time.Hour
	MaxOutsideAppends     = 1 << 16 // of one message
	MaxOutsideCalls       = 128     // tool calls that come with one settle
)

// OutsideGrown is how far an open message has come.
type OutsideGrown struct {
	MessageID ID   `json:"message_id"`
	SessionID ID   `json:"session_id"`
	Text      int  `json:"text_end"`      // UTF-8 bytes
	Reasoning int  `json:"reasoning_end"` // UTF-8 bytes
	DueAt     Time `json:"due_at"`        // when it is settled as failed unless something comes before; about
}
