package transition

import (
	"bytes"
	"encoding/json"
	"strconv"

	"parley"
	"parley/store"
)

// The data of events, written by hand: they are on the path of every turn.

func appendID(to []byte, id parley.ID) []byte {
	if id.IsZero() {
		return append(to, "null"...)
	}
	return append(id.AppendText(append(to, '"')), '"')
}

func turnData(turnID parley.ID) []byte {
	return appendID(append(make([]byte, 0, 192), `{"turn_id":`...), turnID)
}

func startedData(turn *parley.Turn) json.RawMessage {
	out := append(turnData(turn.ID), `,"attempt":`...)
	return append(strconv.AppendInt(out, int64(turn.Attempt), 10), '}')
}

// endedData is the data of the event that ends a turn: it carries the turn.
func endedData(turn *parley.Turn) (json.RawMessage, error) {
	encoded, err := turn.MarshalJSON()
	if err != nil {
		return nil, err
	}
	out := append(turnData(turn.ID), `,"turn":`...)
	return append(append(out, encoded...), '}'), nil
}

func waitingData(turnID parley.ID, reason parley.WaitReason) json.RawMessage {
	out := append(turnData(turnID), `,"reason":`...)
	return append(parley.AppendJSONString(out, string(reason)), '}')
}

func createdData(m *parley.Message) json.RawMessage {
	out := appendID(append(make([]byte, 0, 192), `{"message_id":`...), m.ID)
	out = appendID(append(out, `,"turn_id":`...), m.TurnID)
	out = append(append(append(out, `,"role":"`...), m.Role...), `","message_sequence":`...)
	return append(strconv.AppendInt(out, m.Sequence, 10), '}')
}

func queuedData(m *parley.Message) json.RawMessage {
	out := appendID(append(make([]byte, 0, 192), `{"message_id":`...), m.ID)
	out = appendID(append(out, `,"turn_id":`...), m.TurnID)
	out = append(out, `,"position":`...)
	if m.Position == nil {
		out = append(out, "null"...)
	} else {
		out = strconv.AppendInt(out, *m.Position, 10)
	}
	return append(strconv.AppendBool(append(out, `,"steer":`...), m.Steer), '}')
}

func removedData(id parley.ID) json.RawMessage {
	return append(appendID([]byte(`{"message_id":`), id), '}')
}

func stepStartedData(call *parley.Call, turnID parley.ID) json.RawMessage {
	out := strconv.AppendInt(append(turnData(turnID), `,"step":`...), int64(call.Step), 10)
	out = appendID(append(out, `,"call_id":`...), call.ID)
	out = appendID(append(out, `,"message_id":`...), call.MessageID)
	out = strconv.AppendInt(append(out, `,"attempt":`...), int64(call.Attempt), 10)
	out = parley.AppendJSONString(append(out, `,"model":`...), string(call.Model))
	return append(out, '}')
}

func retryingData(turnID parley.ID, step int, notice store.RetryNotice) json.RawMessage {
	out := strconv.AppendInt(append(turnData(turnID), `,"step":`...), int64(step), 10)
	out = strconv.AppendInt(append(out, `,"attempt":`...), int64(notice.Attempt), 10)
	out = parley.AppendJSONString(append(out, `,"class":`...), string(notice.Class))
	out = strconv.AppendInt(append(out, `,"wait_ms":`...), notice.Wait.Milliseconds(), 10)
	return append(out, '}')
}

// warningData writes amounts of money in dollars.
func warningData(turnID parley.ID, warning parley.LimitWarning) json.RawMessage {
	out := parley.AppendJSONString(append(turnData(turnID), `,"limit":`...), string(warning.Limit))
	out = parley.AppendJSONString(append(out, `,"scope":`...), string(warning.Scope))
	spent, of := strconv.FormatInt(warning.Spent, 10), strconv.FormatInt(warning.Of, 10)
	if warning.Money() {
		spent, of = parley.Money(warning.Spent).String(), parley.Money(warning.Of).String()
	}
	out = append(append(append(out, `,"spent":`...), spent...), `,"of":`...)
	out = append(append(out, of...), `,"share":`...)
	return append(strconv.AppendFloat(out, warning.Share(), 'f', 3, 64), '}')
}

func progressData(turnID parley.ID, note store.ProgressNote) json.RawMessage {
	out := parley.AppendJSONString(append(turnData(turnID), `,"tool_call_id":`...), note.ToolCallID)
	out = parley.AppendJSONString(append(out, `,"name":`...), note.ToolName)
	out = strconv.AppendFloat(append(out, `,"progress":`...), note.Progress, 'f', -1, 64)
	out = append(out, `,"total":`...)
	if note.Total > 0 {
		out = strconv.AppendFloat(out, note.Total, 'f', -1, 64)
	} else {
		out = append(out, "null"...)
	}
	return append(parley.AppendJSONString(append(out, `,"message":`...), note.Message), '}')
}

