package live

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestRawIsBounded: a reader who reads nothing keeps the latest text alone, and sees where some is missing; a turn's
// reader sees that turn's; without readers nothing is kept.
func TestRawIsBounded(t *testing.T) {
	t.Parallel()
	source := newRecord()
	hub := newHub(t, source, never)
	turn, other := parley.NewID(), parley.NewID()
	places := []Place{{source.id, FromNow}}
	slow := hub.Watch(WatchRequest{Sessions: places, Raw: true})
	ofTurn := hub.Watch(WatchRequest{Sessions: places, Raw: true, UntilTurn: other})
	defer ofTurn.Close()
	hub.Committed(source.add(1, nil, created(turn, parley.NewID())))
	line := strings.Repeat("x", 1000)
	const pieces = 1000
	for n := range int64(pieces) {
		piece := store.RawPiece{SessionID: source.id, TurnID: turn, Offset: n, End: n + 1, Text: line}
		if n == pieces-1 {
			piece.TurnID = other
		}
		hub.AppendRaw(piece)
	}
	var bytes int
	first, last := int64(-1), int64(-1)
	for last < pieces {
		frame, err := slow.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if frame.Kind != RawFrame {
			continue
		}
		if first < 0 {
			first = frame.Raw.Offset
		}
		bytes, last = bytes+len(frame.Raw.Text), frame.Raw.End
	}
	if first == 0 || bytes > tapeBytes || bytes < tapeBytes/2 {
		t.Errorf("the slow reader got %d bytes from piece %d on", bytes, first)
	}
	for {
		frame, err := ofTurn.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if frame.Kind == RawFrame {
			if frame.Raw.TurnID != other {
				t.Error("the turn's reader sees text of another turn")
			}
			break
		}
	}
	slow.Close()
	ofTurn.Close()
	hub.mu.RLock()
	r := hub.rooms[source.id]
	hub.mu.RUnlock()
	if hub.WantsRaw(source.id) || r != nil && len(r.raw.pieces) > 0 {
		t.Error("text is kept without readers")
	}
}
