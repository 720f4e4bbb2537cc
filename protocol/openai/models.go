package openai

import (
	"context"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/protocol"
)

// plainSlug is the agent of the models of the registry: it has no prompt and no tools until somebody gives it some.
const plainSlug = "chat-completions"

// listedModel is a model that a client may name, in the protocol's shape.
type listedModel struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds
	OwnedBy string `json:"owned_by"`
}

// models lists the agents by slug, then the models of the registry.
func (a *api) models(x *protocol.Exchange) error {
	ctx := x.R.Context()
	list := []listedModel{}
	paging := engine.Paging{Limit: parley.MaxPage}
	for more := true; more; {
		page, err := a.engine.Agents(ctx, x.Principal, engine.AgentList{Paging: paging})
		if err != nil {
			return err
		}
		for i := range page.Data {
			list = append(list, agentModel(&page.Data[i]))
		}
		if more = page.Next != nil && len(list) < maxModels; more {
			paging.Cursor = *page.Next
		}
	}
	paging.Cursor = ""
	page, err := a.engine.Models(ctx, x.Principal, paging)
	if err != nil {
		return err
	}
	for i := range page.Data {
		list = append(list, registryModel(page.Data[i].ID))
	}
	return send(x, struct {
		Object string        `json:"object"`
		Data   []listedModel `json:"data"`
	}{"list", list})
}

// maxModels bounds the agents in a list.
const maxModels = 10 * parley.MaxPage

// model reads one.
func (a *api) model(x *protocol.Exchange) error {
	name := x.R.PathValue("model")
	agent, model, err := a.book.Asked(x.R.Context(), x.Principal, name)
	switch {
	case err != nil:
		return err
	case model != "":
		return send(x, registryModel(model))
	}
	return send(x, agentModel(&agent))
}

func agentModel(agent *parley.Agent) listedModel {
	return listedModel{agent.Slug, "model", agent.CreatedAt.Std().Unix(), "parley"}
}

func registryModel(id parley.ModelID) listedModel {
	return listedModel{string(id), "model", 0, id.Provider()}
}

// plainAgent finds the agent of the registry's models, or makes it.
func (a *api) plainAgent(ctx context.Context, principal parley.Principal) (parley.Agent, error) {
	return a.book.PlainAgent(ctx, principal, engine.AgentInput{
		Slug: plainSlug, Name: "Chat Completions",
		Description: "Answers clients of OpenAI's API that name a model instead of an agent.",
	})
}

// send answers 200 with JSON.
func send[T any](x *protocol.Exchange, value T) error {
	body, err := parley.EncodeJSON(value)
	if err != nil {
		return err
	}
	x.W.Header().Set("Content-Type", "application/json")
	_, _ = x.W.Write(body) // the client may be gone; the work is done
	return nil
}
