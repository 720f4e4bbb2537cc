package engine

import (
	"parley"
)

// ModelList is the models of the configured providers.
type ModelList struct {
	Data    []parley.ModelInfo `json:"data"`
	Default parley.ModelID     `json:"default" doc:"Used when neither message, session nor agent name one."`
}

// Models lists what the registry knows.
func (e *Engine) Models(principal parley.Principal) (ModelList, error) {
	if _, err := authorise(principal, ReadModels); err != nil {
		return ModelList{}, err
	}
	return ModelList{Data: orEmpty(e.models.Models()), Default: e.models.Default()}, nil
}
