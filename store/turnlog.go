package store

import (
	"context"

	"example.org/parley"
)

// TurnQuery lists turns of a session, newest first unless Ascending.
type TurnQuery struct {
	Status    parley.TurnStatus
	Number    int64 // only the turn with this number, counted from 1; 0: all
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// CallQuery lists calls of a session, newest first unless Ascending.
type CallQuery struct {
	TurnID    parley.ID
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// TurnLog reads turns and calls.
type TurnLog interface {
	Turn(ctx context.Context, scope Scope, id parley.ID) (parley.Turn, error)
	Turns(ctx context.Context, scope Scope, sessionID parley.ID, query TurnQuery) ([]parley.Turn, error)
	Call(ctx context.Context, scope Scope, id parley.ID) (parley.Call, error)
	Calls(ctx context.Context, scope Scope, sessionID parley.ID, query CallQuery) ([]parley.Call, error)
	// CallText returns the system prompt or tools text that a workspace's calls refer to by hash.
	CallText(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]byte, error)
}
