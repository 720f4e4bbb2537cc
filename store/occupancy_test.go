package store_test

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
	"pgregory.net/rapid"
)

const (
	foreground = parley.ModeForeground
	background = parley.ModeBackground
)

// TestOneWorkspaceFillsTheSlotsAlone: one workspace takes all slots and no more, and the first turn of another always
// finds a place.
func TestOneWorkspaceFillsTheSlotsAlone(t *testing.T) {
	t.Parallel()
	for slots := 1; slots <= 200; slots++ {
		o := store.Occupancy{Slots: slots, Reserve: store.ReservedSlots(slots)}
		many, other := parley.NewID(), parley.NewID()
		for o.Admits(many, foreground) {
			o.Take(many, foreground)
		}
		if o.Taken != slots {
			t.Fatalf("of %d slots one workspace took %d", slots, o.Taken)
		}
		if share := 100 * o.Taken / (slots + o.Reserve); share > 80 {
			t.Fatalf("of %d slots that is %d %% of all places", slots, share)
		}
		if !o.Admits(other, foreground) {
			t.Fatalf("with %d slots another workspace's first turn finds no place", slots)
		}
		if half := max(1, slots/2); !o.Admits(other, background) {
			t.Fatalf("background work holds none of its %d", half)
		}
	}
}

// TestNewcomersFindAPlace: a new workspace finds a place whatever a few greedy workspaces took before, in any order.
func TestNewcomersFindAPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 300).Draw(t, "slots")
		o := store.Occupancy{Slots: slots, Reserve: store.ReservedSlots(slots)}
		few := 1 // one workspace takes the slots; each further one halves the reserve, and one place must remain
		for left := o.Reserve; left > 1; left /= 2 {
			few++
		}
		greedy := make([]parley.ID, rapid.IntRange(1, few).Draw(t, "greedy"))
		for i := range greedy {
			greedy[i] = parley.NewID()
		}
		for range rapid.IntRange(1, 3*few).Draw(t, "bursts") {
			who := rapid.SampledFrom(greedy).Draw(t, "who")
			mode := rapid.SampledFrom([]parley.Mode{foreground, background}).Draw(t, "mode")
			for range rapid.IntRange(1, slots+o.Reserve).Draw(t, "wants") {
				switch {
				case o.Admits(who, mode):
					o.Take(who, mode)
				case mode == foreground && o.Taken < o.Slots:
					t.Fatalf("a slot is free and nobody gets it: %+v", o)
				}
			}
		}
		if o.Background > max(1, slots/2, (slots+o.Reserve)/2) {
			t.Fatalf("background work holds %d of %d", o.Background, slots+o.Reserve)
		}
		if !o.Admits(parley.NewID(), foreground) {
			t.Fatalf("%d workspaces hold everything: %+v", len(greedy), o)
		}
	})
}

// TestLeavingUndoesTaking: leaving undoes taking completely.
func TestLeavingUndoesTaking(t *testing.T) {
	t.Parallel()
	o := store.Occupancy{Slots: 3, Reserve: 1}
	who := parley.NewID()
	o.Take(who, background)
	copied := o.Clone()
	o.Leave(who, background)
	if o.Taken != 0 || o.Background != 0 || len(o.Held) != 0 {
		t.Errorf("after all have left: %+v", o)
	}
	if copied.Taken != 1 || copied.Held[who] != 1 {
		t.Errorf("the copy changed too: %+v", copied)
	}
}
