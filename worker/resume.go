package worker

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// resume settles what an earlier attempt left open and finds where the turn goes
// on. What has happened is never done twice: a settled answer is not asked for
// again, and of its calls without a result only repeatable tools run again. With
// unusable set nothing new is begun: the turn is about to fail.
func (t *turn) resume(unusable *parley.Failure) (place, error) {
	state, err := t.w.store.RecoverTurn(t.writes, t.fence)
	if err != nil {
		return over(), err
	}
	if err := t.limits.countUsed(state.Messages); err != nil {
		return over(), err
	}
	t.limits.within()
	step := t.claim.Turn.Step
	for i := range state.Messages {
		step = max(step, state.Messages[i].Step)
		t.wrote(state.Messages[i].Sequence)
	}
	t.asking.attempts = state.Attempts
	if step == 0 {
		return place{step: 1, attempt: 1, steers: true}, nil
	}
	again := place{step: step, attempt: state.Attempts + 1, steers: true}
	answered := false
	results := map[string]bool{}
	var calls []toolCall
	for i := range state.Messages {
		m := &state.Messages[i]
		if m.Role == parley.RoleToolResult {
			results[m.ToolCallID] = true
		}
		if m.Step != step || m.Status != parley.MessageCompleted {
			continue
		}
		switch m.Role {
		case parley.RoleAssistant:
			answered = true
		case parley.RoleToolCall:
			answered = true
			calls = append(calls, recordedCall(m))
		}
	}
	if !answered {
		return again, nil
	}
	next := place{step: step + 1, attempt: 1, steers: true}
	if len(calls) == 0 {
		return t.complete(next)
	}
	cut, err := t.wasCut(step)
	if err != nil {
		return over(), err
	}
	open := calls[:0]
	for _, call := range calls {
		if !results[call.id] {
			open = append(open, call)
		}
	}
	if cut {
		return t.endTruncated(step, open)
	}
	for i := range open {
		t.tools.sort(&open[i])
		if err := t.rules.takeUp(&open[i], state.Approvals, unusable != nil); err != nil {
			return over(), err
		}
	}
	if len(open) == 0 || unusable != nil && len(t.settings.Tools) == 0 {
		return next, nil
	}
	t.at = t.w.observer.StepBegan(t.ctx, step)
	next, err = t.runCalls(step, open)
	t.w.observer.StepEnded(t.at, err)
	return next, err
}

// recordedCall reads a settled tool_call.
func recordedCall(m *parley.Message) toolCall {
	call := toolCall{messageID: m.ID, id: m.ToolCallID, name: m.ToolName}
	var content parley.ToolCallContent
	err := json.Unmarshal(m.Content, &content)
	call.arguments = content.Arguments
	call.malformed = err != nil || len(content.Arguments) == 0 || content.Arguments[0] != '{'
	return call
}

// wasCut reports whether the answer of a step ended at its token limit.
func (t *turn) wasCut(step int) (bool, error) {
	scope := store.Scope{WorkspaceID: t.fence.WorkspaceID}
	calls, err := t.w.store.Calls(t.writes, scope, t.fence.SessionID, store.CallQuery{TurnID: t.fence.TurnID, Limit: 1})
	if err != nil || len(calls) == 0 {
		return false, err
	}
	return calls[0].Step == step && calls[0].Finish == parley.FinishLength, nil
}
