package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
)

// ChatRole is the role of a row in the view "chat".
type ChatRole string

// The chat roles (E2).
const (
	ChatUser      ChatRole = "user"
	ChatAssistant ChatRole = "assistant"
	ChatTool      ChatRole = "tool"
	ChatSummary   ChatRole = "summary"
	ChatSystem    ChatRole = "system" // imported
)

// ChatMessage is a row of the view "chat": one assistant message per step, with its tool calls; tool messages answer by
// call id.
type ChatMessage struct {
	ID         parley.ID            `json:"id"` // the id of the first folded row
	Sequence   *int64               `json:"sequence"`
	TurnID     parley.ID            `json:"turn_id"`
	Role       ChatRole             `json:"role"`
	Author     parley.Author        `json:"author"`
	Status     parley.MessageStatus `json:"status"`
	Content    string               `json:"content"`
	Reasoning  string               `json:"reasoning,omitempty"`
	ToolCalls  []ChatCall           `json:"tool_calls,omitempty"`
	ToolCallID string               `json:"tool_call_id,omitempty"`
	ToolName   string               `json:"tool_name,omitempty"`
	Error      *parley.Failure      `json:"error"`
	CreatedAt  parley.Time          `json:"created_at"`
}

// MarshalJSON writes null for absent fields.
func (m ChatMessage) MarshalJSON() ([]byte, error) {
	type plain ChatMessage
	return parley.EncodeJSON(struct {
		*plain
		Reasoning  *string    `json:"reasoning"`
		ToolCalls  []ChatCall `json:"tool_calls"`
		ToolCallID *string    `json:"tool_call_id"`
		ToolName   *string    `json:"tool_name"`
	}{(*plain)(&m), parley.OrNull(m.Reasoning), m.ToolCalls, parley.OrNull(m.ToolCallID), parley.OrNull(m.ToolName)})
}

// ChatCall is a tool call of an assistant message.
type ChatCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Chat is the view "chat". It leaves out internal messages. A page never splits a turn, so it may exceed its limit.
func (e *Engine) Chat(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (Page[ChatMessage], error) {
	page, err := e.folded(ctx, principal, sessionID, list)
	if err != nil {
		return Page[ChatMessage]{}, err
	}
	descending := list.Order == Descending
	if descending {
		slices.Reverse(page.Data)
	}
	chat := []ChatMessage{}
	for rows := slices.DeleteFunc(page.Data, hidden); len(rows) > 0; {
		n := 1
		for n < len(rows) && sameAnswerOf(&rows[0], &rows[n]) {
			n++
		}
		chat = append(chat, chatOf(rows[:n]))
		rows = rows[n:]
	}
	if descending {
		slices.Reverse(chat)
	}
	return Page[ChatMessage]{Data: chat, Next: page.Next}, nil
}

func isAnswer(row parley.Message) bool {
	return row.Role == parley.RoleAssistant || row.Role == parley.RoleToolCall
}

// sameAnswerOf reports whether two rows belong to the same answer of a model.
func sameAnswerOf(a, b *parley.Message) bool {
	return a.Step > 0 && a.Step == b.Step && a.TurnID == b.TurnID && isAnswer(*a) && isAnswer(*b)
}

// chatOf folds the rows of one answer, or shows a single other row.
func chatOf(rows []parley.Message) ChatMessage {
	row := rows[0]
	message := ChatMessage{
		ID: row.ID, TurnID: row.TurnID, Author: row.Author, Status: row.Status,
		Error: row.Error, CreatedAt: row.CreatedAt,
	}
	if row.Sequence != 0 {
		message.Sequence = &row.Sequence
	}
	switch row.Role {
	case parley.RoleAssistant, parley.RoleToolCall:
		message.Role = ChatAssistant
		message.join(rows)
	case parley.RoleToolResult:
		message.Role, message.ToolCallID, message.ToolName = ChatTool, row.ToolCallID, row.ToolName
		message.Content = resultText(row.Content)
	default:
		message.Role = ChatRole(row.Role)
		message.Content = assistantContent(row).Text // the other roles' text has the same name
	}
	return message
}

// join folds in the rows of an answer.
func (m *ChatMessage) join(rows []parley.Message) {
	var said, reasoning strings.Builder
	for i := range rows {
		row := &rows[i]
		m.Status = row.Status
		if row.Error != nil {
			m.Error = row.Error
		}
		if row.Role == parley.RoleToolCall {
			var call parley.ToolCallContent
			if json.Unmarshal(row.Content, &call) == nil {
				m.ToolCalls = append(m.ToolCalls, ChatCall{ID: call.ID, Name: call.Name, Arguments: call.Arguments})
			}
			continue
		}
		content := assistantContent(*row)
		said.WriteString(content.Text)
		said.WriteString(content.Refusal)
		reasoning.WriteString(content.Reasoning)
	}
	m.Content, m.Reasoning = said.String(), reasoning.String()
}

// resultText returns a tool's answer as text: its error, a string unchanged, other JSON as JSON.
func resultText(raw json.RawMessage) string {
	var content parley.ToolResultContent
	if json.Unmarshal(raw, &content) != nil {
		return string(raw)
	}
	if content.Error != nil && !content.Success {
		return *content.Error
	}
	if string(content.Result) == "null" {
		return "null"
	}
	return content.Plain()
}
