package event

import "example.org/parley"

// CallReplayed reports that a recorded request was sent again, to compare the answers.
// Nothing entered the conversation.
//
//event:durable
type CallReplayed struct {
	CallID   parley.ID          `json:"call_id"`      // the new call
	ReplayOf parley.ID          `json:"replay_of_id"` // the call whose request was sent again
	Model    parley.ModelID     `json:"model"`        // provider/model that was asked this time
	Outcome  parley.CallOutcome `json:"outcome"`      // how it went
}
