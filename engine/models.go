package engine

import (
	"context"

	"example.org/parley"
	"example.org/parley/model"
)

// ModelList lists the models of the configured providers.
type ModelList struct {
	Data    []model.Info   `json:"data"`
	Default parley.ModelID `json:"default" doc:"Used when neither message, session nor agent name one."`
	Next    *string        `json:"next" doc:"The cursor of the next page; null at the end."`
}

// ProviderList lists the providers that the server has or could have.
type ProviderList struct {
	Data []model.ProviderInfo `json:"data"`
}

// Providers lists the providers, and whether they are configured; never a key.
func (e *Engine) Providers(ctx context.Context, principal parley.Principal) (ProviderList, error) {
	if err := e.enterUnaudited(ctx, principal, ReadModels); err != nil {
		return ProviderList{}, err
	}
	known := map[string]int{}
	for _, model := range e.models.Models() {
		known[model.Provider]++
	}
	list := ProviderList{Data: make([]model.ProviderInfo, len(e.providers))}
	for i, provider := range e.providers {
		provider.Models = known[provider.Name]
		list.Data[i] = provider
	}
	return list, nil
}

// Models lists what the registry knows, by id. Limit 0 means all.
func (e *Engine) Models(ctx context.Context, principal parley.Principal, paging Paging) (ModelList, error) {
	if err := e.enterUnaudited(ctx, principal, ReadModels); err != nil {
		return ModelList{}, err
	}
	const list = "models"
	page, err := wholePage(list, e.models.Models(), paging,
		func(m model.Info, from cursor) bool { return string(m.ID) > from.Slug },
		func(m model.Info) cursor { return cursor{List: list, Slug: string(m.ID)} })
	return ModelList{Data: page.Data, Default: e.models.Default(), Next: page.Next}, err
}
