package inflight

import (
	"math"
	"runtime/debug"
)

// Scale is by how many times what is bounded for 1 GiB of memory may be more: as many as
// GOMEMLIMIT names, 1 where it names less or nothing.
func Scale() int64 {
	limit := debug.SetMemoryLimit(-1) // asks, and changes nothing
	if limit == math.MaxInt64 {
		return 1
	}
	return max(1, limit>>30)
}
