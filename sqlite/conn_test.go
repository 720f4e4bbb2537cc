package sqlite

import (
	"bytes"
	"testing"

	"example.org/parley"
)

// TestIDsAndHashesAreBoundWithoutAllocations binds what most of a turn's columns hold.
func TestIDsAndHashesAreBoundWithoutAllocations(t *testing.T) {
	c := newConn(nil)
	ids := []parley.ID{parley.NewID(), parley.NewID(), {}}
	hash := parley.Hash{1, 2, 3}
	args := []arg{&ids[0], &ids[1], &hash, &ids[2]}
	named, err := c.bind(args)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]byte{ids[0][:], ids[1][:], hash[:], nil} {
		if got, _ := named[i].Value.([]byte); !bytes.Equal(got, want) {
			t.Errorf("argument %d is bound as %x, want %x", i+1, got, want)
		}
	}
	if named[3].Value != nil {
		t.Errorf("an id of zero is bound as %v, want NULL", named[3].Value)
	}
	if allocations := testing.AllocsPerRun(100, func() {
		if _, err := c.bind(args); err != nil {
			t.Fatal(err)
		}
	}); allocations != 0 {
		t.Errorf("binding allocates %v times, want 0", allocations)
	}
}
