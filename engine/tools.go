package engine

import (
	"context"
	"encoding/json"
	"sort"

	"example.org/parley"
)

// ToolInfo is a tool of the server that agents may name.
type ToolInfo struct {
	Name        string                 `json:"name"`
	Description string                 `json:"description"`
	Parameters  json.RawMessage        `json:"parameters" doc:"JSON Schema of the arguments."`
	Annotations parley.ToolAnnotations `json:"annotations"`
	Source      string                 `json:"source" doc:"Who runs it: builtin, http, or mcp/NAME. Of what agents name and this server lacks: none, or runtime."`
	Unusable    *string                `json:"unusable" doc:"Why agents cannot use it, such as an unusable schema or a server that is away; null if they can."`
	Do          *string                `json:"do" doc:"What to do about it; null if agents can use it."`
	Agents      []string               `json:"agents" doc:"Slugs of active agents that name it, at most 20; empty if it is usable."`
}

// Tools lists what agents may name, by name; what a server offers that cannot be used, and servers that are away, with
// the reason; and what agents name and this server lacks. What a source adds or loses shows at once.
func (e *Engine) Tools(ctx context.Context, principal parley.Principal, paging Paging) (Page[ToolInfo], error) {
	if err := e.enterUnaudited(ctx, principal, ReadTools); err != nil {
		return Page[ToolInfo]{}, err
	}
	unusable, err := e.surveyAgents(ctx, principal.WorkspaceID)
	if err != nil {
		return Page[ToolInfo]{}, err
	}
	infos := append(e.usableTools(principal.WorkspaceID), unusable...)
	sort.SliceStable(infos, func(i, j int) bool { return infos[i].Name < infos[j].Name })
	const list = "tools"
	return wholePage(list, infos, paging,
		func(t ToolInfo, from cursor) bool { return t.Name > from.Slug },
		func(t ToolInfo) cursor { return cursor{List: list, Slug: t.Name} })
}

// usableTools are the server's tools, by name.
func (e *Engine) usableTools(workspaceID parley.ID) (infos []ToolInfo) {
	if e.tools == nil {
		return nil
	}
	for _, tool := range e.tools.For(workspaceID).Tools() {
		definition := tool.Definition()
		infos = append(infos, ToolInfo{
			Name: definition.Name, Description: definition.Description, Parameters: definition.Parameters,
			Annotations: tool.Annotations(), Source: tool.Source(), Agents: []string{},
		})
	}
	return infos
}
