package engine

import (
	"context"

	"example.org/parley"
)

// WarmAgent sends the beginning that all requests of an agent share, its tools and its system prompt, to the provider
// once, so that the first requests of its sessions find it in the provider's cache. If that would gain nothing, nothing
// is sent, and the answer says why.
func (e *Engine) WarmAgent(
	ctx context.Context,
	principal parley.Principal,
	idOrSlug string,
) (_ parley.Warmed, err error) {
	ctx, call, err := e.enter(ctx, principal, "warmAgent", WriteAgents)
	if err != nil {
		return parley.Warmed{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	agent, err := e.agent(ctx, scope, idOrSlug)
	if err != nil {
		return parley.Warmed{}, err
	}
	call.about(on(agent.ID))
	if err := ownsAgent(principal, WriteAgents, &agent); err != nil {
		return parley.Warmed{}, err
	}
	if e.dry == nil {
		return parley.Warmed{}, parley.Errorf(
			parley.CodeUnavailable,
			"This process calls no models; ask one that does.",
		)
	}
	return e.dry.Warm(ctx, agent)
}
