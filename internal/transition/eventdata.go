package transition

import (
	"encoding/json"
	"strconv"

	"example.org/parley"
	"example.org/parley/event"
	"example.org/parley/store"
)

// Data of the events that transitions write.

// nilIfZero returns nil for a zero value, which JSON shows as null. It copies nothing.
func nilIfZero[T comparable](value *T) *T {
	var empty T
	if *value == empty {
		return nil
	}
	return value
}

// ended returns the event that ends a turn, with the turn in it.
func ended(turn *parley.Turn) (event.Encoded, error) {
	end := event.TurnEnd{TurnID: turn.ID, Turn: *turn}
	switch turn.Status {
	case parley.TurnFailed:
		return event.SessionFailed{TurnEnd: end}.Encode()
	case parley.TurnCancelled:
		return event.SessionCancelled{TurnEnd: end}.Encode()
	}
	return event.SessionCompleted{TurnEnd: end}.Encode()
}

func messageCreated(m *parley.Message) event.Encoded {
	return event.MessageCreated{
		MessageID: m.ID, TurnID: nilIfZero(&m.TurnID), Role: m.Role, MessageSequence: m.Sequence,
	}.Encode()
}

func messageQueued(m *parley.Message) event.Encoded {
	return event.MessageQueued{
		MessageID: m.ID, TurnID: nilIfZero(&m.TurnID), Position: m.Position, Steer: m.Steer,
	}.Encode()
}

func stepStarted(call *parley.Call, turnID parley.ID) event.Encoded {
	return event.StepStarted{
		TurnID: turnID, Step: call.Step, CallID: nilIfZero(&call.ID), MessageID: call.MessageID,
		Attempt: call.Attempt, Model: call.Model,
	}.Encode()
}

func stepRetrying(turnID parley.ID, step int, notice store.RetryNotice) event.Encoded {
	return event.StepRetrying{
		TurnID: turnID, Step: step, Attempt: notice.Attempt, Class: notice.Class, WaitMS: notice.Wait.Milliseconds(),
	}.Encode()
}

// limitWarning shows amounts of money in dollars.
func limitWarning(turnID parley.ID, warning parley.LimitWarning) event.Encoded {
	amount := func(n int64) json.Number {
		if warning.Money() {
			return json.Number(parley.Money(n).String())
		}
		return json.Number(strconv.FormatInt(n, 10))
	}
	return event.LimitWarning{
		TurnID: turnID, Limit: warning.Limit, Scope: warning.Scope,
		Spent: amount(warning.Spent), Of: amount(warning.Of), Share: event.Share(warning.Share()),
	}.Encode()
}

func toolStarted(turnID, messageID parley.ID, callID, name string) event.Encoded {
	return event.ToolStarted{TurnID: turnID, MessageID: messageID, ToolCallID: callID, Name: name}.Encode()
}

func toolProgress(turnID parley.ID, note store.ProgressNote) event.Encoded {
	total := &note.Total
	if note.Total <= 0 {
		total = nil
	}
	return event.ToolProgress{
		TurnID: turnID, ToolCallID: note.ToolCallID, Name: note.ToolName,
		Progress: note.Progress, Total: total, Message: note.Message,
	}.Encode()
}

// toolCompleted reads success and time from the result's content.
func toolCompleted(m *parley.Message) (event.Encoded, error) {
	var result struct {
		Success bool   `json:"success"`
		Time    *int64 `json:"execution_time_ms"`
	}
	if err := json.Unmarshal(m.Content, &result); err != nil {
		return event.Encoded{}, err
	}
	return event.ToolCompleted{
		TurnID: m.TurnID, MessageID: m.ID, ToolCallID: m.ToolCallID, Name: m.ToolName,
		Success: result.Success, ExecutionTimeMS: result.Time,
	}.Encode(), nil
}

func waiting(turnID parley.ID, reason parley.WaitReason) event.Encoded {
	return event.SessionWaiting{TurnID: turnID, Reason: reason}.Encode()
}

// refused returns session.waiting for a turn that a limit stopped.
func refused(turnID parley.ID, refusal *store.Refusal) event.Encoded {
	return event.SessionWaiting{
		TurnID: turnID, Reason: refusal.Reason,
		Refused: &event.Refused{Limit: nilIfZero(&refusal.Limit), Sentence: refusal.Sentence},
	}.Encode()
}

