package worker

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/store"
	"example.org/parley/tool"
)

func (r *rig) startLoop(
	sessionID parley.ID,
	most int,
	until *parley.LoopUntil,
	context parley.LoopContext,
) parley.Loop {
	r.Helper()
	first := r.said("Do it again.", "")
	started, err := r.store.StartLoop(r.Context(), r.scope, sessionID, store.NewLoop{
		Loop: parley.Loop{
			ID:      parley.NewID(),
			Prompt:  "Do it again.",
			Max:     most,
			Until:   until,
			Context: context,
			Author:  first.Author,
		},
		First:   first,
		Content: first.Content,
	}, parley.ID{})
	r.must(err)
	return started.Loop
}

// loopEnded waits for a loop's end.
func (r *rig) loopEnded(sessionID parley.ID, loop parley.ID) parley.Loop {
	r.Helper()
	r.await(sessionID, "the loop's end", func(e parley.Event) bool {
		return e.Type == parley.EventLoopProgress && !strings.Contains(string(e.Data), `"running"`)
	})
	ended, err := r.store.Loop(r.Context(), r.scope, loop)
	r.must(err)
	return ended
}

// A loop's conditions are checked when an iteration completes.
func TestLoopConditions(t *testing.T) {
	schema := &parley.LoopUntil{
		Schema: json.RawMessage(`{"properties":{"done":{"const":true}},"required":["done"],"type":"object"}`),
	}
	matches := &parley.LoopUntil{TextMatches: `(?i)all tests? pass`}
	called := &parley.LoopUntil{ToolCalled: "finish"}
	for name, c := range map[string]struct {
		until   *parley.LoopUntil
		answers []answerFunc
		state   parley.LoopState
		reason  string
		at      int
	}{
		"no condition": {nil, []answerFunc{says("a"), says("b"), says("c")}, parley.LoopExhausted, "max", 3},
		"the text matches": {matches, []answerFunc{says("two fail"), says("Now ALL TESTS PASS.")},
			parley.LoopCompleted, "text_matches", 2},
		"it never matches": {matches, []answerFunc{says("a"), says("b"), says("c")}, parley.LoopExhausted, "max", 3},
		"the answer is JSON": {schema, []answerFunc{says(`{"done":false}`), says(`{"done":true}`)},
			parley.LoopCompleted, "schema", 2},
		"JSON in a fence": {schema, []answerFunc{says("not JSON"), says("Here:\n```json\n{\"done\": true}\n```\n")},
			parley.LoopCompleted, "schema", 2},
		"the tool was called": {called,
			[]answerFunc{says("later"), calls(parley.FinishToolCalls, "finish", `{}`), says("so")},
			parley.LoopCompleted, "tool_called", 2},
		"the tool failed": {called,
			[]answerFunc{calls(parley.FinishToolCalls, "finish", `{"fail":true}`), says("a"), says("b"), says("c")},
			parley.LoopExhausted, "max", 3},
		"an iteration fails": {matches,
			[]answerFunc{says("a"), fails(model.NewError(parley.ClassAuth, false, "no", nil))},
			parley.LoopFailed, "auth", 2},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.tools = fakeTools{
				{name: "finish", call: func(_ context.Context, call tool.Call) (json.RawMessage, error) {
					if strings.Contains(string(call.Arguments), "fail") {
						return nil, parley.Errorf(parley.CodeConflict, "not yet")
					}
					return json.RawMessage(`true`), nil
				}},
			}
			r.start(nil)
			r.model.play(c.answers...)
			sessionID := r.session(tooled("finish"), nil)
			loop := r.startLoop(sessionID, 3, c.until, parley.LoopContext{})
			if ended := r.loopEnded(
				sessionID,
				loop.ID,
			); ended.State != c.state || ended.Reason != c.reason ||
				ended.Iteration != c.at {
				t.Errorf(
					"the loop is %s (%s) at %d; want %s (%s) at %d",
					ended.State,
					ended.Reason,
					ended.Iteration,
					c.state,
					c.reason,
					c.at,
				)
			}
		})
	}
}

