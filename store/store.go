package store

import (
	"context"

	"example.org/parley"
)

// Store is everything that a database must do for Parley. It is transitions,
// not CRUD: one method is one transaction is one legal step, its events
// included; it checks first and writes after, so a refusal writes nothing.
// Errors are *parley.Error with the codes that each method names; anything else means
// the database itself failed. sqlite and postgres implement it; storetest is its contract.
type Store interface {
	Turns
	Control
	Outside
	Shares
	Loops
	Leases
	Sessions
	Messages
	History
	Retention
	Searcher
	TurnLog
	Replays
	Agents
	Projects
	Keys
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
	Approvals
	ResponseCache
	Files

	// Listen adds a listener that is told of every commit of this process, and as
	// far as hints come of those of other processes (Commit.Remote). Call it before
	// the first transition.
	Listen(hints Hints)
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	// Close ends the store's goroutines and files. Everything committed stays.
	Close() error
}

// Scope is who looks: every query names the workspace, and what a principal may
// not see is CodeNotFound, exactly like what does not exist.
type Scope struct {
	WorkspaceID parley.ID
	// the principal: sees its own sessions and those shared with the workspace; zero sees all of the workspace
	ViewerID parley.ID
}

// Fence names a claim. Every write of a worker carries it; when the head's
// epoch has moved on, or its first unfinished turn is another one, the write is
// CodeFenced and nothing is written.
type Fence struct {
	WorkspaceID parley.ID
	SessionID   parley.ID
	TurnID      parley.ID
	Epoch       int64
}

// Idempotency remembers a creation by its key for as long as the row lives.
// The zero value means no key.
type Idempotency struct {
	Key         string
	Fingerprint parley.Hash // SHA-256 of route, principal and raw body
}

// Outbox applies what transactions left to be done elsewhere.
type Outbox interface {
	// ApplyOutbox takes the row that has been due for longest, applies a bounded
	// piece of it by a transaction of its own that can be repeated safely, and reports
	// whether more is due. A row that is not done goes to the end. Several may run at
	// once.
	ApplyOutbox(ctx context.Context) (more bool, err error)
}
