package store

import (
	"context"

	"example.org/parley"
)

// DelegationQuery lists delegations, newest first unless Ascending.
type DelegationQuery struct {
	AgentID      parley.ID // sends or receives it; zero: any
	SessionID    parley.ID // likewise
	RootID       parley.ID // zero: any
	Status       parley.DelegationStatus
	Kind         parley.DelegationKind
	Ascending    bool
	AfterCreated parley.Time // last row of the previous page; set together with AfterID
	AfterID      parley.ID
	Limit        int
}

// Delegations stores what the agents of teams send each other. SettleTool sends one, with the result of its call; the
// outbox delivers it, tells the sender how it ended, and expires it at its deadline by the database's clock. Claim
// begins it. The first turn for it that ends while nothing that it sent on is unheard answers it, or fails or cancels
// it as that turn ended.
//
// A scope sees the delegations from and to the sessions that it may see.
type Delegations interface {
	Delegation(ctx context.Context, scope Scope, id parley.ID) (parley.Delegation, error)
	// Delegations is CodeNotFound for a foreign SessionID.
	Delegations(ctx context.Context, scope Scope, query DelegationQuery) ([]parley.Delegation, error)
	// CancelDelegation cancels an open delegation; the outbox tells its sender, stops its turns, and cancels the tasks
	// and questions sent on for it. It returns a cancelled one unchanged. CodeNotFound; CodeConflict, with the state,
	// if it has ended otherwise.
	CancelDelegation(ctx context.Context, scope Scope, id parley.ID) (parley.Delegation, error)
}
