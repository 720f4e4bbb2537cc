package httpapi

import (
	"encoding/json"
	"testing"

	"example.org/parley"
	"example.org/parley/live"
	"example.org/parley/protocol"
	"example.org/parley/store"
)

// sampleID is an id that is the same in every run.
func sampleID(n byte) parley.ID { return parley.ID{0: 0x01, 1: 0x9c, 6: 0x70, 8: 0x80, 15: n} }

const (
	sampleSession = `"019c0000-0000-7000-8000-000000000001"`
	sampleMessage = `"019c0000-0000-7000-8000-000000000002"`
)

func sampleFrames() []live.Frame {
	session := sampleID(1)
	event := parley.Event{
		SessionID: session,
		Sequence:  7,
		Type:      parley.EventMessageRemoved,
		CreatedAt: 1_700_000_000_123,
		Data:      json.RawMessage(`{"message_id":` + sampleMessage + `}`),
	}
	dry := event
	dry.Sequence = 0
	broken := event
	broken.Data = json.RawMessage("{\"a\":\r\n 1}")
	return []live.Frame{
		{Kind: live.EventFrame, SessionID: session, Event: event},
		{Kind: live.EventFrame, SessionID: session, Event: dry},
		{Kind: live.EventFrame, SessionID: session, Event: broken},
		{
			Kind:      live.DeltaFrame,
			SessionID: session,
			Delta: live.Delta{
				SessionID: session,
				MessageID: sampleID(2),
				Kind:      parley.KindText,
				Offset:    3,
				End:       12,
				Text:      "\"é\n\u2028\x01 <b>",
			},
		},
		{
			Kind:      live.FeedFrame,
			SessionID: session,
			Feed: store.FeedEvent{
				SessionID: session,
				Type:      parley.FeedSessionActivated,
				Data:      json.RawMessage(`{"client_id":"tab"}`),
			},
		},
		{
			Kind:      live.FeedFrame,
			SessionID: session,
			Feed:      store.FeedEvent{SessionID: session, Type: parley.FeedSessionDeleted},
		},
		{Kind: live.ResyncFrame, SessionID: session, Reason: parley.ResyncBeyond},
		{Kind: live.ResyncFrame, Reason: parley.ResyncConnected},
	}
}

// TestFramesStayAsTheyAre holds every kind of frame against what was sent before
// events were described.
func TestFramesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	want := []string{
		"event: message.removed\nid: 7\ndata: {\"session_id\":" + sampleSession +
			`,"sequence":7,"type":"message.removed","created_at":"2023-11-14T22:13:20.123Z","data":{"message_id":` +
			sampleMessage + "}}\n\n",
		"event: message.removed\ndata: {\"session_id\":" + sampleSession +
			`,"sequence":null,"type":"message.removed","created_at":"2023-11-14T22:13:20.123Z","data":{"message_id":` +
			sampleMessage + "}}\n\n",
		"event: message.removed\nid: 7\ndata: {\"session_id\":" + sampleSession +
			`,"sequence":7,"type":"message.removed","created_at":"2023-11-14T22:13:20.123Z","data":{"a":1}}` + "\n\n",
		"event: step.generating\ndata: {\"session_id\":" + sampleSession +
			`,"type":"step.generating","data":{"message_id":` + sampleMessage +
			`,"kind":"text","offset":3,"end":12,"delta":"\"é\n` + "\u2028" + `\u0001 <b>"}}` + "\n\n",
		"event: session.activated\ndata: {\"session_id\":" + sampleSession +
			`,"type":"session.activated","data":{"client_id":"tab"}}` + "\n\n",
		"event: session.deleted\ndata: {\"session_id\":" + sampleSession +
			`,"type":"session.deleted","data":{}}` + "\n\n",
		"event: resync\ndata: {\"session_id\":" + sampleSession +
			`,"type":"resync","data":{"reason":"beyond"}}` + "\n\n",
		"event: resync\ndata: {\"session_id\":null,\"type\":\"resync\",\"data\":{\"reason\":\"connected\"}}\n\n",
	}
	frames := sampleFrames()
	for i := range frames {
		if got := string(appendFrame(nil, &frames[i])); got != want[i] {
			t.Errorf("frame %d:\n got %s\nwant %s", i, got, want[i])
		}
	}
}

// BenchmarkFrames writes a delta and an event, the two that streams are made of.
func BenchmarkFrames(b *testing.B) {
	frames := sampleFrames()
	for _, of := range []struct {
		name  string
		frame *live.Frame
	}{{"event", &frames[0]}, {"delta", &frames[3]}} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			buffer := make([]byte, 0, protocol.FullBuffer)
			for b.Loop() {
				buffer = appendFrame(buffer[:0], of.frame)
			}
		})
	}
}