func loopProgress(loop *parley.Loop) event.Encoded {
	return event.LoopProgress{
		LoopID: loop.ID, TurnID: loop.TurnID, Iteration: loop.Iteration, Max: loop.Max,
		State: loop.State, Reason: nilIfZero(&loop.Reason),
	}.Encode()
}

// approvalTold returns the data of an approval's events: everything but the arguments.
func approvalTold(a *parley.Approval) event.Approval {
	told := event.Approval{
		TurnID: a.TurnID, ApprovalID: a.ID, SessionID: a.SessionID, RootID: a.RootID, MessageID: a.MessageID,
		ToolCallID: a.ToolCallID, Name: a.ToolName, Fingerprint: a.Fingerprint, State: a.State,
		Scope: nilIfZero(&a.Scope), Covers: nilIfZero(&a.Covers), Comment: nilIfZero(&a.Comment),
		Explanation: parley.OrNull(a.Why()), Approvers: a.Needed(), Missing: a.StillMissing(), ExpiresAt: a.ExpiresAt,
	}
	if a.DecidedBy != nil {
		told.DecidedBy = &a.DecidedBy.Name
	}
	return told
}

func compactionStarted(c *parley.Compaction, begin *store.CompactionBegin) event.Encoded {
	return event.CompactionStarted{
		CompactionID: c.ID, CallID: c.CallID, Reason: c.Reason, Attempt: c.Attempt, Model: begin.Call.Model,
		CoversFrom: c.CoversFrom, CoversThrough: c.CoversThrough, Part: max(1, begin.Part), Parts: max(1, begin.Parts),
	}.Encode()
}

func compactionCompleted(c *parley.Compaction, queued bool) event.Encoded {
	return event.CompactionCompleted{
		CompactionID: c.ID, CallID: c.CallID, MessageID: c.MessageID,
		CoversFrom: c.CoversFrom, CoversThrough: c.CoversThrough, Queued: queued,
	}.Encode()
}

func compactionFailed(c *parley.Compaction, again bool) (event.Encoded, error) {
	return event.CompactionFailed{
		CompactionID: c.ID, CallID: nilIfZero(&c.CallID), Attempt: c.Attempt, Error: *c.Error, Again: again,
	}.Encode()
}

// stepSettled returns the end of a step, of type step.generated or step.error.
func stepSettled(kind parley.EventType, settled event.Settled) (event.Encoded, error) {
	if kind == parley.EventStepGenerated {
		return event.StepGenerated{Settled: settled}.Encode()
	}
	return event.StepError{Settled: settled}.Encode()
}

// CompleteSettled puts the contents back into a stored step.generated or step.error, from the messages' rows; other
// events are complete. contentOf returns nil for a message that is gone.
func CompleteSettled(e *parley.Event, contentOf func(messageID parley.ID) (json.RawMessage, error)) error {
	if e.Type != parley.EventStepGenerated && e.Type != parley.EventStepError {
		return nil
	}
	var step event.Settled
	if err := json.Unmarshal(e.Data, &step); err != nil {
		return err
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		content, err := contentOf(m.MessageID)
		if err != nil {
			return err
		}
		if m.Content = nil; content == nil {
			continue
		}
		if !json.Valid(content) {
			content, _ = parley.UnreadableContent(m.Role, content)
		}
		m.Content = parley.AppendContent(nil, m.Role, content)
	}
	complete, err := stepSettled(e.Type, step)
	if err != nil {
		return err
	}
	e.Data = complete.Data()
	return nil
}

// endOf returns the length in bytes of what streamed into a message: an assistant's text, a call's arguments.
func endOf(role parley.Role, content json.RawMessage) (int, error) {
	if role == parley.RoleToolCall {
		var call parley.ToolCallContent
		if err := json.Unmarshal(content, &call); err != nil {
			return 0, err
		}
		if call.ArgumentsText != "" || string(call.Arguments) == "null" {
			return len(call.ArgumentsText), nil
		}
		return len(call.Arguments), nil
	}
	if text, plain := parley.PlainText(content); plain {
		return len(text), nil
	}
	var said parley.AssistantContent
	err := json.Unmarshal(content, &said)
	return len(said.Text), err
}
