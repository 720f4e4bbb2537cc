package main

import (
	"testing"

	"example.org/parley/internal/gen/output"
)

// TestCommittedFilesAreWhatIsGenerated reads the API again and generates everything, in memory.
func TestCommittedFilesAreWhatIsGenerated(t *testing.T) {
	t.Parallel()
	output.Check(t, "../../..", generators()...)
}
