package main

import (
	"testing"

	"example.org/parley/internal/gen/output"
)

// TestCommittedFilesAreWhatIsGenerated generates everything again, in memory.
func TestCommittedFilesAreWhatIsGenerated(t *testing.T) {
	t.Parallel()
	output.Check(t, "../..", generators()...)
}
