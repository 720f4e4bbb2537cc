package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/model"
)

// Capabilities returns what is known of the model that a session's next turn uses, unless its message names another
// one.
func (e *Engine) Capabilities(
	ctx context.Context,
	principal parley.Principal,
	sessionID parley.ID,
) (_ model.Info, err error) {
	ctx, call, err := e.enter(ctx, principal, "getSession", ReadSessions, of(sessionID))
	if err != nil {
		return model.Info{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	session, err := e.store.Session(ctx, scope, sessionID)
	if err != nil {
		return model.Info{}, err
	}
	modelID := session.Model
	if modelID == "" {
		agent, err := e.store.Agent(ctx, scope.WorkspaceID, session.AgentID.String())
		if err != nil {
			return model.Info{}, err
		}
		modelID = either(agent.Model, e.models.Default())
	}
	_, info, err := e.models.Resolve(modelID)
	return info, err
}
