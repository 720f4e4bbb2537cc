package store

import (
	"context"
	"time"

	"example.org/parley"
)

// Process is one Parley process, known by its lease.
type Process struct {
	ID    parley.ID
	Name  string // host and pid, for people
	Slots int    // turns that it runs at once, for people
}

// Leases keeps the leases of processes, by the database's clock.
type Leases interface {
	// RegisterProcess starts a lease.
	RegisterProcess(ctx context.Context, process Process, lease time.Duration) error
	// RenewLease prolongs it, and returns the turns claimed by this process whose
	// cancellation was asked for. A lease that has run out and that no sweep took
	// lives on; CodeFenced when it is gone.
	RenewLease(ctx context.Context, processID parley.ID, lease time.Duration) (cancels []parley.ID, err error)
	// ReleaseProcess ends the lease of a process that holds no claim any more.
	ReleaseProcess(ctx context.Context, processID parley.ID) error
	// HeldTurns reads the claims that this process holds. One that it does not run
	// was lost on its way to it.
	HeldTurns(ctx context.Context, processID parley.ID) ([]Fence, error)
	// NextExpiry is how long until the first lease of any process runs out unless
	// renewed; 0 or less when one has, an hour when there is no process. It is
	// cheap: every process asks about once a second.
	NextExpiry(ctx context.Context) (time.Duration, error)
	// Sweep takes over the claims of processes whose lease has expired: flagged
	// turns are cancelled, the others become ready, and suspected (turn-states.md).
	// A turn whose process died with it as the sole suspect is held back until each
	// turn that ran beside it has settled a step, and then fails as crash_loop; if
	// one of those is found guilty it runs again. It also repairs any session
	// whose unfinished turn is neither held, waiting nor ready, and ends approvals
	// whose time is over. It returns how many sessions it changed.
	Sweep(ctx context.Context) (int, error)
}
