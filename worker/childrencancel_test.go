package worker

import (
	"context"
	"strings"
	"sync"
	"testing"

	"example.org/parley"
	"example.org/parley/model"
)

// generations is a model of a parent that asks a captain, who asks a scout, who never finishes; reached is closed when
// the scout works.
func generations(
	reached chan<- struct{},
) func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
	return func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		switch task, results := asked(request); {
		case task == "Go" && results == 0:
			calls(parley.FinishToolCalls, "captain", `{"task":"lead"}`)(ctx, yield)
		case task == "lead" && results == 0:
			calls(parley.FinishToolCalls, "scout", `{"task":"look"}`)(ctx, yield)
		case task == "look":
			hangs(make(chan struct{}), text(0, "I see "))(ctx, func(chunk model.Chunk, err error) bool {
				if err == nil {
					reached <- struct{}{}
				}
				return yield(chunk, err)
			})
		default:
			says("I heard of it.")(ctx, yield)
		}
	}
}

// below starts a parent with a child and a grandchild at work, and returns the three sessions.
func (r *rig) below() (turnID parley.ID, sessions [3]parley.ID) {
	r.Helper()
	reached := make(chan struct{}, 1)
	r.startTroupe(nil, generations(reached))
	scout := r.colleague("Scout")
	sessions[0] = r.session(withTools(r.colleague("Captain", scout)), nil)
	turnID = r.post(sessions[0], "Go", "").Turn.ID
	r.wait("the grandchild's stream", reached)
	sessions[1] = parley.ChildID(r.callOf(sessions[0], "captain").ID)
	sessions[2] = parley.ChildID(r.callOf(sessions[1], "scout").ID)
	for _, id := range sessions[:2] {
		r.happened(id, parley.EventSessionWaiting)
	}
	return turnID, sessions
}

// A cancel reaches every session that works for the turn, at any depth, and none of them wakes another afterwards.
func TestCancelOfATree(t *testing.T) {
	r := newRig(t)
	turnID, sessions := r.below()
	if turn := r.cancel(sessions[0], turnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the turn is %s", turn.Status)
	}
	for _, id := range sessions {
		r.happened(id, parley.EventSessionCancelled)
	}
	r.idleSlots(r.worker)
	for more := true; more; { // results on their way up arrive
		var err error
		_, more, err = r.store.ApplyOutbox(t.Context(), parley.ID{})
		r.must(err)
	}
	for i, id := range sessions {
		session, err := r.store.Session(t.Context(), r.scope, id)
		r.must(err)
		if session.Status != parley.SessionCancelled || session.Statistics.Turns != 1 {
			t.Errorf("session %d is %s with %d turns", i, session.Status, session.Statistics.Turns)
		}
		results := 0
		for _, m := range r.messages(id) {
			if m.Role == parley.RoleToolResult {
				results++
			}
		}
		if want := min(1, 2-i); results != max(want, 0) {
			t.Errorf("session %d has %d results", i, results)
		}
	}
	if last := r.record(
		sessions[2],
	); last[len(last)-1] != (line{parley.RoleAssistant, parley.MessageCancelled, "I see "}) {
		t.Errorf("the grandchild's record ends with %+v", last[len(last)-1])
	}
}

// A child cancelled by itself gives its call an error; the parent continues.
func TestCancelOfAChildAlone(t *testing.T) {
	r := newRig(t)
	turnID, sessions := r.below()
	child, err := r.store.Session(t.Context(), r.scope, sessions[1])
	r.must(err)
	r.cancel(sessions[1], child.TurnID)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("the parent's turn is %+v", turn)
	}
	record := r.record(sessions[0])
	if got := record[3]; got.Role != parley.RoleToolResult || !strings.Contains(got.Says, "cancelled") {
		t.Errorf("the call has the result %+v", got)
	}
	r.happened(sessions[2], parley.EventSessionCancelled)
}

