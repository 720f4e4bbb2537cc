package e2e

import (
	"strings"
	"testing"
	"time"

	"example.org/parley/client"
)

// TestWhatWasSaidIsFound: the command line finds messages, even if the process was killed
// before it had indexed them, and after the index was dropped.
func TestWhatWasSaidIsFound(t *testing.T) { onEach(t, whatWasSaidIsFound) }

func whatWasSaidIsFound(t *testing.T, at place) {
	s := startAt(t, at)
	session := newSession(t, s.client, "sim/echo")
	say := func(s *server, text string) {
		t.Helper()
		if _, err := s.client.Post(t.Context(), session.ID, client.UserMessage(text)); err != nil {
			t.Fatal(err)
		}
	}
	say(s, "the first needle")
	at.finds(t, "needle", "first")
	settled(t, s.client, session.ID, turnDeadline)
	say(s, "a zebrafink sings")
	s.kill()

	again := startAt(t, at)
	at.finds(t, "zebrafink", "sings")
	settled(t, again.client, session.ID, turnDeadline)
	again.terminate()
	if _, complained, err := at.parley(t, "reindex"); err != nil {
		t.Fatalf("reindex: %v %s", err, complained)
	}
	startAt(t, at)
	at.finds(t, "zebrafink sings", "sings")
	at.finds(t, "first needle", "first")
}

// finds searches from the command line until a text is found: the index is built in the
// background.
func (p place) finds(t *testing.T, words, text string) {
	t.Helper()
	deadline := time.Now().Add(turnDeadline)
	for {
		found, complained, err := p.parley(t, "search", words)
		if err != nil {
			t.Fatalf("search: %v %s", err, complained)
		}
		if strings.Contains(found, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not found: %s %s", words, found, complained)
		}
	}
}
