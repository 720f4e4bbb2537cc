package store

import (
	"context"

	"example.org/parley"
)

// Store is everything that Parley needs of a database. It offers transitions, not CRUD: one method is one transaction
// and one legal step, including its events. It checks first and writes afterwards, so a refusal writes nothing. Errors
// are *parley.Error with the codes that each method names; any other error means that the database failed. sqlite and
// postgres implement it; storetest is its contract.
type Store interface {
	Turns
	Control
	Outside
	Shares
	ForeignIDs
	ToolAuthorizations
	Loops
	Leases
	Sessions
	Messages
	History
	Imports
	Retention
	Searcher
	TurnLog
	Replays
	DryRuns
	Entities
	WebhookLanes
	Knowledge
	Teams
	Delegations
	Inbox
	Keys
	Workspaces
	SignIns
	Clients
	ClientSweep
	Outbox
	Children
	AuditTrail
	Verifiable
	Gauges
	Budgets
	Usage
	Compactions
	Summaries
	Approvals
	ResponseCache

	// Listen adds a listener for every commit of this process and, as far as hints arrive, of other processes
	// (Commit.Remote). Call it before the first transition.
	Listen(hints Hints)
	// Ping reports whether the database responds.
	Ping(ctx context.Context) error
	// Close ends the store's goroutines and closes its files. Committed work stays.
	Close() error
}

// Entities are the things with an identity and a table of their own whose methods the engine uses as they are.
type Entities interface {
	Agents
	Schedules
	Webhooks
	Artifacts
	Lineages
	Transforms
	Pipelines
	Projects
	Files
}

// Scope is the viewer: every query names the workspace, and whatever the principal may not see is CodeNotFound, as if
// it did not exist.
type Scope struct {
	WorkspaceID parley.ID
	// the principal, who sees its own sessions and those shared with the workspace; zero sees the whole workspace
	ViewerID parley.ID
}

// Fence names a claim. Every write of a worker carries it; if the head's epoch has moved on, or its first unfinished
// turn is a different one, the write is CodeFenced and nothing is written.
type Fence struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	TurnID      parley.ID
	Epoch       int64
}

// Idempotency makes a creation repeatable by its key for as long as the row lives. The zero value means no key.
type Idempotency struct {
	Key         string
	Fingerprint parley.Hash // SHA-256 of route, principal and raw body
}

// Outbox applies work that transactions left for later.
type Outbox interface {
	// ApplyOutbox takes the row that has been due longest, or one that this process has left and reserved for itself,
	// and applies a bounded part of it in one repeatable transaction. It reports whether more work is due, also beside
	// an error. An unfinished row moves to the end, and so does one that failed. Several may run at once.
	//
	// claimBy is the process that has a place for one background turn, zero if none: if the message of a delegation
	// starts a turn, the same transaction claims it. Without a lease, the turn is left to Claim.
	ApplyOutbox(ctx context.Context, claimBy parley.ID) (claim *Claim, more bool, err error)
}