// A call whose session cannot be opened gets the reason as its result.
func TestChildrenThatCannotBeOpened(t *testing.T) {
	r := newRig(t)
	scout := r.colleague("Scout")
	gone := r.colleague("Gone")
	agent, err := r.store.Agent(t.Context(), r.scope.WorkspaceID, "gone")
	r.must(err)
	agent.Status = parley.AgentArchived
	_, err = r.store.UpdateAgent(t.Context(), agent)
	r.must(err)
	own := asTool("scout")
	own.Name, own.Agent.Name, own.Agent.Parameters = "own", "own", []byte(`{"type":"object"}`)
	var mu sync.Mutex // guards told
	var told []string
	r.startTroupe(nil, func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		switch task, results := asked(request); {
		case task == "Go" && results == 0:
			calls(
				parley.FinishToolCalls,
				"scout",
				`{}`,
				"scout",
				`{"task":" "}`,
				"scout",
				`[1]`,
				"gone",
				`{"task":"x"}`,
				"never",
				`{"task":"x"}`,
				"own",
				`{"to":"look"}`,
			)(
				ctx,
				yield,
			)
		case task == "Go":
			says("Well.")(ctx, yield)
		default:
			mu.Lock()
			told = append(told, task)
			mu.Unlock()
			says("fine")(ctx, yield)
		}
	})
	sessionID := r.session(withTools(scout, gone, asTool("never"), own), nil)
	if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
	byCall := map[string]string{}
	var order []string
	for _, m := range r.messages(sessionID) {
		switch m.Role {
		case parley.RoleToolCall:
			order = append(order, m.ToolCallID)
		case parley.RoleToolResult:
			byCall[m.ToolCallID] = string(m.Content)
		}
	}
	for i, want := range []string{"do not fit the tool's schema", "task is missing", "not a JSON object", "archived",
		"no agent", `{"text":"fine"}`} {
		if got := byCall[order[i]]; !strings.Contains(strings.ReplaceAll(got, ": is", " is"), want) {
			t.Errorf("call %d has the result %s; want %q", i, got, want)
		}
	}
	if len(told) != 1 || told[0] != `{"to":"look"}` {
		t.Errorf("the children were told %q", told)
	}
}

// Agents that call each other in a circle reach the bound on depth: the last one is not offered the tool.
func TestACircleOfAgents(t *testing.T) {
	r := newRig(t)
	var mu sync.Mutex // guards offered
	var offered []int
	r.startTroupe(nil, func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		if _, results := asked(request); results > 0 {
			says("done")(ctx, yield)
			return
		}
		mu.Lock()
		offered = append(offered, len(request.Tools))
		mu.Unlock()
		calls(parley.FinishToolCalls, "circle", `{"task":"again"}`)(ctx, yield)
	})
	r.colleague("Circle", asTool("circle"))
	agent, err := r.store.Agent(t.Context(), r.scope.WorkspaceID, "circle")
	r.must(err)
	sessionID := r.session(parley.Settings{}, func(s *parley.Session) { s.AgentID = agent.ID })
	if turn := r.ended(r.post(sessionID, "Go", "").Turn.ID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
	tree, err := r.store.Tree(t.Context(), r.scope, sessionID)
	r.must(err)
	if len(tree.Data) != parley.MaxToolDepth+1 {
		t.Errorf("the circle went round %d times", len(tree.Data))
	}
	for i, n := range offered {
		if want := 1; (i < parley.MaxToolDepth && n != want) || (i == parley.MaxToolDepth && n != 0) {
			t.Errorf("at depth %d %d tools were offered", i, n)
		}
	}
}

// A steer that arrives while a child works is shown once the child has answered, and the child's result is not lost.
func TestSteerWhileAChildWorks(t *testing.T) {
	r := newRig(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	r.startTroupe(nil, func(ctx context.Context, request model.Request, yield func(model.Chunk, error) bool) {
		switch task, results := asked(request); {
		case task == "Go" && results == 0:
			calls(parley.FinishToolCalls, "scout", `{"task":"look"}`)(ctx, yield)
		case task == "look":
			close(reached)
			<-goOn
			says("seen")(ctx, yield)
		default:
			says("You said "+task)(ctx, yield)
		}
	})
	sessionID := r.session(withTools(r.colleague("Scout")), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	r.wait("the child", reached)
	r.post(sessionID, "Hurry", parley.DuringSteer)
	close(goOn)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
	ok := parley.MessageCompleted
	record := r.record(sessionID)
	if record[3] != (line{parley.RoleToolResult, ok, `{"text":"seen"}`}) ||
		record[len(record)-1] != (line{parley.RoleAssistant, ok, "You said Hurry"}) {
		t.Errorf("the record is %+v", record)
	}
}
