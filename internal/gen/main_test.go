package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const root = "../.."

// TestCommittedFilesAreWhatIsGenerated generates everything again, in memory.
func TestCommittedFilesAreWhatIsGenerated(t *testing.T) {
	t.Parallel()
	all, err := files(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range all {
		got, err := os.ReadFile(filepath.Join(root, path)) //nolint:gosec // of this repository
		switch {
		case err != nil:
			t.Errorf("%s is generated and not committed: run make generate", path)
		case !bytes.Equal(got, want):
			t.Errorf("%s is not what is generated: run make generate", path)
		}
	}
	if len(all) == 0 {
		t.Error("nothing is generated")
	}
}
