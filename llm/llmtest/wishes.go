package llmtest

import (
	"encoding/json"

	"example.org/parley"
	"example.org/parley/model"
)

// Wishes returns a request with tools and the options besides sampling, modified by change.
func Wishes(modelID parley.ModelID, change func(*parley.Parameters)) model.Request {
	request := model.Request{
		Model: modelID,
		Tools: []parley.ToolDefinition{
			{Name: "add", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "look", Parameters: json.RawMessage(`{"type":"object"}`)},
		},
		Messages: []model.Message{Say("Hello")},
		Parameters: parley.Parameters{
			ToolChoice: Of("look"), ParallelToolCalls: Of(false), Stop: Of([]string{"END", "\"\n"}),
			EndUser: Of("u-7f3a"), ServiceTier: Of("default"),
			ResponseFormat: &parley.ResponseFormat{
				Type: parley.FormatJSONSchema, Name: "sum", Strict: true,
				Schema: Of(json.RawMessage(`{"type": "object", "properties": {"n": {"type": "integer"}}}`)),
			},
		},
	}
	if change != nil {
		change(&request.Parameters)
	}
	return request
}
