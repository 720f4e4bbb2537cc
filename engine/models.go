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

// Models lists the models that the registry knows.
func (e *Engine) Models(ctx context.Context, principal parley.Principal) (ModelList, error) {
	if err := e.enterUnaudited(ctx, principal, ReadModels); err != nil {
		return ModelList{}, err
	}
	return ModelList{Data: orEmpty(e.models.Models()), Default: e.models.Default()}, nil
}
