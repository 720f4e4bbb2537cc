package transform

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/store"
)

// Elements counts the elements of an array in a json artifact that a scope sees. CodeInvalid if it is not an array;
// CodeNotFound.
func Elements(
	ctx context.Context,
	from artifact.Reader,
	places *artifact.Places,
	scope store.Scope,
	array parley.ArtifactRef,
) (int, error) {
	in := parley.TransformInput{ArtifactID: array.ArtifactID, Version: array.Version, Pointer: array.Pointer}
	part, kind, err := input(ctx, from, places, scope, &in)
	if err != nil {
		return 0, err
	}
	var elements []json.RawMessage
	if kind != parley.ArtifactJSON || json.Unmarshal(part, &elements) != nil || elements == nil {
		return 0, parley.InvalidField("inputs.pointer", "%q of %q is not an array", array.Pointer, in.Name)
	}
	return len(elements), nil
}
