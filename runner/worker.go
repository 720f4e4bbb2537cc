package runner

import (
	"example.org/parley"
	"example.org/parley/store"
)

// Worker is this process's worker, as the engine sees it.
type Worker interface {
	// Offer reserves a free slot for a turn of a workspace; false if there is none for it, if others wait for one, or
	// if the process drains.
	Offer(workspaceID parley.ID) (Slot, bool)
	// Cancel stops a turn that runs here; done is closed when its run has ended, and nil if the turn does not run here.
	Cancel(turnID parley.ID) (done <-chan struct{})
	// Runtimes names the runtimes that agents may use.
	Runtimes() []string
}

// Slot is a reserved place for one turn. The caller calls exactly one of Run and Release.
type Slot interface {
	ProcessID() parley.ID
	// Run starts the claimed turn in the background.
	Run(claim store.Claim)
	// Release gives the slot back unused.
	Release()
}
