package main

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/client"
)

// TestLineagesArePrintedAsTrees: each node once with what led to it below, also one that may not be seen.
func TestLineagesArePrintedAsTrees(t *testing.T) {
	t.Parallel()
	name := func(text string) *string { return &text }
	found := client.Lineage{
		Changed: &client.LineageChange{Version: 2, Range: "3-4", Complete: true},
		Nodes: []client.LineageNode{
			{
				ID: "a", Kind: parley.LineageArtifact, Name: name("Outline"), Version: 2, Stale: true,
				Author: &parley.Author{Name: "Writer"},
			},
			{ID: "b", Kind: parley.LineageTransform, Name: name("write"), Status: "completed"},
			{ID: "c", Kind: parley.LineageArtifact},
			{ID: "d", Kind: parley.LineageMessage, Purged: true},
		},
		Edges: []client.LineageEdge{
			{From: "b", To: "a", Kind: parley.LineageOutput},
			{From: "c", To: "b", Kind: parley.LineageInput, Range: "7"},
			{From: "d", To: "c", Kind: parley.LineageWrote},
			{From: "c", To: "a", Kind: parley.LineageParent},
		},
		Truncated: true,
	}
	const want = `last changed in version 2 (lines 3-4)
artifact "Outline" version 2 by "Writer", stale
  output: transform "write"
    input: artifact that you may not see at 7
      wrote: message that was deleted
  parent: artifact that you may not see (shown above)
… and more, which is too much to show
`
	out := &strings.Builder{}
	if err := printLineage(terminal{out: out}, &found, false); err != nil || out.String() != want {
		t.Errorf("printed, %v:\n%s", err, out)
	}
}