// An iteration sees only itself, or the iterations before it too, but never another loop's.
func TestLoopContext(t *testing.T) {
	for name, c := range map[string]struct {
		context parley.LoopContext
		seen    []int // messages in each iteration's request
	}{
		"fresh":     {parley.LoopContext{}, []int{1, 1, 1, 1}},
		"recent(1)": {parley.LoopContext{Recent: 1}, []int{1, 3, 3, 3}},
		"recent(9)": {parley.LoopContext{Recent: 9}, []int{1, 3, 5, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.start(nil)
			sessionID := r.session(parley.Settings{}, nil)
			r.model.play(says("hello"))
			r.ended(r.post(sessionID, "Hi", "").Turn.ID)
			for range 2 { // the second loop starts over
				before := len(r.model.asked())
				r.model.play(says("1"), says("2"), says("3"), says("4"))
				loop := r.startLoop(sessionID, 4, nil, c.context)
				r.awaitLoop(loop.ID)
				asked := r.model.asked()[before:]
				for i, want := range c.seen {
					if got := len(asked[i].Messages); got != want {
						t.Errorf("iteration %d sees %d messages; want %d", i+1, got, want)
					}
				}
			}
		})
	}
}

// awaitLoop waits for a loop to end, whatever other loops do.
func (r *rig) awaitLoop(loop parley.ID) {
	r.Helper()
	state, err := r.store.Loop(r.Context(), r.scope, loop)
	r.must(err)
	r.await(state.SessionID, "the loop's end", func(e parley.Event) bool {
		return e.Type == parley.EventLoopProgress && strings.Contains(string(e.Data), loop.String()) &&
			!strings.Contains(string(e.Data), `"running"`)
	})
}

// recordPages records the length in bytes of the longest page of messages that is read.
type recordPages struct {
	Store
	longest atomic.Int64
}

func (s *recordPages) Messages(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.MessageQuery,
) ([]parley.Message, error) {
	page, err := s.Store.Messages(ctx, scope, sessionID, query)
	size := 0
	for i := range page {
		size += page[i].Size()
	}
	if s.longest.Load() < int64(size) {
		s.longest.Store(int64(size))
	}
	return page, err
}

// A turn that was taken over checks the loop's condition against the record, which it reads by pages.
func TestLoopConditionAfterATakeOver(t *testing.T) {
	r := newRig(t)
	sessionID := r.session(parley.Settings{}, nil)
	loop := r.startLoop(sessionID, 3, &parley.LoopUntil{TextMatches: "^d+o+n+e$"}, parley.LoopContext{})
	dead := parley.NewID()
	r.must(r.store.RegisterProcess(t.Context(), store.Process{ID: dead, Name: "dead"}, time.Hour))
	claims, err := r.store.Claim(t.Context(), dead, 1, store.Occupancy{Slots: 10})
	if err != nil || len(claims) != 1 {
		t.Fatalf("%d claims, %v", len(claims), err)
	}
	fence := claims[0].Fence
	begin := store.StepBegin{
		Call:   parley.Call{ID: parley.NewID(), MessageID: parley.NewID(), Step: 1, Attempt: 1, Model: scriptedID},
		Author: claims[0].Trigger.Author,
	}
	_, err = r.store.BeginStep(t.Context(), fence, begin)
	r.must(err)
	const long = 3 * requestersBytes / 5 // three are more than a page, and two are not
	blocks := []store.BlockSettled{{MessageID: begin.Call.MessageID}}
	for range 2 {
		open := store.BlockOpen{MessageID: parley.NewID(), Role: parley.RoleAssistant, Step: 1, Author: begin.Author}
		_, err = r.store.OpenBlock(t.Context(), fence, open)
		r.must(err)
		blocks = append(blocks, store.BlockSettled{MessageID: open.MessageID})
	}
	for i, letter := range []string{"d", "o", "ne"} {
		text := strings.Repeat(letter[:1], long) + letter[1:]
		content, err := parley.EncodeContent(parley.AssistantContent{Text: text})
		r.must(err)
		blocks[i].Status, blocks[i].Content = parley.MessageCompleted, content
	}
	_, err = r.store.SettleStep(
		t.Context(),
		fence,
		store.StepSettle{
			Step:   1,
			Call:   store.CallSettled{CallID: begin.Call.ID, Outcome: parley.CallCompleted},
			Blocks: blocks,
		},
	)
	r.must(err)
	r.must(r.store.ReleaseProcess(t.Context(), dead))
	read := &recordPages{Store: r.store}
	r.start(read)
	if ended := r.loopEnded(sessionID, loop.ID); ended.State != parley.LoopCompleted || ended.Iteration != 1 {
		t.Errorf("the loop is %s at %d", ended.State, ended.Iteration)
	}
	if r.model.sent() != 0 {
		t.Error("the model was asked again")
	}
	if size := read.longest.Load(); size == 0 || size > requestersBytes+long+rowBytes {
		t.Errorf("the longest page has %d bytes", size)
	}
}
