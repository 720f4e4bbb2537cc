package artifact

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// history keeps the versions of one artifact.
type history struct {
	shelf
	artifact parley.Artifact
	versions []parley.ArtifactVersion
}

func (h *history) ArtifactVersions(
	_ context.Context, _ store.Scope, _ parley.ID, query store.ArtifactVersionQuery,
) (page []parley.ArtifactVersion, _ error) {
	for _, v := range slices.Backward(h.versions) {
		if v.Number < query.After && len(page) < query.Limit {
			page = append(page, v)
		}
	}
	return page, nil
}

// write adds a version with a content.
func (h *history) write(parent, restored int, content string) {
	packed := pack(nil, nil, []byte(content))
	h.contents[packed.Hash] = packed
	h.versions = append(h.versions, parley.ArtifactVersion{
		Number: len(h.versions) + 1, Parent: parent, RestoredFrom: restored, ContentHash: packed.Hash,
	})
}

func newHistory(kind parley.ArtifactKind) *history {
	return &history{
		shelf: shelf{contents: map[parley.Hash]store.ArtifactContent{}}, artifact: parley.Artifact{Kind: kind},
	}
}

var enough = traceBounds{1 << 20, 1 << 30, time.Hour} //nolint:gochecknoglobals // constant

// TestAPassageIsFollowedThroughParents: over a version that began with an older one, over equal contents, and through
// a restored version to the one that it restored.
func TestAPassageIsFollowedThroughParents(t *testing.T) {
	t.Parallel()
	h := newHistory(parley.ArtifactMarkdown)
	h.write(0, 0, "one\ntwo\nthree\n")      // 1
	h.write(1, 0, "zero\none\nTWO\nthree")  // 2
	h.write(2, 0, "all is gone\n")          // 3
	h.write(3, 2, "zero\none\nTWO\nthree")  // 4, which restores 2
	h.write(1, 0, "one\ntwo\nand\nthree\n") // 5, in conflict: made of 1
	h.write(4, 0, "zero\none\nTWO\nthree")  // 6, without a change
	h.write(6, 0, "zero\none\nTWO\nend\n")  // 7
	for _, one := range []struct{ number, from, to, version, first int }{
		{7, 1, 1, 2, 1},
		{7, 2, 2, 1, 1},
		{7, 3, 3, 2, 3},
		{7, 4, 4, 7, 4},
		{7, 2, 3, 2, 2},
		{6, 4, 4, 1, 3},
		{5, 2, 2, 1, 2},
		{5, 3, 3, 5, 3},
		{5, 4, 4, 1, 3},
		{3, 1, 1, 3, 1},
		{1, 3, 3, 1, 3},
	} {
		found, err := enough.trace(t.Context(), h, store.Scope{}, &h.artifact, one.number,
			Passage{From: one.from, To: one.to})
		if err != nil || !found.Complete || found.Version.Number != one.version || found.Passage.From != one.first {
			t.Errorf("lines %d to %d of version %d are of version %d, line %d (%v); want version %d, line %d", one.from,
				one.to, one.number, found.Version.Number, found.Passage.From, err, one.version, one.first)
		}
	}
	if _, err := enough.trace(t.Context(), h, store.Scope{}, &h.artifact, 8, Passage{From: 1, To: 1}); parley.ErrorCode(
		err) != parley.CodeNotFound {
		t.Errorf("version 8: %v", err)
	}
	if _, err := enough.trace(t.Context(), h, store.Scope{}, &h.artifact, 1, Passage{From: 3, To: 4}); parley.ErrorCode(
		err) != parley.CodeInvalid {
		t.Errorf("a line too many: %v", err)
	}
}

// TestAValueIsFollowed: by its pointer, which moves with the items before it.
func TestAValueIsFollowed(t *testing.T) {
	t.Parallel()
	h := newHistory(parley.ArtifactJSON)
	h.write(0, 0, `{"list":["a"]}`)
	h.write(1, 0, `{"list":["new","a"]}`)
	h.write(2, 0, `{"list":["new","a"],"other":1}`)
	for pointer, want := range map[string]string{"/list/1": "1 /list/0", "/list/0": "2 /list/0", "": "3 "} {
		found, err := enough.trace(t.Context(), h, store.Scope{}, &h.artifact, 3, Passage{Pointer: pointer})
		if got := fmt.Sprint(found.Version.Number, " ", found.Passage.Pointer); err != nil || got != want {
			t.Errorf("%q is of %s, %v; want %s", pointer, got, err, want)
		}
	}
}

// TestFollowingIsBounded: each bound ends it with the oldest version that it has compared, and says so; a history that
// fits into all of them is followed to its beginning.
func TestFollowingIsBounded(t *testing.T) {
	t.Parallel()
	h := newHistory(parley.ArtifactText)
	const all = 3 * tracedPage
	for n := range all {
		h.write(n, 0, strings.Repeat("x\n", 10)+fmt.Sprintln(n))
	}
	for name, one := range map[string]struct {
		bounds   traceBounds
		version  int
		complete bool
	}{
		"no bound":    {enough, 1, true},
		"versions":    {traceBounds{10, 1 << 30, time.Hour}, all - 9, false},
		"just enough": {traceBounds{all, 1 << 30, time.Hour}, 1, true},
		"bytes":       {traceBounds{1 << 20, 1, time.Hour}, all, false},
		"time":        {traceBounds{1 << 20, 1 << 30, -1}, all, false},
	} {
		found, err := one.bounds.trace(t.Context(), h, store.Scope{}, &h.artifact, all, Passage{From: 2, To: 3})
		if err != nil || found.Version.Number != one.version || found.Complete != one.complete {
			t.Errorf("%s: version %d, complete %v, %v; want %d, %v", name, found.Version.Number, found.Complete, err,
				one.version, one.complete)
		}
	}
}
