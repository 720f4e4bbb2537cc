package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

// newSession creates a session of a new agent with the built-in tool.
func newSession(t *testing.T, c *client.Client, model parley.ModelID) parley.Session {
	t.Helper()
	session, err := c.CreateSession(t.Context(), client.SessionInput{Settings: parley.Settings{Model: model}})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// record reads a session's whole record and checks its invariants.
func record(t *testing.T, c *client.Client, session parley.ID) []parley.Message {
	t.Helper()
	var messages []parley.Message
	for m, err := range c.AllMessages(t.Context(), session, client.MessagesQuery{Limit: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	results := map[string]int{}
	sequence := int64(0)
	for _, m := range messages {
		if m.Status == parley.MessageQueued || m.Sequence == 0 {
			continue
		}
		if sequence++; m.Sequence != sequence {
			t.Fatalf("sequence %d follows %d", m.Sequence, sequence-1)
		}
		if m.Role == parley.RoleToolResult {
			if results[m.ToolCallID]++; results[m.ToolCallID] > 1 {
				t.Fatalf("tool call %s has %d results", m.ToolCallID, results[m.ToolCallID])
			}
		}
	}
	return messages
}

// settled waits until no turn of a session is unfinished.
func settled(t *testing.T, c *client.Client, session parley.ID, within time.Duration) parley.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var after int64
	for {
		s, err := c.Session(ctx, session)
		if err != nil {
			t.Fatalf("session %s did not settle within %s: %v", session, within, err)
		}
		if s.TurnID.IsZero() {
			return s
		}
		for frame, err := range c.WatchSession(ctx, session, client.WatchSessionQuery{After: after}) {
			if err != nil {
				break
			}
			if frame.ID > after {
				after = frame.ID
			}
			if frame.Type.EndsTurn() {
				break
			}
		}
	}
}

// text is a message's text.
func text(t *testing.T, m parley.Message) string {
	t.Helper()
	var content struct{ Text string }
	if err := json.Unmarshal(m.Content, &content); err != nil {
		t.Fatal(err)
	}
	return content.Text
}

// fold builds texts from frames as a client would, and fails on a gap, a repeat, or an event
// out of order.
type fold struct {
	t     *testing.T
	texts map[parley.ID][]byte
	last  int64
	ended int
}

func newFold(t *testing.T) *fold { return &fold{t: t, texts: map[parley.ID][]byte{}} }

func (f *fold) take(frame client.Frame) {
	f.t.Helper()
	if frame.ID > 0 {
		if frame.ID != f.last+1 {
			f.t.Fatalf("event %d follows %d", frame.ID, f.last)
		}
		f.last = frame.ID
	}
	switch {
	case frame.Type == parley.EventStepGenerating:
		delta := frame.Event.(*event.StepGenerating)
		if delta.Kind != parley.KindText {
			return
		}
		have := f.texts[delta.MessageID]
		switch delta.Offset {
		case 0:
			have = have[:0]
		case len(have):
		default:
			f.t.Fatalf("a delta at %d follows %d bytes", delta.Offset, len(have))
		}
		have = append(have, delta.Delta...)
		if len(have) != delta.End {
			f.t.Fatalf("a delta ends at %d, but there are %d bytes", delta.End, len(have))
		}
		f.texts[delta.MessageID] = have
	case frame.Type == parley.EventStepGenerated || frame.Type == parley.EventStepError:
		var messages []event.SettledMessage
		switch step := frame.Event.(type) {
		case *event.StepGenerated:
			messages = step.Messages
		case *event.StepError:
			messages = step.Messages
		}
		for _, m := range messages {
			f.texts[m.MessageID] = []byte(text(f.t, parley.Message{Content: m.Content}))
		}
	case frame.Type.EndsTurn():
		f.ended++
	}
}

// check compares the folded texts with the record by SHA-256.
func (f *fold) check(messages []parley.Message) {
	f.t.Helper()
	compared := 0
	for _, m := range messages {
		if m.Role != parley.RoleAssistant {
			continue
		}
		compared++
		if sha256.Sum256(f.texts[m.ID]) != sha256.Sum256([]byte(text(f.t, m))) {
			f.t.Errorf("message %s: watched %q, recorded %q", m.ID, f.texts[m.ID], text(f.t, m))
		}
	}
	if compared == 0 {
		f.t.Error("no answer to compare")
	}
}
