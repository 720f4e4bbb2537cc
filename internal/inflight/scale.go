package inflight

import (
	"math"
	"runtime/debug"
)

// Scale returns the factor for bounds given per GiB of memory: the GiB of GOMEMLIMIT, at least 1.
func Scale() int64 {
	limit := debug.SetMemoryLimit(-1) // a negative limit only reads
	if limit == math.MaxInt64 {
		return 1
	}
	return max(1, limit>>30)
}
