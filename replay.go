package parley

// ReplayAnswer is a model's answer to a replayed request. Its tool calls never run.
type ReplayAnswer struct {
	Text      string            `json:"text"`
	Reasoning string            `json:"reasoning"`
	Refusal   string            `json:"refusal"`
	ToolCalls []ToolCallContent `json:"tool_calls"`
}

// Replay is the record of one replay.
type Replay struct {
	CallID    ID           `json:"call_id"`
	OfID      ID           `json:"replay_of_id"`
	SessionID ID           `json:"session_id"`
	Answer    ReplayAnswer `json:"answer"`
	CreatedAt Time         `json:"created_at"`
}

// MaxReplays bounds the listed replays of one call.
const MaxReplays = 100
