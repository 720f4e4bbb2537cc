package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

func testContext(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"nothing stands before most windows":    testContextHeadEmpty,
		"the head of a window":                  testContextHead,
		"what is pinned has a bound in bytes":   testContextPinnedBytes,
		"pins with their other halves":          testContextPairs,
		"the context follows the latest window": testContextCounts,
		"what is dropped is told once":          testContextDropped,
		"steps and truncations are told":        testContextSteps,
		"cleared, the next message begins it":   testContextCleared,
		"cleared while a turn runs":             testContextClearedBeside,
	})
}

func (w *world) contextHead(t *testing.T, session parley.ID) parley.ContextHead {
	t.Helper()
	head, err := w.store.ContextHead(w.ctx, w.scope.WorkspaceID, session)
	must(t, "ContextHead", err)
	return head
}

// held returns the sequences of a head: the summary's, the first task's, the pins'.
func held(head parley.ContextHead) (summary, first int64, pinned []int64) {
	if head.Summary != nil {
		summary = head.Summary.Sequence
	}
	if head.First != nil {
		first = head.First.Sequence
	}
	for _, m := range head.Pinned {
		pinned = append(pinned, m.Sequence)
	}
	return summary, first, pinned
}

func (w *world) heldAre(t *testing.T, what string, session parley.ID, summary, first int64, pinned ...int64) {
	t.Helper()
	s, f, p := held(w.contextHead(t, session))
	if s != summary || f != first || !cmp.Equal(p, pinned) {
		t.Errorf("%s: summary %d, first %d, pinned %v; want %d, %d, %v", what, s, f, p, summary, first, pinned)
	}
}

func testContextHeadEmpty(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	if session := w.sessionState(t, id); session.Context.Held {
		t.Error("Context.Held is true for a session without pins and summaries")
	}
	if head := w.contextHead(t, id); head.Summary != nil || len(head.Pinned) > 0 || head.Edge != 0 ||
		head.First == nil || head.First.Sequence != 1 {
		t.Errorf("a head of nothing but the first task: %+v", head)
	}
}

func testContextHead(t *testing.T, w *world) {
	id, yes, no := w.session(t), true, false
	for range 5 {
		w.exchange(t, id, "question", "answer")
	}
	record := w.check(t, id).Record
	w.mark(t, record[3].ID, parley.MarksChange{Pinned: &yes})
	w.mark(t, record[6].ID, parley.MarksChange{Pinned: &yes})
	if !w.sessionState(t, id).Context.Held {
		t.Error("a pin does not show in the session")
	}
	w.heldAre(t, "two pins", id, 0, 1, 4, 7)
	w.compacted(t, id, 4, "short")
	w.heldAre(t, "a summary", id, 11, 1, 4, 7)
	later := w.compacted(t, id, 8, "shorter")
	w.heldAre(t, "a later summary", id, 12, 1, 4, 7)
	w.mark(t, later.MessageID, parley.MarksChange{SetAside: &yes})
	w.heldAre(t, "the later one set aside", id, 11, 1, 4, 7)
	w.mark(t, record[6].ID, parley.MarksChange{SetAside: &yes})
	w.heldAre(t, "a pin set aside", id, 11, 1, 4)
	w.mark(t, later.MessageID, parley.MarksChange{SetAside: &no})
	w.mark(t, record[4].ID, parley.MarksChange{ContextEdge: &yes})
	w.heldAre(t, "an edge at 5", id, 12, 5, 4)
	w.mark(t, record[9].ID, parley.MarksChange{ContextEdge: &yes})
	w.heldAre(t, "an edge after everything covered", id, 0, 0, 4) // an answer, with no question after it
	if edge := w.contextHead(t, id).Edge; edge != 10 {
		t.Errorf("the latest edge is at %d, want 10", edge)
	}
	w.mark(t, record[3].ID, parley.MarksChange{Pinned: &no})
	w.heldAre(t, "unpinned", id, 0, 0)
}

// Of what is pinned the newest is carried as far as the bound reaches, with what belongs to
// it; what is longer alone is refused, or was pinned before it was: left out.
func testContextPinnedBytes(t *testing.T, w *world) {
	yes := true
	half := strings.Repeat("x", parley.MaxPinnedBytes/2)
	id := w.session(t)
	w.exchange(t, id, "small", half)
	w.exchange(t, id, "small", half)
	w.exchange(t, id, "small", half+half)
	record := w.check(t, id).Record
	pin := func(session parley.ID, sequences ...int) {
		t.Helper()
		for _, sequence := range sequences {
			_, err := w.store.MarkMessage(
				w.ctx, w.scope, session, record[sequence-1].ID, parley.MarksChange{Pinned: &yes},
			)
			must(t, "MarkMessage", err)
		}
	}
	pin(parley.ID{}, 1, 2, 3)
	w.heldAre(t, "as much as may be", id, 0, 1, 1, 2, 3)
	_, err := w.store.MarkMessage(w.ctx, w.scope, id, record[5].ID, parley.MarksChange{Pinned: &yes})
	refused(t, "a pin that is longer than all may be", err, parley.CodeInvalid)
	pin(parley.ID{}, 4, 5)
	w.heldAre(t, "more than may be", id, 0, 1, 3, 4, 5)
	fork := w.fork(t, id, 6).ID
	w.heldAre(t, "what a fork took over", fork, 0, 1, 3, 4, 5)
	w.exchange(t, fork, "small", half)
	record = w.check(t, fork).Record
	pin(parley.ID{}, 8)
	w.heldAre(t, "one more of its own", fork, 0, 1, 5, 8)
}

