// Package bounded limits how long tests wait for their goroutines.
package bounded

import (
	"testing"
	"time"
)

// wait is how long a test waits for what takes milliseconds: after that, it hangs.
const wait = time.Minute

// Receive returns the next value of a channel, or the zero value if it is closed. The test fails if nothing arrives.
// Only the test's own goroutine may call it.
func Receive[T any](tb testing.TB, from <-chan T, what string) T {
	tb.Helper()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case value := <-from:
		return value
	case <-timer.C:
		tb.Fatalf("waited %s for %s", wait, what)
		panic("unreachable")
	}
}
