package worker

import (
	"encoding/json"
	"errors"
	"io"
	"testing"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/live"
	"example.org/parley/model"
)

// TestWatchedTurn follows a turn with a tool call and a failed attempt: deltas continue each other, add up to the text
// of the settle event, and every message is announced before it settles.
func TestWatchedTurn(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	chunk := func(kind model.ChunkKind, block int, s string) model.Chunk {
		return model.Chunk{Kind: kind, Block: block, Text: s}
	}
	r.model.play(
		fails(model.NewError(parley.ClassNetwork, true, "down", nil)),
		chunks(
			chunk(model.ChunkReasoning, 0, "Let me "),
			chunk(model.ChunkReasoning, 0, "see. "),
			text(1, "I look: "),
			text(1, "ä🌍"),
			model.Chunk{
				Kind:  model.ChunkToolCall,
				Block: 2,
				Name:  "nothing",
			},
			chunk(model.ChunkArguments, 2, `{"a":`),
			chunk(model.ChunkArguments, 2, `1}`),
			done(parley.FinishToolCalls),
		),
		chunks(text(0, "Not "), text(0, "there."), done(parley.FinishStop)),
	)
	sessionID := r.session(parley.Settings{}, nil)
	watch := r.hub.Watch(live.WatchRequest{Scope: r.scope, Sessions: []live.Place{{SessionID: sessionID}}})
	defer watch.Close()
	r.post(sessionID, "Go", "")

	created := map[parley.ID]bool{}
	shown := map[parley.ID]map[parley.ContentKind]string{}
	retried, settled := 0, 0
	for over := false; !over; {
		frame, err := watch.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		r.must(err)
		if frame.Kind == live.DeltaFrame {
			d := frame.Delta
			if !created[d.MessageID] {
				t.Fatalf("a delta of message %s was shown before the message was announced", d.MessageID)
			}
			texts := shown[d.MessageID]
			if texts == nil {
				texts = map[parley.ContentKind]string{}
				shown[d.MessageID] = texts
			}
			if d.Offset != 0 && d.Offset != len(texts[d.Kind]) {
				t.Fatalf("a delta at %d after %d bytes", d.Offset, len(texts[d.Kind]))
			}
			texts[d.Kind] = texts[d.Kind][:d.Offset] + d.Text
			continue
		}
		switch frame.Event.Type {
		case parley.EventMessageCreated:
			var data struct {
				MessageID parley.ID `json:"message_id"`
			}
			r.must(json.Unmarshal(frame.Event.Data, &data))
			created[data.MessageID] = true
		case parley.EventStepRetrying:
			retried++
		case parley.EventStepGenerated:
			var data event.Settled
			r.must(json.Unmarshal(frame.Event.Data, &data))
			for _, m := range data.Messages {
				settled++
				if !created[m.MessageID] {
					t.Errorf("message %s settled without being announced", m.MessageID)
				}
				checkShown(t, m, shown[m.MessageID])
			}
		default:
			over = frame.Event.Type.EndsTurn()
		}
	}
	if retried != 1 || settled != 3 {
		t.Errorf("%d retries and %d settled messages, want 1 and 3", retried, settled)
	}
}

// checkShown compares a message's deltas with its settle event.
func checkShown(t *testing.T, m event.SettledMessage, texts map[parley.ContentKind]string) {
	t.Helper()
	if m.Role == parley.RoleToolCall {
		var content parley.ToolCallContent
		if err := json.Unmarshal(
			m.Content,
			&content,
		); err != nil ||
			string(content.Arguments) != texts[parley.KindArguments] {
			t.Errorf("deltas told %q, the record says %s (%v)", texts, m.Content, err)
		}
		return
	}
	var content parley.AssistantContent
	if err := json.Unmarshal(m.Content, &content); err != nil {
		t.Fatal(err)
	}
	if content.Text != texts[parley.KindText] || content.Reasoning != texts[parley.KindReasoning] ||
		m.End != len(content.Text) {
		t.Errorf("deltas told %q, the record says %s with end %d", texts, m.Content, m.End)
	}
}
