package artifact

import (
	"context"
	"testing"

	"example.org/parley"
)

// TestLargeContentsWaitForEachOther: work on large contents takes turns, by workspace and in all; work on small ones
// waits for nothing.
func TestLargeContentsWaitForEachOther(t *testing.T) {
	t.Parallel()
	p := NewPlaces()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	in := func(bytes int64) *parley.Artifact {
		return &parley.Artifact{WorkspaceID: parley.NewID(), Version: 3, Bytes: bytes}
	}
	first, second := in(smallContent+1), in(smallContent+1)
	leave, err := p.Enter(t.Context(), first, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Enter(gone, first, 0); err == nil {
		t.Error("a workspace works on two large contents at once")
	}
	leaveSecond, err := p.Enter(t.Context(), second, 0)
	if err != nil {
		t.Fatal(err)
	}
	small := in(smallContent)
	for name, large := range map[string]func() error{
		"artifact": func() error { _, err := p.Enter(gone, in(smallContent+1), 0); return err },
		"content":  func() error { _, err := p.Enter(gone, small, smallContent+1); return err },
		"version":  func() error { _, err := p.Enter(gone, small, 0, 3, 2); return err },
	} {
		if large() == nil {
			t.Errorf("a third large %s is worked on at once", name)
		}
	}
	for _, version := range []int{0, 3} {
		if _, err := p.Enter(gone, small, smallContent, version); err != nil {
			t.Errorf("a small content waits: %v", err)
		}
	}
	leave()
	leaveSecond()
	if leave, err = p.Enter(t.Context(), first, 0); err != nil {
		t.Fatal(err)
	}
	leave()
}
