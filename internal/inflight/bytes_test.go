package inflight

import (
	"sync"
	"testing"

	"example.org/parley"
)

// TestBytes: no owner takes more than its share, nor what others hold, and returned bytes can be taken again.
func TestBytes(t *testing.T) {
	t.Parallel()
	ada, ben := parley.NewID(), parley.NewID()
	b := NewBytes(10, 6)
	for _, step := range []struct {
		owner parley.ID
		n     int64
		takes bool
	}{{ada, 6, true}, {ada, 1, false}, {ben, 5, false}, {ben, 4, true}, {ben, 1, false}, {ada, -6, true},
		{ben, 2, true}, {ada, 4, true}} {
		if step.n < 0 {
			b.Give(step.owner, -step.n)
		} else if b.Take(step.owner, step.n) != step.takes {
			t.Errorf("taking %d: %t", step.n, !step.takes)
		}
	}
	b.Give(ada, 4)
	b.Give(ben, 6)
	if b.all != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes of %d owners are left", b.all, len(b.of))
	}
}

func TestBytesOfMany(t *testing.T) {
	t.Parallel()
	b := NewBytes(100, 100)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			id := parley.NewID()
			for range 1000 {
				if b.Take(id, 20) {
					b.Give(id, 20)
				}
			}
		})
	}
	all.Wait()
	if b.all != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes of %d owners are left", b.all, len(b.of))
	}
}
