package worker

import (
	"context"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/live"
	"example.org/parley/store"
)

// far is a relay to processes that the test plays: it collects the pieces sent to them.
type far struct{ told chan store.StreamPiece }

func (far) Hear(store.RelayListener) {}

func (f far) Tell(hints store.RelayHints) {
	for _, piece := range hints.Pieces {
		f.told <- piece
	}
}

func (far) Streamed(context.Context, []parley.ID, []store.StreamEnd) ([]store.StreamPiece, error) {
	return nil, nil
}

// next returns the next piece sent to other processes.
func (f far) next(r *rig) store.StreamPiece {
	r.Helper()
	select {
	case piece := <-f.told:
		return piece
	case <-time.After(patience):
		r.Fatal("nothing was told to other processes")
		return store.StreamPiece{}
	}
}

// A watcher in another process that lacks text makes the holder write it to the store immediately, whatever the
// interval of the store flush, and is told when it is there.
func TestFlushForWatchersElsewhere(t *testing.T) {
	r := newRig(t)
	r.hub.Close()
	elsewhere := far{make(chan store.StreamPiece, 64)}
	r.hub = live.New(r.store, live.Options{Relay: elsewhere})
	r.store.Listen(r.hub)
	r.options.StoreFlush = time.Hour
	reached := make(chan struct{})
	r.model.play(hangs(reached, text(0, "So "), text(0, "far")))
	r.start(nil)
	sessionID := r.session(parley.Settings{}, nil)
	other := parley.NewID()
	want := func(flush bool) {
		r.hub.Heard(
			other,
			store.RelayHints{Interests: []store.Interest{{SessionID: sessionID, PaceMS: 5, Flush: flush}}},
		)
	}
	want(false)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the text", reached)
	piece := elsewhere.next(r)
	for piece.Offset+len(piece.Text) < len("So far") {
		piece = elsewhere.next(r)
	}
	if versions, err := r.store.Versions(t.Context(), r.scope, piece.MessageID); err != nil || len(versions) != 0 {
		t.Fatalf("%d versions, %v: text was flushed before anyone wanted it", len(versions), err)
	}
	want(true)
	kept := elsewhere.next(r)
	if kept.Text != "" || kept.Offset != len("So far") || kept.MessageID != piece.MessageID {
		t.Errorf("told %+v", kept)
	}
	versions, err := r.store.Versions(t.Context(), r.scope, piece.MessageID)
	if err != nil || len(versions) != 1 || versions[0].Text != "So far" {
		t.Errorf("versions %+v, %v", versions, err)
	}
	_, err = r.store.RequestCancel(t.Context(), r.scope, sessionID, turnID, false)
	r.must(err)
	r.ended(turnID)
}
