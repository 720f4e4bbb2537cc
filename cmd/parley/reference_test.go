package main

import (
	"os"
	"testing"
)

// The committed page is what the commands say of themselves today.
func TestReferenceIsUpToDate(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	if reference(rootCommand(terminal{})) != string(committed) {
		t.Error("docs/reference/cli.md is not what the commands say: run make generate")
	}
}
