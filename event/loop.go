package event

import "example.org/parley"

// LoopProgress reports that a loop began another iteration, or ended.
//
//event:durable
type LoopProgress struct {
	LoopID    parley.ID        `json:"loop_id"`   // the loop
	TurnID    parley.ID        `json:"turn_id"`   // the turn of the last iteration
	Iteration int              `json:"iteration"` // its number, from 1
	Max       int              `json:"max"`       // how many there may be
	State     parley.LoopState `json:"state"`     // running, or how it ended
	// why it ended: the condition that was met, max, stopped, cancelled, or the class of a failure; null while it runs
	Reason *string `json:"reason"`
}
