package event

import "example.org/parley"

// ToolStarted reports that a tool begins to run. Its call is already stored.
//
//event:durable
type ToolStarted struct {
	TurnID     parley.ID `json:"turn_id"`      // the turn of the call
	MessageID  parley.ID `json:"message_id"`   // the tool_call message
	ToolCallID string    `json:"tool_call_id"` // the call's id, as the model gave it
	Name       string    `json:"name"`         // the tool
}

// ToolProgress reports the progress of a running tool. Tools may report none, and updates in quick
// succession are merged.
//
//event:durable
type ToolProgress struct {
	TurnID     parley.ID `json:"turn_id"`      // the turn of the call
	ToolCallID string    `json:"tool_call_id"` // the call's id, as the model gave it
	Name       string    `json:"name"`         // the tool
	Progress   float64   `json:"progress"`     // how much is done, in the tool's own unit
	Total      *float64  `json:"total"`        // how much there is in all; null when the tool does not say
	Message    string    `json:"message"`      // for people
}

// ToolCompleted reports that a tool call has its result, whoever gave it.
//
//event:durable
type ToolCompleted struct {
	TurnID          parley.ID `json:"turn_id"`           // the turn of the call
	MessageID       parley.ID `json:"message_id"`        // the tool_result message
	ToolCallID      string    `json:"tool_call_id"`      // the call's id, as the model gave it
	Name            string    `json:"name"`              // the tool
	Success         bool      `json:"success"`           // false when the result is an error
	ExecutionTimeMS *int64    `json:"execution_time_ms"` // how long the tool ran; null when nobody knows
}
