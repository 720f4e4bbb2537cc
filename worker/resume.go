package worker

import (
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// resume settles what an earlier attempt left open and finds where the turn resumes. Nothing happens twice: a settled
// answer is not requested again, and of its calls without a result only repeatable ones run again. If unusable is set
// nothing new begins: the turn is about to fail.
func (t *turn) resume(unusable *parley.Failure) (runner.Next, error) {
	state, err := t.w.store.RecoverTurn(t.writes, t.fence)
	if err != nil {
		return runner.Over, err
	}
	if err := t.limits.countUsed(state.Messages); err != nil {
		return runner.Over, err
	}
	t.limits.startClock()
	step := t.claim.Turn.Step
	for i := range state.Messages {
		step = max(step, state.Messages[i].Step)
		t.wrote(state.Messages[i].Sequence)
	}
	t.asking.attempts = state.Attempts
	t.unsure = t.claim.Turn.Takeovers > 0
	if step == 0 {
		t.position = position{step: 1, attempt: 1, steers: true}
		return runner.AskNext, nil
	}
	calls, answered := openCalls(state.Messages, step)
	if !answered {
		if err := t.outputs.recall(step); err != nil {
			return runner.Over, err
		}
		t.position = position{step: step, attempt: state.Attempts + 1, steers: true}
		return runner.AskNext, nil
	}
	t.position = after(step)
	if calls == nil {
		return runner.FinishNext, nil
	}
	cut, err := t.wasCut(step)
	if err != nil {
		return runner.Over, err
	}
	if cut {
		t.position.step = step
		return t.endTruncated(calls)
	}
	for i := range calls {
		t.tools.sort(&calls[i])
		if err := t.rules.takeUp(&calls[i], state.Approvals, unusable != nil); err != nil {
			return runner.Over, err
		}
	}
	t.unsure = t.unsure && !anyAsked(calls) || slices.ContainsFunc(calls, func(c toolCall) bool {
		return c.refusal == parley.EffectUnknown
	})
	if len(calls) == 0 || unusable != nil && len(t.settings.Tools) == 0 {
		return runner.AskNext, nil
	}
	t.position.step, t.calls = step, calls
	return runner.CallNext, nil
}

// anyAsked reports whether a person was asked about one of these calls. None of them has a result, so the run that made
// them stopped there.
func anyAsked(calls []toolCall) bool {
	return slices.ContainsFunc(calls, func(c toolCall) bool { return c.approval != nil })
}

// openCalls returns the calls of a step without a result: nil if it has no calls at all. Answered reports whether the
// step has a settled answer.
func openCalls(messages []parley.Message, step int) (open []toolCall, answered bool) {
	results := map[string]bool{}
	for i := range messages {
		if messages[i].Role == parley.RoleToolResult {
			results[messages[i].ToolCallID] = true
		}
	}
	for i := range messages {
		m := &messages[i]
		if m.Step != step || m.Status != parley.MessageCompleted {
			continue
		}
		switch m.Role {
		case parley.RoleAssistant:
			answered = true
		case parley.RoleToolCall:
			answered = true
			if open == nil {
				open = []toolCall{}
			}
			if !results[m.ToolCallID] {
				open = append(open, recordedCall(m))
			}
		}
	}
	return open, answered
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
