package engine

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"example.org/parley"
)

// ToolInfo is a tool of the server that agents may name.
type ToolInfo struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Parameters  json.RawMessage        `json:"parameters" doc:"JSON Schema of the arguments."`
	Annotations parley.ToolAnnotations `json:"annotations"`
	Source      string                 `json:"source" doc:"Who runs it: builtin, http, or mcp/NAME."`
	Unusable    *string                `json:"unusable" doc:"Why agents cannot use it, such as an unusable schema; null if they can."`
}

// Tools lists what agents may name, by name, and the unusable tools of servers, with the reason. Changes of a source
// show immediately.
func (e *Engine) Tools(ctx context.Context, principal parley.Principal) ([]ToolInfo, error) {
	if err := e.enterUnaudited(ctx, principal, ReadTools); err != nil {
		return nil, err
	}
	infos := []ToolInfo{}
	if e.tools == nil {
		return infos, nil
	}
	for _, tool := range e.tools.Tools() {
		definition := tool.Definition()
		infos = append(infos, ToolInfo{
			Name: definition.Name, Description: definition.Description, Parameters: definition.Parameters,
			Annotations: tool.Annotations(), Source: tool.Source(),
		})
	}
	for _, fault := range e.tools.Faults() {
		infos = append(
			infos,
			ToolInfo{
				Name:       fault.Name,
				Parameters: json.RawMessage(`{}`),
				Source:     fault.Source,
				Unusable:   &fault.Reason,
			},
		)
	}
	slices.SortStableFunc(infos, func(a, b ToolInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}
