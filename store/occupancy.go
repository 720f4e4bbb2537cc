package store

import (
	"maps"

	"example.org/parley"
)

// MaxClaims bounds how many sessions one Claim takes.
const MaxClaims = 256

// Occupancy says which workspaces hold the slots of one process, and decides who gets the next one: however many and
// however long the turns of one workspace are, another workspace's first turn can start.
//
// Any workspace may hold all Slots. A reserve adds a quarter on top (so the Slots are exactly the 80 % of all places
// that one workspace may hold). A workspace gets a reserved place only while it holds fewer turns here than places are
// left, so the last place is always for a workspace that holds none. Background work holds at most half of the Slots
// and, beyond that, up to half of all places under the same rule. With only a few slots that half has no place left for
// another workspace's background work; foreground work always has one.
type Occupancy struct {
	Slots      int               // concurrent turns of any workspaces
	Reserve    int               // further places, for workspaces that hold few
	Taken      int               // places in use or promised
	Background int               // of these, background work
	Held       map[parley.ID]int // turns by workspace; nil means none
}

// ReservedSlots returns how many places a process reserves on top of its slots.
func ReservedSlots(slots int) int {
	const quarter = 4
	if slots <= 0 {
		return 0
	}
	return (slots + quarter - 1) / quarter
}

// Free returns the number of free places.
func (o *Occupancy) Free() int { return max(0, o.Slots+o.Reserve-o.Taken) }

// Admits reports whether a workspace may take another place.
func (o *Occupancy) Admits(workspaceID parley.ID, mode parley.Mode) bool {
	switch {
	case o.Free() == 0:
		return false
	case mode == parley.ModeBackground && o.BackgroundFull() &&
		o.Held[workspaceID] >= o.backgroundLeft():
		return false
	case o.Taken < o.Slots:
		return true
	}
	return o.Held[workspaceID] < o.Free()
}

// AdmitsAny reports whether a workspace without turns here may take a place; if not, no workspace may.
func (o *Occupancy) AdmitsAny(mode parley.Mode) bool { return o.Admits(parley.ID{}, mode) }

// BackgroundFull reports whether background work holds its share, beyond which not every workspace gets a place for it.
func (o *Occupancy) BackgroundFull() bool { return o.Background >= max(1, o.Slots/2) }

// backgroundLeft returns how many more of all places background work may take.
func (o *Occupancy) backgroundLeft() int { return (o.Slots+o.Reserve)/2 - o.Background }

// Clone returns a deep copy.
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

// Promise takes a place for background work of a workspace that is not known yet.
func (o *Occupancy) Promise() {
	o.Taken++
	o.Background++
}

// Withdraw frees a promised place.
func (o *Occupancy) Withdraw() {
	o.Taken--
	o.Background--
}

// Leave frees a workspace's place.
func (o *Occupancy) Leave(workspaceID parley.ID, mode parley.Mode) {
	o.Taken--
	if o.Held[workspaceID]--; o.Held[workspaceID] <= 0 {
		delete(o.Held, workspaceID)
	}
	if mode == parley.ModeBackground {
		o.Background--
	}
}
