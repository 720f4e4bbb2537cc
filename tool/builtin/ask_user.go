package builtin

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/tool"
)

// askUser lets an agent ask a person. The runtime never calls it: the turn waits until somebody posts the result.
type askUser struct{}

var _ tool.Tool = askUser{}

// Definition implements tool.Tool.
func (askUser) Definition() parley.ToolDefinition {
	return parley.ToolDefinition{
		Name: parley.AskUserTool,
		Description: "Asks the user a question and waits for the answer. Use it when you cannot go on without a " +
			"decision or a fact that only the user has.",
		Parameters: json.RawMessage(
			`{"additionalProperties":false,"properties":{"options":{"description":"Answers to choose from, if there ` +
				`are some. The user may answer otherwise.",` +
				`"items":{"type":"string"},"type":"array"},"question":{"description":"The question, complete in ` +
				`itself.","type":"string"}},"required":["question"],"type":"object"}`,
		),
	}
}

// Annotations implements tool.Tool: asking changes nothing.
func (askUser) Annotations() parley.ToolAnnotations { return parley.ToolAnnotations{ReadOnly: true} }

// Source implements tool.Tool.
func (askUser) Source() string { return sourceName }

// Call implements tool.Tool. It fails, because there is nobody to ask here.
func (t askUser) Call(ctx context.Context, call tool.Call) (tool.Result, error) {
	return tool.JSON(t.answer(ctx, call))
}

func (askUser) answer(context.Context, tool.Call) (json.RawMessage, error) {
	return nil, parley.Errorf(
		parley.CodeUnsupported,
		"ask_user is answered by a person: the runtime must wait for a tool_result message",
	)
}
