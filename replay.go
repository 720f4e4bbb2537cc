package parley

// ReplayAnswer is what a model said to a replayed request. Tools are named by it
// and never run.
type ReplayAnswer struct {
	Text      string            `json:"text"`
	Reasoning string            `json:"reasoning"`
	Refusal   string            `json:"refusal"`
	ToolCalls []ToolCallContent `json:"tool_calls"`
}

// Replay is what the record keeps of one.
type Replay struct {
	CallID    ID           `json:"call_id"`
	OfID      ID           `json:"replay_of_id"`
	SessionID ID           `json:"session_id"`
	Answer    ReplayAnswer `json:"answer"`
	CreatedAt Time         `json:"created_at"`
}

// MaxReplays bounds the replays of one call that a list shows.
const MaxReplays = 100
