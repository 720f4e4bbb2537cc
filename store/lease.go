package store

import (
	"context"
	"time"

	"example.org/parley"
)

// Process is one Parley process, identified by its lease.
type Process struct {
	ID    parley.ID
	Name  string // host and pid, for people
	Slots int    // concurrent turns, for people
}

// Leases stores the leases of processes, by the database's clock.
type Leases interface {
	// RegisterProcess starts a lease.
	RegisterProcess(ctx context.Context, process Process, lease time.Duration) error
	// RenewLease extends the lease and returns the turns claimed by this process that are asked to stop. An expired
	// lease that no sweep has taken revives; CodeFenced if it is gone.
	RenewLease(ctx context.Context, processID parley.ID, lease time.Duration) (cancels []parley.ID, err error)
	// ReleaseProcess ends the lease of a process that holds no claims.
	ReleaseProcess(ctx context.Context, processID parley.ID) error
	// HeldTurns returns the claims that this process holds. A claim that the process does not run was lost on its way.
	HeldTurns(ctx context.Context, processID parley.ID) ([]Fence, error)
	// NextExpiry returns the time until the first lease of any process expires: 0 or less if one has, an hour if there
	// is no process. It is cheap: every process asks about once a second.
	NextExpiry(ctx context.Context) (time.Duration, error)
	// Sweep takes over the claims of processes with an expired lease: turns asked to stop are cancelled, the others
	// become ready and suspected (turn-states.md).
	//
	// If a process died with a turn as its sole suspect, that turn is held back until each turn that ran beside it has
	// settled a step, and then fails as crash_loop; if one of those is found guilty, it runs again. Sweep also repairs
	// sessions whose unfinished turn is neither held, waiting nor ready, and expires approvals. It returns how many
	// sessions it changed.
	Sweep(ctx context.Context) (int, error)
}
