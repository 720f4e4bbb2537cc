package main

import (
	"os"
	"path/filepath"
	"testing"
)

// What the repository holds is what the descriptions say.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	for file, want := range files() {
		got, err := os.ReadFile(filepath.Join("../../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is not what the package setting describes: run make generate, and commit it", file)
		}
	}
}
