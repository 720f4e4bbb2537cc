package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// fuse makes the writer die at the n-th point after it was lit.
type fuse struct {
	lit   atomic.Bool
	left  atomic.Int64
	burnt atomic.Bool
}

func (f *fuse) fault(string) error {
	if f.lit.Load() && f.left.Add(-1) == 0 {
		f.burnt.Store(true)
		return errors.New("killed")
	}
	return nil
}

// TestCrashPoints kills the writer at every statement of a turn with a queued message, a tool and a steer. After each
// death, every transition has happened entirely or not at all, acknowledged messages exist, and the turn can be
// finished.
func TestCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: every point opens a new store")
	}
	t.Parallel()
	for n := int64(1); ; n++ {
		burnt := true
		if !t.Run(fmt.Sprint(n), func(t *testing.T) { burnt = crashAt(t, n) }) {
			return
		}
		if !burnt {
			if n < 40 {
				t.Fatalf("the turn has only %d points", n)
			}
			return
		}
	}
}

func crashAt(t *testing.T, n int64) bool {
	ctx := context.Background()
	var f fuse
	w := newWorld(t, Options{Fault: f.fault})
	session := w.session(nil).ID
	f.left.Store(n)
	f.lit.Store(true)
	acknowledged, err := w.story(session)
	f.lit.Store(false)
	if f.burnt.Load() != (err != nil) {
		t.Fatalf("burnt %t, but the story ended with %v", f.burnt.Load(), err)
	}
	if err != nil && parley.ErrorCode(err) != parley.CodeUnavailable {
		t.Fatalf("a dead store returned %v", err)
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	w.open(Options{})
	w.invariants()
	for _, id := range acknowledged {
		if _, err := w.store.Message(ctx, w.scope, id); err != nil {
			t.Fatalf("message %s was acknowledged: %v", id, err)
		}
	}
	w.whole()
	w.register()
	for range 4 { // run the rest to its end
		claims, err := w.store.Claim(ctx, w.process, 4, store.Occupancy{Slots: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range claims {
			if _, err := w.store.RecoverTurn(ctx, claim.Fence); err != nil {
				t.Fatal(err)
			}
			if _, err := w.store.FinishTurn(ctx, claim.Fence, store.TurnEnd{Status: parley.TurnFailed,
				Failure: &parley.Failure{Class: parley.ClassInterrupted, Sentence: "over"}}); err != nil {
				t.Fatal(err)
			}
			w.invariants()
		}
	}
	got, err := w.store.Session(ctx, w.scope, session)
	if err != nil {
		t.Fatal(err)
	}
	if !got.TurnID.IsZero() {
		t.Fatalf("turn %s never ended", got.TurnID)
	}
	return f.burnt.Load()
}

// story runs a turn with every kind of transition and returns the messages acknowledged before the first error.
func (w *world) story(session parley.ID) (acknowledged []parley.ID, err error) {
	ctx := context.Background()
	posted, err := w.store.PostMessage(ctx, w.scope, session, w.said("first"), w.process)
	if err != nil {
		return acknowledged, err
	}
	acknowledged = append(acknowledged, posted.Message.ID)
	fence := posted.Claim.Fence
	for _, during := range []parley.During{parley.DuringQueue, parley.DuringSteer} {
		next := w.said(string(during))
		next.During = during
		if _, err := w.store.PostMessage(ctx, w.scope, session, next, w.process); err != nil {
			return acknowledged, err
		}
		acknowledged = append(acknowledged, next.ID)
	}
	begin := stepBegin(1)
	if _, err := w.store.BeginStep(ctx, fence, begin); err != nil {
		return acknowledged, err
	}
	call, err := w.store.OpenBlock(
		ctx,
		fence,
		store.BlockOpen{
			MessageID:  parley.NewID(),
			Step:       1,
			Role:       parley.RoleToolCall,
			ToolCallID: "call_1",
			ToolName:   "current_time",
		},
	)
	if err != nil {
		return acknowledged, err
	}
	if _, err := w.store.AppendVersions(
		ctx,
		[]store.FencedVersion{
			{
				Fence: fence,
				Version: parley.Version{
					MessageID: begin.Call.MessageID,
					N:         1,
					Kind:      parley.KindText,
					End:       4,
					Text:      "part",
				},
			},
		},
	); err != nil {
		return acknowledged, err
	}
	settle := stepSettle(begin, "partly done", nil)
	arguments, err := parley.EncodeContent(
		parley.ToolCallContent{Arguments: []byte("{}"), ID: "call_1", Name: "current_time"},
	)
	if err != nil {
		return acknowledged, err
	}
	settle.Blocks = append(
		settle.Blocks,
		store.BlockSettled{MessageID: call.ID, Status: parley.MessageCompleted, Content: arguments},
	)
	settle.ToolsStarted = []string{"call_1"}
	if _, err := w.store.SettleStep(ctx, fence, settle); err != nil {
		return acknowledged, err
	}
	result, err := parley.EncodeContent(parley.ToolResultContent{Result: []byte(`"noon"`), Success: true})
	if err != nil {
		return acknowledged, err
	}
	if _, err := w.store.SettleTool(
		ctx,
		fence,
		store.ToolSettle{
			MessageID:  parley.NewID(),
			Step:       1,
			ToolCallID: "call_1",
			ToolName:   "current_time",
			Content:    result,
		},
	); err != nil {
		return acknowledged, err
	}
	steers, err := w.store.PendingSteers(ctx, fence)
	if err != nil {
		return acknowledged, err
	}
	second := stepBegin(2)
	for _, m := range steers {
		second.Steers = append(second.Steers, store.Steered{MessageID: m.ID, Revision: m.Revision})
	}
	if _, err := w.store.BeginStep(ctx, fence, second); err != nil {
		return acknowledged, err
	}
	_, err = w.store.SettleStep(ctx, fence, stepSettle(second, strings.Repeat("done ", 20), completed))
	return acknowledged, err
}

// whole checks that no transition left only part of its writes: a call and its message exist together, and turn, call
// and message end together.
func (w *world) whole() {
	w.t.Helper()
	if err := w.store.read(context.Background(), func(c *conn) error {
		for what, query := range map[string]string{
			"a call without its " +
				"message": "SELECT 1 FROM calls c LEFT JOIN messages m ON m.id = c.message_id WHERE m.id IS NULL",
			"a step's message without " +
				"a call": "SELECT 1 FROM messages m LEFT JOIN calls c ON c.message_id = m.id " +
				"WHERE m.role = 'assistant' AND c.id IS NULL",
			"a settled call, an open " +
				"message": "SELECT 1 FROM messages m JOIN calls c ON c.message_id = m.id " +
				"WHERE (c.outcome = 'open') <> (m.status = 'streaming')",
			"a message whose turn is " +
				"missing": "SELECT 1 FROM messages m LEFT JOIN turns t ON t.id = m.turn_id " +
				"WHERE m.turn_id IS NOT NULL AND t.id IS NULL",
			"a turn whose trigger is " +
				"missing": "SELECT 1 FROM turns t LEFT JOIN messages m ON m.id = t.trigger_message_id " +
				"WHERE m.id IS NULL",
			"a completed turn with an " +
				"open row": "SELECT 1 FROM turns t JOIN messages m ON m.turn_id = t.id " +
				"WHERE t.status = 'completed' AND m.status = 'streaming'",
			"a settled row with a " +
				"version text": "SELECT 1 FROM versions v JOIN messages m ON m.id = v.message_id " +
				"WHERE m.status <> 'streaming' AND v.text IS NOT NULL",
		} {
			if found, err := c.has(query); err != nil || found {
				return fmt.Errorf("%s (%w)", what, err)
			}
		}
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
}
