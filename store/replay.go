package store

import (
	"context"

	"example.org/parley"
)

// NewReplay is a recorded request that was sent again for comparison: an ended call of purpose replay, with its answer.
// It never enters the conversation.
type NewReplay struct {
	Call   parley.Call // everything about the request; the store sets Purpose
	System string
	Tools  []byte
	Layers []byte // text of the call's middleware hash
	// Instruction is the text of the call's instruction hash.
	Instruction string
	Settled     CallSettled
	OfID        parley.ID // the original call
	Answer      parley.ReplayAnswer
	Estimate    parley.Reserved // charged if the usage is unknown
	Charged     []parley.ID     // subjects of the budgets to charge
}

// Replays stores replays.
type Replays interface {
	// RecordReplay writes an ended call, its answer and its usage in one transaction, with the event call.replayed.
	// CodeNotFound for a session that the scope may not see.
	RecordReplay(ctx context.Context, scope Scope, replay NewReplay) error
	// Replays lists the replays of a call, newest first, at most MaxReplays; if the call itself is a replay, it is
	// listed, too.
	Replays(ctx context.Context, scope Scope, callID parley.ID) ([]parley.Replay, error)
}
