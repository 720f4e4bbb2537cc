package main

import (
	"testing"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// TestFlushSettingsReachTheServer: the live interval decides how many deltas a watcher gets, the store's how many
// versions are kept, each by itself (row A10).
func TestFlushSettingsReachTheServer(t *testing.T) {
	t.Parallel()
	const words = 20 // of an answer, one every 20 ms
	answered := func(t *testing.T, live, store string) (deltas, versions int) {
		t.Helper()
		srv, c := opened(t, t.TempDir(), map[string]string{"PARLEY_FLUSH_LIVE": live, "PARLEY_FLUSH_STORE": store},
			&lockedLog{})
		defer func() {
			c.Close()
			if err := srv.close(); err != nil {
				t.Error(err)
			}
		}()
		session, err := c.CreateSession(t.Context(), client.SessionInput{
			Settings: parley.Settings{Model: "sim/lorem-20-20"},
		})
		if err != nil {
			t.Fatal(err)
		}
		var message parley.ID
		for frame, err := range c.PostMessageStream(t.Context(), session.ID, client.UserMessage("Go on.")) {
			if err != nil {
				t.Fatal(err)
			}
			if told, ok := frame.Event.(*event.StepGenerating); ok {
				deltas, message = deltas+1, told.MessageID
			}
		}
		page, err := c.Versions(t.Context(), message)
		if err != nil {
			t.Fatal(err)
		}
		return deltas, len(page.Data)
	}
	each, kept := answered(t, "0s", "60s")
	if each < words/2 || kept > 1 { // a reader that comes late finds two words at once
		t.Errorf("without merging there are %d deltas; with a flush a minute %d versions", each, kept)
	}
	merged, flushed := answered(t, "60s", "10ms")
	if merged > 3 || flushed <= kept {
		t.Errorf("merged for a minute there are %d deltas; with a flush every 10 ms %d versions", merged, flushed)
	}
}
