package inflight

import (
	"sync"
	"testing"

	"example.org/parley"
)

func (b *Bytes) empty(t *testing.T) {
	t.Helper()
	if b.all != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes of %d workspaces are left", b.all, len(b.of))
	}
}

// step takes n bytes, or gives them back where n is negative.
type step struct {
	owner Owner
	n     int64
	takes bool
}

func (b *Bytes) play(t *testing.T, steps []step) {
	t.Helper()
	for i, s := range steps {
		if s.n < 0 {
			b.Give(s.owner, -s.n)
		} else if b.Take(s.owner, s.n) != s.takes {
			t.Errorf("step %d, taking %d: %t", i, s.n, !s.takes)
		}
	}
}

// TestAWorkspaceLeavesRoomForOthers: each takes half of what the others leave, and what is
// given back can be taken again.
func TestAWorkspaceLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	one, two, three := Owner{WorkspaceID: parley.NewID()}, Owner{WorkspaceID: parley.NewID()},
		Owner{WorkspaceID: parley.NewID()}
	b := NewBytes(64, 64)
	b.play(t, []step{
		{one, 33, false}, {one, 32, true}, {one, 1, false},
		{two, 17, false}, {two, 16, true}, {two, 1, false},
		{three, 9, false}, {three, 8, true}, {three, 1, false},
		{one, -32, true}, {three, 16, true}, {two, 4, true}, {two, 1, false},
		{two, -20, true}, {three, -24, true},
	})
	b.empty(t)
}

// TestAPrincipalLeavesRoomForOthers: it leaves room for others of its workspace, and takes no more than its own bound.
func TestAPrincipalLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	workspace := parley.NewID()
	ada, ben := Owner{workspace, parley.NewID()}, Owner{workspace, parley.NewID()}
	other := Owner{parley.NewID(), parley.NewID()}
	b := NewBytes(64, 12)
	b.play(t, []step{
		{ada, 13, false}, {ada, 12, true}, {ada, 1, false},
		{ben, 11, false}, {ben, 10, true}, {ben, 1, false},
		{other, 12, true},
		{ada, -12, true}, {ben, 2, true}, {ben, -12, true}, {other, -12, true},
	})
	b.empty(t)
}

func TestBytesOfMany(t *testing.T) {
	t.Parallel()
	b := NewBytes(100, 100)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			owner := Owner{parley.NewID(), parley.NewID()}
			for range 1000 {
				if b.Take(owner, 5) {
					b.Give(owner, 5)
				}
			}
		})
	}
	all.Wait()
	b.empty(t)
}

// TestHolding: beyond its free bytes, what a piece of work holds counts until it ends.
func TestHolding(t *testing.T) {
	t.Parallel()
	b := NewBytes(20, 0)
	owner := Owner{WorkspaceID: parley.NewID()}
	h := b.Holding(owner, 4)
	for i, step := range []struct {
		n     int64
		takes bool
		all   int64
	}{{3, true, 0}, {2, true, 1}, {10, false, 1}, {9, true, 10}, {1, false, 10}} {
		if h.Take(step.n) != step.takes || b.all != step.all {
			t.Errorf("step %d, taking %d: %t, and %d are held; want %d", i, step.n, !step.takes, b.all, step.all)
		}
	}
	h.End()
	h.End()
	b.empty(t)
}