func testContextPairs(t *testing.T, w *world) {
	yes := true
	claim := w.started(t, "find it")
	call := w.callTools(t, claim.Fence, 1, 1)[0]
	_, err := w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(1, call))
	must(t, "SettleTool", err)
	w.heldAre(t, "nothing pinned", claim.Fence.SessionID, 0, 1)
	var at []parley.Message
	for _, m := range w.check(t, claim.Fence.SessionID).Record {
		if m.ToolCallID != "" {
			at = append(at, m)
		}
	}
	if len(at) != 2 {
		t.Fatalf("a call and its result are %d messages", len(at))
	}
	for i := range at {
		w.mark(t, at[i].ID, parley.MarksChange{Pinned: &yes})
		w.heldAre(t, "one half pinned", claim.Fence.SessionID, 0, 1, at[0].Sequence, at[1].Sequence)
	}
}

// testContextCounts: a step's window becomes the session's context, and grows with each later message.
func testContextCounts(t *testing.T, w *world) {
	id := w.session(t)
	posted, err := w.store.PostMessage(w.ctx, w.scope, id, w.say("question"), w.process)
	must(t, "PostMessage", err)
	begin := w.stepBegin(1, 1)
	begin.Window = &store.Window{Anchor: 7, Messages: 41, Tokens: 1000}
	_, err = w.store.BeginStep(w.ctx, posted.Claim.Fence, begin)
	must(t, "BeginStep", err)
	if got, want := w.sessionState(
		t,
		id,
	).Context, (parley.Context{Anchor: 7, Messages: 42, Tokens: 1000}); got != want {
		t.Errorf("the context of a step under way is %+v, want %+v", got, want)
	}
	settle := settlement(begin, "an answer")
	settle.Blocks[0].TokenEstimate = 30
	w.settle(t, posted.Claim.Fence, settle)
	if got, want := w.sessionState(
		t,
		id,
	).Context, (parley.Context{Anchor: 7, Messages: 42, Tokens: 1030}); got != want {
		t.Errorf("the context after the step is %+v, want %+v", got, want)
	}
}

// testContextDropped: a window that newly drops messages is told to watchers, and so is an assumed length, once; a
// summary in the record lets the next window begin anew, and a fork continues its parent's.
func testContextDropped(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	w.exchange(t, id, "question", "answer")
	told := func() (dropped, assumed int) {
		for _, e := range w.check(t, id).Events {
			switch e.Type {
			case parley.EventContextDropped:
				dropped++
			case parley.EventContextAssumed:
				assumed++
			}
		}
		return dropped, assumed
	}
	show := func(what string, anchor, from int64, dropped, assumed int) {
		t.Helper()
		w.post(t, id, w.say("question"))
		claim := w.claim(t)
		begin := w.stepBegin(1, 1)
		begin.Window = &store.Window{Anchor: anchor, Messages: 1, Tokens: 10, Assumed: 32_000, Stubbed: anchor + 1}
		if from > 0 {
			begin.Window.Dropped = &parley.Dropped{From: from, To: anchor - 1, Count: anchor - from, Reason: "long"}
		}
		_, err := w.store.BeginStep(w.ctx, claim.Fence, begin)
		must(t, "BeginStep", err)
		settle := settlement(begin, "an answer")
		settle.End = completed()
		w.settle(t, claim.Fence, settle)
		if d, a := told(); d != dropped || a != assumed {
			t.Errorf("%s: dropped was told %d times, assumed %d times; want %d and %d", what, d, a, dropped, assumed)
		}
		if c := w.sessionState(t, id).Context; c.Anchor != anchor || c.Dropped != from || !c.Assumed ||
			c.Stubbed != anchor+1 {
			t.Errorf("%s: the context is %+v", what, c)
		}
	}
	show("nothing dropped", 0, 0, 0, 1)
	show("some", 3, 2, 1, 1)
	show("the same", 3, 2, 1, 1)
	show("more", 5, 2, 2, 1)
	fork := w.fork(t, id, 10).ID
	if c := w.sessionState(t, fork).Context; c.Anchor != 5 || c.Dropped != 2 || c.Stubbed != 6 {
		t.Errorf("the context of a fork is %+v", c)
	}
	early := w.fork(t, id, 4).ID // its own messages would be stubs
	if c := w.sessionState(t, early).Context; c.Anchor != 0 || c.Stubbed != 0 {
		t.Errorf("the context of an earlier fork is %+v", c)
	}
	show("none any more", 3, 0, 2, 1)
	show("again", 5, 2, 3, 1)
	w.compacted(t, id, 4, "short")
	if c := w.sessionState(t, id).Context; c.Anchor != 0 || c.Dropped != 0 {
		t.Errorf("with a summary the context is %+v", c)
	}
}

