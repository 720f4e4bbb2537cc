package parley

import (
	"testing"
	"time"
)

// TestIDsOutliveAClockThatGoesBack: the test pretends that the clock was an hour ahead until now. New ids still sort
// after the earlier ones.
func TestIDsOutliveAClockThatGoesBack(t *testing.T) {
	before := NewID()
	minter.mu.Lock()
	was := minter.last
	minter.last = time.Now().Add(time.Hour).UnixMilli()
	minter.mu.Unlock()
	t.Cleanup(func() {
		minter.mu.Lock()
		defer minter.mu.Unlock()
		minter.last = was
	})
	const n = 10_000 // more than one millisecond holds
	for range n {
		next := NewID()
		if before.Compare(next) >= 0 {
			t.Fatalf("%s was minted before %s and does not sort before it", before, next)
		}
		before = next
	}
}
