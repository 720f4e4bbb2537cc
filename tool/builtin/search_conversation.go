package builtin

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/words"
	"example.org/parley/store"
	"example.org/parley/tool"
)

const (
	defaultRecalled = 5
	mostRecalled    = 10
	recallPages     = 4 // of hits that one search looks through for messages that may be quoted
)

// searchConversation finds messages of the calling session by their words.
type searchConversation struct {
	fixed
	record ownRecord
}

func newSearchConversation(record ownRecord) tool.Tool {
	return searchConversation{
		fixed{
			parley.ToolDefinition{
				Name: parley.SearchConversationTool,
				Description: "Finds earlier messages of this conversation by their words, also those that a summary " +
					"stands for or that are no longer shown; the best first. read_conversation reads around them.",
				Parameters: json.RawMessage(`{"additionalProperties":false,"properties":{` +
					`"limit":{"description":"How many messages. Default 5.","maximum":10,"minimum":1,` +
					`"type":"integer"},` +
					`"query":{"description":"Words that all occur in the message, \"a phrase\", or -without. A few ` +
					`words find more than many.","type":"string"}},"required":["query"],"type":"object"}`),
			},
			parley.ToolAnnotations{ReadOnly: true, Idempotent: true},
		},
		record,
	}
}

// Call implements tool.Tool.
func (t searchConversation) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (t searchConversation) answer(ctx context.Context, call tool.Call) (json.RawMessage, error) {
	arguments := struct {
		Query string `json:"query"`
		Limit int    `json:"limit"`
	}{Limit: defaultRecalled}
	if err := call.Read(&arguments); err != nil {
		return nil, err
	}
	if arguments.Limit < 1 || arguments.Limit > mostRecalled {
		return nil, parley.InvalidField("limit", "must lie between 1 and %d", mostRecalled)
	}
	terms, err := words.Parse(arguments.Query)
	if err != nil {
		return nil, err
	}
	for i := range terms { // beginnings of words would tell what is hidden, letter by letter
		terms[i].Prefix = false
	}
	ctx, stop := context.WithTimeout(ctx, store.SearchTime)
	defer stop()
	answer := struct {
		Notice   string      `json:"notice"`
		Messages []quotation `json:"messages"`
		More     bool        `json:"more"` // there are others
	}{Notice: recordNotice, Messages: []quotation{}}
	query := store.SearchQuery{
		Terms: terms, SessionID: call.SessionID, AsOf: parley.Now() + 1, Limit: store.DefaultHits,
	}
	for range recallPages {
		page, err := t.record.reader.Search(ctx, store.Scope{WorkspaceID: call.WorkspaceID}, query)
		if err != nil {
			return nil, err
		}
		for i := range page.Hits {
			hit := &page.Hits[i]
			query.AfterID, query.AfterScore = hit.ID, hit.Score
			if hit.Message == nil || isRecall(hit.Message.ToolName) {
				continue
			}
			m, err := t.record.message(ctx, call, hit.Message.Sequence)
			if parley.ErrorCode(err) == parley.CodeNotFound { // it failed, or is set aside
				continue
			} else if err != nil {
				return nil, err
			}
			if len(answer.Messages) == arguments.Limit {
				answer.More = true
				return json.Marshal(answer)
			}
			hides, err := call.Hides(ctx, hit.Message.Text)
			if err != nil {
				return nil, err
			}
			quote := quotationOf(&m)
			quote.Text, _ = words.Snippet(hidden(hides).without(hit.Message.Text), terms)
			answer.Messages = append(answer.Messages, quote)
		}
		if !page.More || len(page.Hits) == 0 {
			break
		}
	}
	return json.Marshal(answer)
}