// testContextSteps: steps that a request is the first to leave out are told beside what else it drops, and so is what a
// provider did not read, which the call's record keeps.
func testContextSteps(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	w.post(t, id, w.say("question"))
	claim := w.claim(t)
	begin := w.stepBegin(1, 1)
	begin.Window = &store.Window{
		Anchor: 3, Messages: 1, Tokens: 10,
		Dropped: &parley.Dropped{From: 1, To: 2, Count: 2, Reason: "long"},
		Steps:   &parley.Dropped{From: 4, To: 9, Count: 6, Reason: "a long turn"},
	}
	_, err := w.store.BeginStep(w.ctx, claim.Fence, begin)
	must(t, "BeginStep", err)
	settle := settlement(begin, "an answer")
	settle.End = completed()
	settle.Call.Truncated = &parley.Truncation{SentTokens: 1000, ReadTokens: 400}
	w.settle(t, claim.Fence, settle)
	var told []string
	for _, e := range w.check(t, id).Events {
		switch e.Type {
		case parley.EventContextDropped:
			var data event.ContextDropped
			must(t, "the event", json.Unmarshal(e.Data, &data))
			told = append(told, fmt.Sprint(data.From, " ", data.To, " ", data.Count, " ", data.Reason))
		case parley.EventContextTruncated:
			var data event.ContextTruncated
			must(t, "the event", json.Unmarshal(e.Data, &data))
			told = append(told, fmt.Sprint(data.CallID == begin.Call.ID, data.SentTokens, data.ReadTokens))
		}
	}
	want := []string{"1 2 2 long", "4 9 6 a long turn", "true 1000 400"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	call, err := w.store.Call(w.ctx, w.scope, begin.Call.ID)
	must(t, "Call", err)
	if call.Truncated == nil || *call.Truncated != *settle.Call.Truncated {
		t.Errorf("the call's record says %+v", call.Truncated)
	}
}

func (w *world) clear(t *testing.T, session parley.ID) parley.Session {
	t.Helper()
	cleared, err := w.store.ClearContext(w.ctx, w.scope, session)
	must(t, "ClearContext", err)
	return cleared
}

func testContextCleared(t *testing.T, w *world) {
	id := w.session(t)
	w.exchange(t, id, "question", "answer")
	before := w.check(t, id)
	w.mark(t, before.Record[0].ID, parley.MarksChange{Pinned: new(true)})
	cleared := w.clear(t, id)
	if c := cleared.Context; c.Messages != 0 || c.Tokens != 0 || c.ClearedAt == 0 || !c.Cleared ||
		cleared.Statistics != before.Session.Statistics {
		t.Errorf("a cleared session is %+v with %+v", c, cleared.Statistics)
	}
	after := w.check(t, id)
	if last := after.Events[len(after.Events)-1]; last.Type != parley.EventContextCleared {
		t.Errorf("the last event is %s", last.Type)
	}
	if again := w.clear(t, id); again.Context != cleared.Context {
		t.Errorf("cleared again, it is %+v", again.Context)
	}
	w.unchanged(t, "clearing a second time", id, after)
	w.heldAre(t, "what was pinned before", id, 0, 1)
	posted := w.exchange(t, id, "afresh", "well")
	if !w.message(t, posted.Message.ID).Marks.ContextEdge || w.sessionState(t, id).Context.Cleared {
		t.Error("the next message has no context edge")
	}
	if c := w.sessionState(t, id).Context; c.Messages != 2 || c.Tokens == 0 {
		t.Errorf("the context after the clear is %+v, want 2 messages", c)
	}
	w.mark(t, before.Record[1].ID, parley.MarksChange{Pinned: new(true)})
	w.heldAre(t, "pinned since", id, 0, posted.Message.Sequence, before.Record[1].Sequence)
	w.check(t, id)
}

// testContextClearedBeside: a running turn continues; a steer belongs to it, the next message does not.
func testContextClearedBeside(t *testing.T, w *world) {
	claim := w.started(t, "long")
	session := claim.Fence.SessionID
	w.clear(t, session)
	steer := w.steer(t, session, "also this")
	next := w.post(t, session, w.say("next"))
	begin := w.stepBegin(1, 1, steer)
	begin.Window = &store.Window{Anchor: 1, Messages: 9, Tokens: 900}
	_, err := w.store.BeginStep(w.ctx, claim.Fence, begin)
	must(t, "BeginStep", err)
	settle := settlement(begin, "an answer")
	settle.End = completed()
	w.settle(t, claim.Fence, settle)
	if c := w.sessionState(t, session).Context; c.Messages != 0 || c.Tokens != 0 || !c.Cleared {
		t.Errorf("the context after the turn is %+v, want it still empty", c)
	}
	w.answer(t, w.claim(t), "done")
	if w.message(t, steer.ID).Marks.ContextEdge || !w.message(t, next.Message.ID).Marks.ContextEdge {
		t.Error("the edge must be on the message after the turn, not on the steer")
	}
	w.check(t, session)
}
