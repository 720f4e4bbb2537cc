package engine

import (
	"context"
	"encoding/json"
	"slices"

	"example.org/parley"
)

// BlockType names a piece of an assistant's output (A7).
type BlockType string

// The block types.
const (
	BlockReasoning BlockType = "reasoning_content"
	BlockContent   BlockType = "content"
	BlockToolCall  BlockType = "tool_call"
	BlockSearch    BlockType = "search" // a call of the tool that searches the web
	BlockError     BlockType = "error"
)

// Block is a piece of an assistant's output. Content is a string for reasoning and content, a BlockCall for a tool
// call or a search, a parley.Failure for an error.
type Block struct {
	MessageID parley.ID            `json:"message_id"`
	Type      BlockType            `json:"type" enum:"reasoning_content,content,tool_call,search,error"`
	Content   json.RawMessage      `json:"content"`
	Status    parley.MessageStatus `json:"status"`
	Timestamp parley.Time          `json:"timestamp"`
}

// BlockCall is the content of a tool_call block: the call, and its result once
// there is one.
type BlockCall struct {
	ID            string          `json:"id"`
	Name          string          `json:"name"`
	Arguments     json.RawMessage `json:"arguments"`
	ArgumentsText string          `json:"arguments_text,omitempty"`
	Result        json.RawMessage `json:"result"` // a parley.ToolResultContent; null while it runs
}

// MarshalJSON writes null for absent fields.
func (c BlockCall) MarshalJSON() ([]byte, error) {
	return parley.EncodeJSON(struct {
		ID            string          `json:"id"`
		Name          string          `json:"name"`
		Arguments     json.RawMessage `json:"arguments"`
		ArgumentsText *string         `json:"arguments_text"`
		Result        json.RawMessage `json:"result"`
	}{c.ID, c.Name, c.Arguments, parley.OrNull(c.ArgumentsText), c.Result})
}

// Entry is a row of the transcript: a message (if Message is set), or the output of a turn folded into blocks.
type Entry struct {
	Role    parley.Role          `json:"role"`
	TurnID  parley.ID            `json:"turn_id"`
	Author  parley.Author        `json:"author"`
	Model   parley.ModelID       `json:"model,omitempty"`
	Status  parley.MessageStatus `json:"status"`
	Message *parley.Message      `json:"message"`
	Blocks  []Block              `json:"blocks,omitempty"`
	From    int64                `json:"from_sequence,omitempty"`
	To      int64                `json:"to_sequence,omitempty"`
}

// MarshalJSON writes null for absent fields.
func (e Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	return parley.EncodeJSON(struct {
		*plain
		Model  *parley.ModelID `json:"model"`
		Blocks []Block         `json:"blocks"`
		From   *int64          `json:"from_sequence"`
		To     *int64          `json:"to_sequence"`
	}{(*plain)(&e), parley.OrNull(e.Model), e.Blocks, parley.OrNull(e.From), parley.OrNull(e.To)})
}

// Transcript is the view "transcript", for people. It leaves out internal messages. A page never splits a turn, so it
// may exceed its limit.
func (e *Engine) Transcript(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (Page[Entry], error) {
	page, err := e.folded(ctx, principal, sessionID, list)
	if err != nil {
		return Page[Entry]{}, err
	}
	rows := page.Data
	descending := list.Order == Descending
	if descending {
		slices.Reverse(rows)
	}
	entries := []Entry{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && isOutput(rows[0]) && isOutput(rows[n]) && rows[n].TurnID == rows[0].TurnID {
			n++
		}
		if entry, ok := fold(rows[:n]); ok {
			entries = append(entries, entry)
		}
		rows = rows[n:]
	}
	if descending {
		slices.Reverse(entries)
	}
	return Page[Entry]{Data: entries, Next: page.Next}, nil
}

// folded reads a page of user-facing rows, extended to whole turns.
func (e *Engine) folded(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
	list MessageList,
) (Page[parley.Message], error) {
	list, err := userFacing(list)
	if err != nil {
		return Page[parley.Message]{}, err
	}
	return e.messages(ctx, principal, sessionID, list, func(last, next parley.Message) bool {
		return !last.TurnID.IsZero() && last.TurnID == next.TurnID
	})
}

func isOutput(message parley.Message) bool {
	switch message.Role {
	case parley.RoleAssistant, parley.RoleToolCall, parley.RoleToolResult:
		return true
	}
	return false
}

// fold makes one entry of a message, or of the output rows of one turn; false if nothing of it is visible.
func fold(rows []parley.Message) (Entry, bool) {
	first, last := rows[0], rows[len(rows)-1]
	entry := Entry{
		Role: first.Role, TurnID: first.TurnID, Author: first.Author, Model: first.Model,
		Status: first.Status, From: first.Sequence, To: last.Sequence,
	}
	if !isOutput(first) {
		entry.Message = &first
		return entry, true
	}
	entry.Role, entry.Blocks = parley.RoleAssistant, []Block{}
	calls := make(map[string]int)
	for _, row := range rows {
		if hidden(row) {
			continue
		}
		if row.Role == parley.RoleToolResult {
			if at, ok := calls[row.ToolCallID]; ok {
				entry.Blocks[at] = answered(entry.Blocks[at], parley.AppendContent(nil, row.Role, row.Content))
			}
			continue
		}
		entry.Status = row.Status
		if row.Role == parley.RoleToolCall {
			calls[row.ToolCallID] = len(entry.Blocks)
		}
		entry.Blocks = append(entry.Blocks, blocksOf(row)...)
	}
	return entry, len(entry.Blocks) > 0 || entry.Status == parley.MessageStreaming
}

// blocksOf splits one assistant or tool_call row.
func blocksOf(row parley.Message) []Block {
	var blocks []Block
	add := func(kind BlockType, content json.RawMessage) {
		blocks = append(
			blocks,
			Block{MessageID: row.ID, Type: kind, Content: content, Status: row.Status, Timestamp: row.CreatedAt},
		)
	}
	switch row.Role {
	case parley.RoleToolCall:
		var call parley.ToolCallContent
		kind := BlockToolCall
		if row.ToolName == parley.WebSearchTool {
			kind = BlockSearch
		}
		if json.Unmarshal(row.Content, &call) == nil {
			add(
				kind,
				encode(
					BlockCall{
						ID:            call.ID,
						Name:          call.Name,
						Arguments:     call.Arguments,
						ArgumentsText: call.ArgumentsText,
					},
				),
			)
		}
	default:
		content := assistantContent(row)
		if content.Reasoning != "" {
			add(BlockReasoning, parley.AppendJSONString(nil, content.Reasoning))
		}
		if text := content.Text + content.Refusal; text != "" {
			add(BlockContent, parley.AppendJSONString(nil, text))
		}
	}
	if row.Error != nil {
		add(BlockError, encode(row.Error))
	}
	return blocks
}

// answered adds a call's result to its block.
func answered(block Block, result json.RawMessage) Block {
	var call BlockCall
	if json.Unmarshal(block.Content, &call) == nil {
		call.Result = result
		block.Content = encode(call)
	}
	return block
}

func assistantContent(message parley.Message) parley.AssistantContent {
	if text, plain := parley.PlainText(message.Content); plain {
		return parley.AssistantContent{Text: text}
	}
	var content parley.AssistantContent
	if json.Unmarshal(message.Content, &content) != nil {
		return parley.AssistantContent{}
	}
	return content
}

// encode encodes a struct of this package; raw members come from the store and are valid JSON.
func encode[T BlockCall | *parley.Failure](value T) json.RawMessage {
	encoded, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return encoded
}
