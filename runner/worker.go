package runner

import (
	"example.org/parley"
	"example.org/parley/store"
)

// Worker is the worker of this process, as the engine sees it.
type Worker interface {
	// Offer reserves a free slot for a turn of a workspace; false when there is none
	// for it, when others wait for one, or when the process drains.
	Offer(workspaceID parley.ID) (Slot, bool)
	// Cancel stops a turn that runs here; done is closed when it has let go, nil
	// when it does not run here.
	Cancel(turnID parley.ID) (done <-chan struct{})
	// Runtimes names the runtimes that agents may use.
	Runtimes() []string
}

// Slot is a reserved place for one turn. Exactly one of its last two methods is called.
type Slot interface {
	ProcessID() parley.ID
	// Run starts the claimed turn in the background.
	Run(claim store.Claim)
	// Release gives the slot back unused.
	Release()
}
