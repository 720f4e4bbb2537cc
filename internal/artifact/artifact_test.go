package artifact

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// shelf keeps contents only: what read asks of a store.
type shelf struct {
	Store
	contents map[parley.Hash]store.ArtifactContent
}

func (s *shelf) ArtifactContent(
	_ context.Context,
	_ parley.ID,
	hash parley.Hash,
) (chain []store.ArtifactContent, _ error) {
	for !hash.IsZero() {
		one := s.contents[hash]
		chain, hash = append([]store.ArtifactContent{one}, chain...), one.BaseHash
	}
	return chain, nil
}

// TestContentsComeBack: whatever is written after each other comes back byte by byte, over at most six patches,
// and small changes of a large content take little room.
func TestContentsComeBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	s := &shelf{contents: map[parley.Hash]store.ArtifactContent{}}
	content := make([]byte, 20<<10)
	for i := range content {
		content[i] = byte(random.IntN(256))
	}
	var chain []store.ArtifactContent
	var newest, on []byte
	stored, longest := 0, 0
	for n := range 3 * span {
		if n > 0 {
			content = bytes.Clone(content)
			at := random.IntN(len(content) - 200)
			for i := range 200 {
				content[at+i] = byte(random.IntN(256))
			}
		}
		if n == span+3 { // nothing is left of it
			content = bytes.Repeat([]byte("all new "), 1000)
		}
		packed := pack(chain, on, content)
		s.contents[packed.Hash] = packed
		stored += len(packed.Patch)
		var err error
		chain, newest, on, err = read(t.Context(), s, parley.ID{}, packed.Hash)
		if err != nil || !bytes.Equal(newest, content) {
			t.Fatalf("content %d does not come back: %v", n, err)
		}
		longest = max(longest, len(chain)-1)
	}
	if longest > 6 || longest > store.MaxContentChain {
		t.Errorf("%d patches make one content", longest)
	}
	if most := 6 * 200 * 3 * span; stored > most {
		t.Errorf("%d bytes are stored; at most %d", stored, most)
	}
}

// TestDamageIsFound: a content whose patch was exchanged is an error, not another text.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	one, other := pack(nil, nil, []byte("one")), pack(nil, nil, []byte("other"))
	other.Hash = one.Hash
	s := &shelf{contents: map[parley.Hash]store.ArtifactContent{one.Hash: other}}
	if _, content, _, err := read(t.Context(), s, parley.ID{}, one.Hash); err == nil {
		t.Errorf("a damaged content reads as %q", content)
	}
}
