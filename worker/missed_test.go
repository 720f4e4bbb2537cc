package worker

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
)

// A tool that an agent names and this server lacks is logged once per version of the agent, not once per turn.
func TestAMissingToolIsLoggedOncePerVersion(t *testing.T) {
	r := newRig(t)
	var log loggedText
	r.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	r.start(nil)
	sessionID := r.session(tooled("gone", "lost__*"), nil)
	for range 3 {
		r.model.play(says("Done."))
		if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
			t.Fatalf("the turn is %+v", turn)
		}
	}
	for _, name := range []string{"gone", "lost__*"} {
		if n := strings.Count(log.String(), "tool="+name); n != 1 {
			t.Errorf("%s is logged %d times:\n%s", name, n, log.String())
		}
	}
}

// TestMissingToolsTakeBoundedMemory: a worker does not remember without end, and tells versions apart.
func TestMissingToolsTakeBoundedMemory(t *testing.T) {
	m, agentID := &missed{}, parley.NewID()
	for n := range 3 * maxMissed {
		if !m.first(missedTool{agentID, n, "gone"}) {
			t.Fatalf("version %d was told of before", n)
		}
		if m.first(missedTool{agentID, n, "gone"}) {
			t.Fatalf("version %d is told of twice", n)
		}
		if len(m.told) > maxMissed {
			t.Fatal(fmt.Sprint(len(m.told), " are remembered"))
		}
	}
}

// loggedText collects a log.
type loggedText struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *loggedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *loggedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
