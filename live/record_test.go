package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// record is a store of events in memory, as the hub's source.
type record struct {
	mu      sync.Mutex
	id      parley.ID
	events  []parley.Event
	deleted bool
	private bool
	reads   int // of events

	streaming map[parley.ID]*written // messages of turns that more than one process may watch
}

func newRecord() *record { return &record{id: parley.NewID(), streaming: map[parley.ID]*written{}} }

func (r *record) Events(_ context.Context, _ store.Scope, _ parley.ID, after int64, limit int) ([]parley.Event, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	if r.deleted {
		return nil, parley.Errorf(parley.CodeNotFound, "the session does not exist")
	}
	from := min(int(after), len(r.events))
	return r.events[from:min(from+limit, len(r.events))], nil
}

func (r *record) Heads(_ context.Context, ids []parley.ID) ([]store.HeadState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	heads := make([]store.HeadState, len(ids))
	for i, id := range ids {
		heads[i] = store.HeadState{
			SessionID:  id,
			LastEvent:  int64(len(r.events)),
			Deleted:    r.deleted || id != r.id,
			Visibility: parley.VisibilityWorkspace,
		}
		if r.private {
			heads[i].Visibility = parley.VisibilityPrivate
		}
	}
	return heads, nil
}

// add commits events and returns the commit that announces them.
func (r *record) add(epoch int64, settled []parley.ID, events ...parley.Event) store.Commit {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range events {
		events[i].SessionID, events[i].Sequence = r.id, int64(len(r.events)+1)
		r.events = append(r.events, events[i])
	}
	return store.Commit{SessionID: r.id, Epoch: epoch, Events: events, Settled: settled}
}

func (r *record) readCount() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reads
}

// created returns the event of a message that enters the record.
func created(turn, message parley.ID) parley.Event {
	return parley.Event{
		Type:   parley.EventMessageCreated,
		TurnID: turn,
		Data:   fmt.Appendf(nil, `{"message_id":%q}`, message),
	}
}

// settled returns the authoritative event of one message.
func settled(turn, message parley.ID, text string) parley.Event {
	content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
	if err != nil {
		panic(err)
	}
	data, err := json.Marshal(event.Settled{TurnID: turn, Messages: []event.SettledMessage{
		{
			MessageID: message,
			Role:      parley.RoleAssistant,
			Status:    parley.MessageCompleted,
			End:       len(text),
			Content:   content,
		},
	}})
	if err != nil {
		panic(err)
	}
	return parley.Event{Type: parley.EventStepGenerated, TurnID: turn, Data: data}
}

// reader folds frames by the rule for clients, and checks the hub's promises.
type reader struct {
	watcher  *Watcher
	after    int64
	texts    map[parley.ID]string
	streamed map[parley.ID]string // from deltas only
	settled  map[parley.ID]bool
	deltas   int
	resyncs  []string
	gone     bool
}

func newReader(w *Watcher, after int64) *reader {
	return &reader{
		watcher:  w,
		after:    after,
		texts:    map[parley.ID]string{},
		streamed: map[parley.ID]string{},
		settled:  map[parley.ID]bool{},
	}
}

// take folds one frame; the error names the broken promise.
func (r *reader) take(frame Frame) error {
	switch frame.Kind {
	case EventFrame:
		if frame.Event.Sequence != r.after+1 {
			return fmt.Errorf("event %d came after event %d", frame.Event.Sequence, r.after)
		}
		r.after++
		if !isSettle(frame.Event.Type) {
			return nil
		}
		var step event.Settled
		if err := json.Unmarshal(frame.Event.Data, &step); err != nil {
			return err
		}
		for _, message := range step.Messages {
			var content parley.AssistantContent
			if err := json.Unmarshal(message.Content, &content); err != nil {
				return err
			}
			r.texts[message.MessageID], r.settled[message.MessageID] = content.Text, true
		}
	case DeltaFrame:
		d := frame.Delta
		text := r.texts[d.MessageID]
		switch {
		case r.settled[d.MessageID]:
			return fmt.Errorf("a delta of settled message %s", d.MessageID)
		case d.Offset != 0 && d.Offset != len(text):
			return fmt.Errorf("a delta at %d, the text so far ends at %d", d.Offset, len(text))
		case d.End != d.Offset+len(d.Text):
			return fmt.Errorf("a delta from %d to %d with %d bytes", d.Offset, d.End, len(d.Text))
		}
		r.texts[d.MessageID] = text[:d.Offset] + d.Text
		r.streamed[d.MessageID] = r.texts[d.MessageID]
		r.deltas++
	case ResyncFrame:
		r.resyncs = append(r.resyncs, string(frame.Reason))
	case FeedFrame:
		r.gone = r.gone || frame.Feed.Type == parley.FeedSessionDeleted
	}
	return nil
}

// drain takes up to limit frames without waiting.
func (r *reader) drain(ctx context.Context, limit int) error {
	for range limit {
		for !r.watcher.Buffered() {
			if found := r.watcher.look(new(Frame)); found != lookHole {
				return nil
			}
			if err := r.watcher.fill(ctx); err != nil {
				return err
			}
		}
		frame, err := r.watcher.Next(ctx)
		if err != nil {
			return err
		}
		if err := r.take(frame); err != nil {
			return err
		}
	}
	return nil
}

// readUntil reads until the condition holds.
func (r *reader) readUntil(ctx context.Context, t *testing.T, done func() bool) {
	t.Helper()
	for !done() {
		frame, err := r.watcher.Next(ctx)
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		if err := r.take(frame); err != nil {
			t.Fatal(err)
		}
	}
}

// newHub makes a hub that the test closes.
func newHub(t *testing.T, source Source, poll time.Duration) *Hub {
	t.Helper()
	h := New(source, Options{Poll: poll})
	t.Cleanup(h.Close)
	return h
}

func mustEOF(t *testing.T, w *Watcher) {
	t.Helper()
	if frame, err := w.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("Next = %+v, %v; want io.EOF", frame, err)
	}
}
