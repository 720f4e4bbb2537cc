package artifact

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.org/parley"
)

func TestLargeDocumentsWaitForRoom(t *testing.T) {
	large := []byte("[" + strings.Repeat("{},", 300_000) + "{}]")
	if err := room.Acquire(t.Context(), roomBytes); err != nil {
		t.Fatal(err)
	}
	over, end := context.WithCancel(t.Context())
	end()
	if _, err := Hold(over, parley.ArtifactJSON, large); !errors.Is(err, context.Canceled) {
		t.Errorf("without room: %v", err)
	}
	if _, err := Hold(over, parley.ArtifactJSON, []byte("{}")); err != nil {
		t.Errorf("a small document waits: %v", err)
	}
	room.Release(roomBytes)
	release, err := Hold(t.Context(), parley.ArtifactJSON, large, large, large, large)
	if err != nil {
		t.Fatalf("one that takes all the room: %v", err)
	}
	release()
}
