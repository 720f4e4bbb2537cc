package store

import (
	"context"

	"example.org/parley"
)

// NewReplay is a recorded request that was sent again, to compare (D2): a call of
// purpose replay that has ended, with its answer. It never enters the conversation.
type NewReplay struct {
	Call     parley.Call // all that describes the request; Purpose is set by the store
	System   string
	Tools    []byte
	Layers   []byte // text behind the call's middleware hash
	Settled  CallSettled
	OfID     parley.ID // the call whose request it was
	Answer   parley.ReplayAnswer
	Estimate parley.Reserved // what it is charged with when its usage is unknown
	Charged  []parley.ID     // the budgets that it is counted to, by subject
}

// Replays keeps replays.
type Replays interface {
	// RecordReplay writes a call that has ended, its answer and what it used, in one
	// transaction; call.replayed tells of it. CodeNotFound for a session that the
	// scope does not show.
	RecordReplay(ctx context.Context, scope Scope, replay NewReplay) error
	// Replays lists the replays of a call, newest first, and the call itself if it is
	// one; at most MaxReplays.
	Replays(ctx context.Context, scope Scope, callID parley.ID) ([]parley.Replay, error)
}
