package live

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/observe"
	"example.org/parley/store"
)

func TestStatsCountFrames(t *testing.T) {
	source := newRecord()
	hub := newHub(t, source, never)
	workspace, turn, id := parley.NewID(), parley.NewID(), parley.NewID()
	w := hub.Watch(WatchRequest{Sessions: []Place{{source.id, 0}}, Flush: time.Nanosecond})
	feed := hub.Watch(WatchRequest{Scope: store.Scope{WorkspaceID: workspace}, Feed: true})
	hub.Committed(source.add(1, nil, created(turn, id)))
	stream := hub.Open(StreamRef{SessionID: source.id, TurnID: turn, MessageID: id, Epoch: 1})
	stream.Append(parley.KindText, "Hello")
	for kind := EventFrame; kind != DeltaFrame; {
		frame, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		kind = frame.Kind
	}
	for range feedEvents + 1 {
		hub.Committed(
			store.Commit{
				WorkspaceID: workspace,
				Feed:        []store.FeedEvent{{WorkspaceID: workspace, SessionID: parley.NewID()}},
			},
		)
	}
	want := observe.StreamStats{Watchers: 2, Feeds: 1, Seats: 1, Streams: 1, Events: 1, Deltas: 1, Overflows: 1}
	if diff := cmp.Diff(want, hub.Stats()); diff != "" {
		t.Errorf("while they watch (-want +got):\n%s", diff)
	}
	w.Close()
	feed.Close()
	feed.Close() // closing twice counts once
	stream.Drop()
	want.Watchers, want.Feeds, want.Seats, want.Streams = 0, 0, 0, 0
	if diff := cmp.Diff(want, hub.Stats()); diff != "" {
		t.Errorf("when they are gone (-want +got):\n%s", diff)
	}
}
