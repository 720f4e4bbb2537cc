package event

import "example.org/parley"

// MessageCreated reports that a message entered the conversation. Read the message for
// its content, or wait for the step that settles it.
//
//event:durable
type MessageCreated struct {
	MessageID       parley.ID   `json:"message_id"`       // the message
	TurnID          *parley.ID  `json:"turn_id"`          // its turn; null for one that no turn wrote or answers
	Role            parley.Role `json:"role"`             // who it is from
	MessageSequence int64       `json:"message_sequence"` // its place in the conversation, from 1
}

// MessageQueued reports that a message waits in the queue, or has moved in it.
//
//event:durable
type MessageQueued struct {
	MessageID parley.ID  `json:"message_id"` // the message
	TurnID    *parley.ID `json:"turn_id"`    // the turn that it will start; null for one that starts none
	Position  *int64     `json:"position"`   // its place in the queue; the lowest runs first
	Steer     bool       `json:"steer"`      // it is for the next step of the running turn
}

// MessageRemoved reports that a queued message was taken back before it entered the
// conversation.
//
//event:durable
type MessageRemoved struct {
	MessageID parley.ID `json:"message_id"` // the message
}

// MessageMarked reports that the marks of a message changed. A fork has its own marks for messages
// that it shares with its parent.
//
//event:durable
type MessageMarked struct {
	MessageID parley.ID    `json:"message_id"` // the message
	Marks     parley.Marks `json:"marks"`      // all of its marks, as they are now
}
