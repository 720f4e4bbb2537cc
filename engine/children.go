package engine

import (
	"context"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// SessionTree returns a session and the tool sessions below it that the principal may see, with the usage of each and
// the sums.
func (e *Engine) SessionTree(ctx context.Context, principal parley.Principal, id parley.ID) (_ parley.Tree, err error) {
	ctx, call, err := e.enter(ctx, principal, "getSessionTree", ReadSessions, of(id))
	if err != nil {
		return parley.Tree{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	return e.store.Tree(ctx, scope, id)
}

// checkAgentTool requires a tool that every provider accepts, and the name of an agent.
func checkAgentTool(tool parley.AgentTool) error {
	if tool.Agent == "" {
		return parley.InvalidField("tools.agent", "is empty; name an agent by its slug or id")
	}
	if err := checkTexts(
		textBound{"tools.agent", tool.Agent, parley.MaxNameBytes},
		textBound{"tools.instructions", tool.Instructions, parley.MaxTextBytes},
	); err != nil {
		return err
	}
	return checkDefinition(tool.Definition())
}

// findAgents requires the agents that tools name to exist. Agents may name each other and themselves: own are the names
// of the agent being written.
func (e *Engine) findAgents(ctx context.Context, scope store.Scope, refs []parley.ToolRef, own ...string) error {
	for _, ref := range refs {
		if ref.Agent == nil || slices.Contains(own, ref.Agent.Agent) {
			continue
		}
		_, err := e.store.Agent(ctx, scope.WorkspaceID, ref.Agent.Agent)
		if parley.ErrorCode(err) == parley.CodeNotFound {
			return parley.InvalidField(
				"tools.agent",
				"there is no agent %q in the workspace; create it first",
				parley.Clip(ref.Agent.Agent, 64),
			)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
