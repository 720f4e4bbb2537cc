package engine

import (
	"example.org/parley"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// reserved is a slot of this process's worker, or none. Exactly one settle ends it.
type reserved struct{ slot runner.Slot }

// offer reserves a slot for a message that starts a turn.
func (e *Engine) offer(workspaceID parley.ID, startsTurn bool) reserved {
	if !startsTurn || e.runner == nil {
		return reserved{}
	}
	if slot, ok := e.runner.Offer(workspaceID); ok {
		return reserved{slot}
	}
	return reserved{}
}

// processID is the process that the store claims for; zero claims nothing.
func (r reserved) processID() parley.ID {
	if r.slot == nil {
		return parley.ID{}
	}
	return r.slot.ProcessID()
}

// settle runs the store's claim, or gives the slot back.
func (r reserved) settle(claim *store.Claim) {
	switch {
	case r.slot == nil:
	case claim != nil:
		r.slot.Run(*claim)
	default:
		r.slot.Release()
	}
}
