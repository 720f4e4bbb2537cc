package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/model"
	"example.org/parley/store"
)

// oneAsksTwo is a parent that asks two scouts at once; each repeats its task.
func oneAsksTwo(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
	switch text, results := asked(request); {
	case text == "Go" && results == 0:
		calls(parley.FinishToolCalls, "scout", `{"task":"north"}`, "scout", `{"task":"south"}`)(ctx, yield)
	case text == "Go":
		says(fmt.Sprint(results, " results"))(ctx, yield)
	default:
		says("seen "+text)(ctx, yield)
	}
}

// checkAskedTwo expects each of the two calls to be answered once, by a session of its own that ran once.
func (r *rig) checkAskedTwo(sessionID parley.ID) {
	r.Helper()
	results := map[string][]string{}
	callIDs := map[string]string{}
	var children []parley.ID
	for _, m := range r.messages(sessionID) {
		switch {
		case m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted:
			var content parley.ToolCallContent
			r.must(json.Unmarshal(m.Content, &content))
			callIDs[m.ToolCallID] = string(content.Arguments)
			children = append(children, parley.ChildID(m.ID))
		case m.Role == parley.RoleToolResult:
			results[m.ToolCallID] = append(results[m.ToolCallID], string(m.Content))
		}
	}
	if len(callIDs) != 2 {
		r.Errorf("calls %v", callIDs)
	}
	for id, arguments := range callIDs {
		_, task, _ := strings.Cut(strings.TrimSuffix(arguments, `"}`), `:"`)
		if got := results[id]; len(got) != 1 || !strings.Contains(got[0], `{"text":"seen `+task+`"}`) {
			r.Errorf("the call for %s has the results %q", task, got)
		}
	}
	listed, err := r.store.Sessions(r.Context(), r.scope, store.SessionQuery{ParentID: sessionID, Limit: 10})
	r.must(err)
	if len(listed) != 2 {
		r.Errorf("%d sessions were opened for 2 calls", len(listed))
	}
	for _, id := range children {
		child, err := r.store.Session(r.Context(), r.scope, id)
		r.must(err)
		if child.Status != parley.SessionCompleted || child.Statistics.Turns != 1 {
			r.Errorf("a child is %s after %d turns", child.Status, child.Statistics.Turns)
		}
	}
}

// TestCrashesAroundChildren kills a worker right before or after each write that opens a call's session or carries its
// result up, and lets another worker continue.
func TestCrashesAroundChildren(t *testing.T) {
	for _, c := range []struct {
		method string
		nth    int
	}{
		{"SettledStep", 1}, {"OpenChild", 1}, {"OpenedChild", 1}, {"OpenChild", 2}, {"OpenedChild", 2}, {"ParkTurn", 1},
		{"ParkedTurn", 1},
		{"BeginStep", 2}, {"BeginStep", 3}, {"SettledStep", 2},
		{"SettledStep", 3}, // in a child, and between its end and the delivery of its result
		{"AppliedOutbox", 3}, {"AppliedOutbox", 6},
	} {
		t.Run(fmt.Sprint(c.method, c.nth), func(t *testing.T) {
			r := newRig(t)
			dying := &faults{Store: r.store}
			r.options.Drain = 1
			r.startTroupe(dying, oneAsksTwo)
			dead := dying.killBefore(c.method, c.nth)
			sessionID := r.session(withTools(r.colleague("Scout")), nil)
			turnID := r.post(sessionID, "Go", "").Turn.ID
			r.wait("the crash", dead)
			r.expire(dying)
			r.startTroupe(nil, oneAsksTwo)
			if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
				t.Errorf("turn %+v", turn)
			}
			r.checkAskedTwo(sessionID)
		})
	}
}

// TestRestartWhileAParentWaits: no worker holds the parent, so nothing needs recovery: a child that ends later wakes
// it.
func TestRestartWhileAParentWaits(t *testing.T) {
	r := newRig(t)
	reached := make(chan struct{}, 2)
	first := r.startTroupe(nil, func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		if text, _ := asked(request); text == "Go" {
			oneAsksTwo(ctx, request, yield)
			return
		}
		reached <- struct{}{}
		<-ctx.Done() // until the drain ends and the turn is given back
		yield(model.Chunk{}, context.Cause(ctx))
	})
	first.options.Drain = 1
	sessionID := r.session(withTools(r.colleague("Scout")), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	bounded.Receive(t, reached, "the first child")
	bounded.Receive(t, reached, "the second child")
	r.happened(sessionID, parley.EventSessionWaiting)
	r.stop(first)
	waiting, err := r.store.Turn(t.Context(), r.scope, turnID)
	r.must(err)
	if waiting.Status != parley.TurnWaiting || waiting.WaitReason != parley.WaitChild {
		t.Errorf("between the workers the turn is %s for %s", waiting.Status, waiting.WaitReason)
	}
	r.startTroupe(nil, oneAsksTwo)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
	r.checkAskedTwo(sessionID)
}
