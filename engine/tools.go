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

// Tools lists what agents may name, by name, and what a server offers that cannot be
// used, with the reason. What a source adds or loses shows at once.
func (e *Engine) Tools(ctx context.Context, principal parley.Principal, paging Paging) (Page[ToolInfo], error) {
	if err := e.enterUnaudited(ctx, principal, ReadTools); err != nil {
		return Page[ToolInfo]{}, err
	}
	const list = "tools"
	return wholePage(list, e.toolInfos(), paging,
		func(t ToolInfo, from cursor) bool { return t.Name > from.Slug },
		func(t ToolInfo) cursor { return cursor{List: list, Slug: t.Name} })
}

// toolInfos are the server's tools by name, unusable ones included.
func (e *Engine) toolInfos() []ToolInfo {
	if e.tools == nil {
		return nil
	}
	var infos []ToolInfo
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
	return infos
}
