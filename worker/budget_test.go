package worker

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// waitsForRoom waits until a session's turn parks for budget, and returns the event's data.
func (r *rig) waitsForRoom(sessionID parley.ID) (told struct{ Reason, Limit, Sentence string }) {
	r.Helper()
	r.must(json.Unmarshal(r.happened(sessionID, parley.EventSessionWaiting).Data, &told))
	return told
}

// relimit changes a session's limits.
func (r *rig) relimit(sessionID parley.ID, patch string) {
	r.Helper()
	var change store.SessionChange
	r.must(json.Unmarshal([]byte(patch), &change.Settings.Limits))
	_, err := r.store.UpdateSession(r.Context(), r.scope, sessionID, change)
	r.must(err)
}

// brief returns limits with short answers, so that an estimate is small.
func brief(limits parley.Limits) parley.Settings {
	overrides := limited(limits)
	overrides.MaxTokens = new(10)
	return overrides
}

func (r *rig) spent(id parley.ID) store.Budget {
	r.Helper()
	budgets, err := r.store.Budgets(
		r.Context(),
		r.scope.WorkspaceID,
		[]store.BudgetSubject{{ID: id, Scope: parley.BudgetOfSession}},
	)
	r.must(err)
	return budgets[0]
}

// A call that might exceed the limit is not sent; the turn waits, says why, and resumes by itself when the limit is
// raised.
func TestASessionWithoutRoomWaits(t *testing.T) {
	r := newRig(t)
	w := r.start(nil)
	r.model.play(says("Well."))
	sessionID := r.session(limited(parley.Limits{SessionTokens: new(int64(1000))}), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	told := r.waitsForRoom(sessionID)
	if told.Reason != "budget" || told.Limit != "session_tokens" ||
		!strings.Contains(told.Sentence, "may use 1000 tokens") ||
		!strings.Contains(told.Sentence, "limits.session_tokens") {
		t.Errorf("the event says %+v", told)
	}
	r.idleSlots(w)
	if r.model.sent() != 0 {
		t.Errorf("%d requests were sent", r.model.sent())
	}
	r.relimit(sessionID, `{"session_tokens":10000}`)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
	if b := r.spent(sessionID); b.Tokens != 1500 || b.ReservedTokens != 0 || b.Cost != 2_000_000 {
		t.Errorf("the budget is %+v", b)
	}
}

// A session's token limit over the whole record warns once, then stops the turn.
func TestWarnedThenStopped(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(says("One."), says("Two."), says("Three."))
	sessionID := r.session(brief(parley.Limits{SessionTokens: new(int64(1800))}), nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if got := r.warnings(sessionID); len(got) != 0 {
		t.Errorf("warned of %v at 75 %% of what was still to come", got)
	}
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	r.post(sessionID, "Go", "")
	r.waitsForRoom(sessionID)
	if diff := cmp.Diff([]string{"session session_tokens"}, r.warnings(sessionID)); diff != "" {
		t.Error(diff)
	}
	if r.model.sent() != 2 {
		t.Errorf("%d requests were sent", r.model.sent())
	}
}

// A turn's own limit parks it too; calls without reported usage count with their estimate.
func TestATurnsTokensAreLimited(t *testing.T) {
	r := newRig(t)
	r.tools = fakeTools{{"act", parley.ToolAnnotations{}, noop}}
	r.start(nil)
	r.model.play(calls(parley.FinishToolCalls, "act", `{}`), says("Done."))
	sessionID := r.session(limited(parley.Limits{MaxTokens: new(int64(5000))}, "act"), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	if told := r.waitsForRoom(
		sessionID,
	); told.Limit != "max_tokens" ||
		!strings.HasPrefix(told.Sentence, "This turn may use 5000 tokens") {
		t.Errorf("the event says %+v", told)
	}
	if call := r.callLog(sessionID)[0]; !call.Estimated || call.Cost == nil || *call.Cost != *call.Reserved.Cost {
		t.Errorf("the call without usage is kept as %+v", call)
	}
	r.relimit(sessionID, `{"max_tokens":20000}`)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted || r.model.sent() != 2 {
		t.Errorf("turn %s, %+v after %d requests", turn.Status, turn.Error, r.model.sent())
	}
}

// An unknown price is not zero: limited money parks the turn, and the sentence names the model.
func TestMoneyNeedsAPrice(t *testing.T) {
	r := newRig(t)
	r.model.unpriced = true
	r.start(nil)
	r.model.play(says("Done."))
	sessionID := r.session(limited(parley.Limits{SessionCost: new(parley.Money(5e9))}), nil)
	turnID := r.post(sessionID, "Go", "").Turn.ID
	if told := r.waitsForRoom(
		sessionID,
	); told.Reason != "budget" || !strings.Contains(told.Sentence, string(scriptedID)) ||
		r.model.sent() != 0 {
		t.Errorf("the event says %+v after %d requests", told, r.model.sent())
	}
	r.relimit(sessionID, `{"session_cost":null,"session_tokens":100000}`)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
}

// A tool session is bounded by its root's limit, and resumes when that is raised.
func TestAToolSessionIsBoundedByItsRoot(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(says("Done."))
	root := r.session(limited(parley.Limits{SessionTokens: new(int64(100))}), nil)
	child := r.session(parley.Settings{}, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	turnID := r.post(child, "Go", "").Turn.ID
	if told := r.waitsForRoom(child); told.Limit != "session_tokens" {
		t.Errorf("the event says %+v", told)
	}
	r.relimit(root, `{"session_tokens":10000}`)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
	if b := r.spent(root); b.Tokens != 1500 {
		t.Errorf("the root's budget is %+v", b)
	}
}

// The sessions of an agent share its daily limit. The limits of its current version apply, whatever version a waiting
// turn began with.
func TestAnAgentsDay(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(says("One."), says("Two."))
	agent := r.agent
	agent.Limits = &parley.Limits{DailyTokens: new(int64(1600)), MaxSteps: new(7)}
	agent, err := r.store.UpdateAgent(t.Context(), agent)
	r.must(err)
	overrides := parley.Settings{Parameters: parley.Parameters{MaxTokens: new(10)}}
	first, second := r.session(overrides, nil), r.session(overrides, nil)
	r.ended(r.post(first, "Go", "").Turn.ID)
	_, err = r.store.UpdateAgent(t.Context(), agentWith(agent, 1500))
	r.must(err)
	turnID := r.post(second, "Go", "").Turn.ID
	if told := r.waitsForRoom(
		second,
	); told.Limit != "daily_tokens" ||
		!strings.HasPrefix(
			told.Sentence,
			"This agent, over all of its sessions, may use 1500 tokens per day (UTC): 1500 tokens are used",
		) {
		t.Errorf("the event says %+v", told)
	}
	agent, err = r.store.Agent(t.Context(), r.scope.WorkspaceID, agent.ID.String())
	r.must(err)
	_, err = r.store.UpdateAgent(t.Context(), agentWith(agent, 100_000))
	r.must(err)
	if turn := r.ended(turnID); turn.Status != parley.TurnCompleted {
		t.Errorf("turn %s, %+v", turn.Status, turn.Error)
	}
}

func agentWith(agent parley.Agent, daily int64) parley.Agent {
	agent.Limits = &parley.Limits{DailyTokens: &daily}
	return agent
}

// Without limits no budget is read or created.
func TestWithoutLimitsNothingIsCounted(t *testing.T) {
	r := newRig(t)
	r.start(nil)
	r.model.play(says("Done."))
	sessionID := r.session(parley.Settings{}, nil)
	r.ended(r.post(sessionID, "Go", "").Turn.ID)
	if b := r.spent(sessionID); b.Made {
		t.Errorf("a budget was made: %+v", b)
	}
	if call := r.callLog(sessionID)[0]; call.Reserved != nil {
		t.Errorf("the call reserved %+v", call.Reserved)
	}
}
