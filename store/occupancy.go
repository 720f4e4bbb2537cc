package store

import (
	"maps"

	"example.org/parley"
)

// MaxClaims bounds the sessions that one Claim takes.
const MaxClaims = 256

// Occupancy is who holds the places of one process, and the rule by which the
// next one is given away, so that no workspace's turns, however many and however
// long, keep another's first from starting.
//
// The process's Slots are everyone's: one workspace may hold all of them. Beyond
// them a quarter more is kept in reserve (so the 80 % of all places that one
// workspace can hold are exactly the Slots), and a workspace gets a reserved
// place only while it holds fewer turns here than there are places left: the
// last one is always for a workspace that holds none. Background work holds at
// most half of the Slots, and beyond that up to half of all places by the same
// rule. With a handful of slots that half leaves no place to keep for another
// workspace's background work; for its foreground there always is one.
type Occupancy struct {
	Slots      int               // turns at once, of anyone
	Reserve    int               // places beyond, for workspaces that hold few
	Taken      int               // places taken, those included that are only spoken for
	Background int               // of these by background work
	Held       map[parley.ID]int // turns by workspace; may be nil while there are none
}

// ReservedSlots is how many places a process keeps beyond its slots.
func ReservedSlots(slots int) int {
	const quarter = 4
	if slots <= 0 {
		return 0
	}
	return (slots + quarter - 1) / quarter
}

// Free is how many places nobody has.
func (o *Occupancy) Free() int { return max(0, o.Slots+o.Reserve-o.Taken) }

// Admits reports whether a workspace may take another place.
func (o *Occupancy) Admits(workspaceID parley.ID, mode parley.Mode) bool {
	switch {
	case o.Free() == 0:
		return false
	case mode == parley.ModeBackground && o.Background >= max(1, o.Slots/2) &&
		o.Held[workspaceID] >= o.backgroundLeft():
		return false
	case o.Taken < o.Slots:
		return true
	}
	return o.Held[workspaceID] < o.Free()
}

// AdmitsAny reports whether a workspace that holds nothing here may take another
// place; if not, nobody may.
func (o *Occupancy) AdmitsAny(mode parley.Mode) bool { return o.Admits(parley.ID{}, mode) }

// backgroundLeft is what background work may still take of its half of all places.
func (o *Occupancy) backgroundLeft() int { return (o.Slots+o.Reserve)/2 - o.Background }

// Clone is a copy that shares nothing.
func (o *Occupancy) Clone() Occupancy {
	copied := *o
	copied.Held = maps.Clone(o.Held)
	return copied
}

// Take gives a place to a workspace.
func (o *Occupancy) Take(workspaceID parley.ID, mode parley.Mode) {
	if o.Held == nil {
		o.Held = map[parley.ID]int{}
	}
	o.Taken++
	o.Held[workspaceID]++
	if mode == parley.ModeBackground {
		o.Background++
	}
}

// Leave takes it back.
func (o *Occupancy) Leave(workspaceID parley.ID, mode parley.Mode) {
	o.Taken--
	if o.Held[workspaceID]--; o.Held[workspaceID] <= 0 {
		delete(o.Held, workspaceID)
	}
	if mode == parley.ModeBackground {
		o.Background--
	}
}
