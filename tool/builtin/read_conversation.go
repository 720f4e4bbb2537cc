package builtin

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/tool"
)

const (
	conversationPage      = 64        // messages read at a time
	conversationPageBytes = 256 << 10 // of their contents
	conversationPages     = 16        // read for one answer
	quoteBytes            = 2 << 10   // of one message in an answer about several
)

// readConversation reads a part of the record of the calling session, in order.
type readConversation struct {
	fixed
	record ownRecord
}

func newReadConversation(record ownRecord) tool.Tool {
	return readConversation{
		fixed{
			parley.ToolDefinition{
				Name: parley.ReadConversationTool,
				Description: "Reads earlier messages of this conversation by their numbers, also those that a " +
					"summary stands for or that are no longer shown.",
				Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
					`"from":{"description":"The number of the first message, from 1 on.","minimum":1,` +
					`"type":"integer"},` +
					`"to":{"description":"The number of the last one. Default: as many as one answer holds.",` +
					`"minimum":1,"type":"integer"}},"required":["from"],"type":"object"}`),
			},
			parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
		},
		record,
	}
}

// quotation is a message of the record in an answer.
type quotation struct {
	Sequence int64       `json:"sequence"`
	Role     parley.Role `json:"role"`
	Author   string      `json:"author,omitempty"`
	Tool     string      `json:"tool,omitempty"`
	At       parley.Time `json:"at"`
	Text     string      `json:"text"`
	Bytes    int         `json:"bytes,omitempty"` // of the whole text, if only its beginning is here
}

func quotationOf(m *parley.Message) quotation {
	return quotation{Sequence: m.Sequence, Role: m.Role, Author: m.Author.Name, Tool: m.ToolName, At: m.CreatedAt}
}

// Call implements tool.Tool.
func (t readConversation) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t readConversation) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	var arguments struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}
	if err := call.Read(&arguments); err != nil {
		return nil, err
	}
	if arguments.From < 1 || arguments.To != 0 && arguments.To < arguments.From {
		return nil, parley.InvalidField("from", "must be 1 or more, and to not less than from")
	}
	answer := struct {
		Notice   string      `json:"notice"`
		Messages []quotation `json:"messages"`
		Next     *int64      `json:"next"` // where to read on; null at the end
	}{Notice: recordNotice, Messages: []quotation{}}
	size, from := 0, arguments.From
	for range conversationPages {
		rows, err := t.record.from(ctx, call, from, conversationPage, conversationPageBytes)
		if err != nil {
			return nil, err
		}
		if len(rows) == 0 {
			return json.Marshal(answer)
		}
		for i := range rows {
			m := &rows[i]
			if arguments.To != 0 && m.Sequence > arguments.To {
				return json.Marshal(answer)
			}
			if from = m.Sequence + 1; !quotable(m) {
				continue
			}
			quote := quotationOf(m)
			quote.Text = quoted(m)
			if len(quote.Text) > quoteBytes {
				whole := quote.Text
				hides, err := call.Hides(ctx, whole)
				if err != nil {
					return nil, err
				}
				quote.Bytes, quote.Text = len(whole), parley.Clip(whole, quoteBytes)
				if place := hidden(hides).at(len(quote.Text)); place != nil {
					quote.Text = whole[:place[0]]
				}
			}
			if size += len(quote.Text); size > recallBytes && len(answer.Messages) > 0 {
				answer.Next = &m.Sequence
				return json.Marshal(answer)
			}
			answer.Messages = append(answer.Messages, quote)
		}
	}
	answer.Next = &from
	return json.Marshal(answer)
}