func toolData(turnID, messageID parley.ID, callID, name string) []byte {
	out := appendID(append(turnData(turnID), `,"message_id":`...), messageID)
	out = parley.AppendJSONString(append(out, `,"tool_call_id":`...), callID)
	return parley.AppendJSONString(append(out, `,"name":`...), name)
}

func toolStartedData(turnID, messageID parley.ID, callID, name string) json.RawMessage {
	return append(toolData(turnID, messageID, callID, name), '}')
}

// toolCompletedData reads success and time from the result's content.
func toolCompletedData(m *parley.Message) (json.RawMessage, error) {
	var result struct {
		Success bool   `json:"success"`
		Time    *int64 `json:"execution_time_ms"`
	}
	if err := json.Unmarshal(m.Content, &result); err != nil {
		return nil, err
	}
	out := strconv.AppendBool(append(toolData(m.TurnID, m.ID, m.ToolCallID, m.ToolName), `,"success":`...), result.Success)
	out = append(out, `,"execution_time_ms":`...)
	if result.Time == nil {
		return append(out, "null}"...), nil
	}
	return append(strconv.AppendInt(out, *result.Time, 10), '}'), nil
}

// settledData is the data of step.generated or step.error in its complete form,
// and as it is stored: without contents.
func settledData(turnID parley.ID, step int, failure *parley.Failure, messages []parley.SettledMessage) (complete, stored json.RawMessage, err error) {
	prefix := strconv.AppendInt(append(turnData(turnID), `,"step":`...), int64(step), 10)
	prefix = append(prefix, `,"error":`...)
	if failure == nil {
		prefix = append(prefix, "null"...)
	} else {
		encoded, err := failure.MarshalJSON()
		if err != nil {
			return nil, nil, err
		}
		prefix = append(prefix, encoded...)
	}
	prefix = append(prefix, `,"messages":[`...)
	size := len(prefix)
	for i := range messages {
		size += 192 + len(messages[i].Content)
	}
	complete, stored = append(make([]byte, 0, size), prefix...), prefix
	for i := range messages {
		m := &messages[i]
		if i > 0 {
			complete, stored = append(complete, ','), append(stored, ',')
		}
		from := len(complete)
		complete = appendID(append(complete, `{"message_id":`...), m.MessageID)
		complete = append(append(append(complete, `,"role":"`...), m.Role...), `","status":"`...)
		complete = append(append(complete, m.Status...), `","end":`...)
		complete = strconv.AppendInt(complete, int64(m.End), 10)
		stored = append(append(stored, complete[from:]...), `,"content":null}`...)
		complete = append(append(complete, `,"content":`...), m.Content...)
		complete = append(complete, '}')
	}
	return append(complete, "]}"...), append(stored, "]}"...), nil
}

// CompleteSettled puts the contents back into a stored step.generated or
// step.error, from the messages' rows; other events are complete as they are.
// contentOf is nil for a message that is gone.
func CompleteSettled(event *parley.Event, contentOf func(messageID parley.ID) (json.RawMessage, error)) error {
	if event.Type != parley.EventStepGenerated && event.Type != parley.EventStepError {
		return nil
	}
	var step parley.SettledStep
	if err := json.Unmarshal(event.Data, &step); err != nil {
		return err
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		content, err := contentOf(m.MessageID)
		if err != nil {
			return err
		}
		switch m.Content = content; {
		case content == nil:
			m.Content = json.RawMessage("null")
		case !json.Valid(content):
			m.Content, _ = parley.UnreadableContent(m.Role, content)
		}
	}
	complete, _, err := settledData(step.TurnID, step.Step, step.Error, step.Messages)
	if err != nil {
		return err
	}
	event.Data = complete
	return nil
}

// endOf is the length in bytes of what streamed into a message: an assistant's
// text, a call's arguments.
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
	// The content is canonical: the text stands last, and every escape in it is
	// one byte. A quote inside a string is escaped, so the name cannot be imitated.
	at := bytes.LastIndex(content, []byte(`"text":"`))
	if at < 1 || (content[at-1] != '{' && content[at-1] != ',') {
		return 0, nil
	}
	end := 0
	for rest := content[at+len(`"text":"`):]; len(rest) > 0 && rest[0] != '"'; end++ {
		switch {
		case rest[0] != '\\':
			rest = rest[1:]
		case len(rest) > 5 && rest[1] == 'u':
			rest = rest[6:]
		default:
			rest = rest[2:]
		}
	}
	return end, nil
}
