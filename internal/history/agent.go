package history

import (
	"context"
	"strings"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
)

// ownPrefix may stand before an agent's slug, for clients that want provider/model.
const ownPrefix = "parley/"

// Asked finds what a request's model names: an agent by slug or id, or a model of the registry, whose agent is zero.
func (b *Book) Asked(
	ctx context.Context,
	principal parley.Principal,
	name string,
) (agent parley.Agent, model parley.ModelID, err error) {
	slug := strings.TrimPrefix(name, ownPrefix)
	if slug != "" && !strings.Contains(slug, "/") {
		agent, err = b.Engine.Agent(ctx, principal, slug)
		if err == nil && agent.Status == parley.AgentActive {
			return agent, "", nil
		}
		if err != nil && parley.ErrorCode(err) != parley.CodeNotFound {
			return agent, "", err
		}
	} else if slug == name && parley.ModelID(name).Validate() == nil {
		return parley.Agent{}, parley.ModelID(name), nil
	}
	return parley.Agent{}, "", &parley.Error{
		Code: parley.CodeNotFound, Field: "model",
		Message: "The model `" + parley.Clip(name, 64) + "` does not exist: name an agent by its slug, or a model as " +
			"provider/model. GET " + b.Prefix + "/models lists both.",
	}
}

// PlainAgent finds the agent of the registry's models, or makes it. It has no prompt and no tools until somebody gives
// it some.
func (b *Book) PlainAgent(
	ctx context.Context, principal parley.Principal, plain engine.AgentInput,
) (parley.Agent, error) {
	agent, err := b.Engine.Agent(ctx, principal, plain.Slug)
	if parley.ErrorCode(err) != parley.CodeNotFound {
		return agent, err
	}
	agent, _, err = b.Engine.CreateAgent(ctx, principal, plain, store.Idempotency{})
	if parley.ErrorCode(err) == parley.CodeConflict { // another request has just made it
		return b.Engine.Agent(ctx, principal, plain.Slug)
	}
	return agent, err
}
