package parley

import "context"

// NewReplay is a recorded request that was sent again, to compare (D2): a call of
// purpose replay that has ended, with its answer. It never enters the conversation.
type NewReplay struct {
	Call     Call // all that describes the request; Purpose is set by the store
	System   string
	Tools    []byte
	Layers   []byte // text behind the call's middleware hash
	Settled  CallSettled
	OfID     ID // the call whose request it was
	Answer   ReplayAnswer
	Estimate Reserved // what it is charged with when its usage is unknown
	Charged  []ID     // the budgets that it is counted to, by subject
}

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

// ReplayStore keeps replays.
type ReplayStore interface {
	// RecordReplay writes a call that has ended, its answer and what it used, in one
	// transaction; call.replayed tells of it. CodeNotFound for a session that the
	// scope does not show.
	RecordReplay(ctx context.Context, scope Scope, replay NewReplay) error
	// Replays lists the replays of a call, newest first, and the call itself if it is
	// one; at most MaxReplays.
	Replays(ctx context.Context, scope Scope, callID ID) ([]Replay, error)
}
