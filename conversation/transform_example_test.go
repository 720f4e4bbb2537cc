package conversation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"example.org/parley"
	"example.org/parley/conversation"
	"example.org/parley/engine"
	"example.org/parley/sqlite"
	"example.org/parley/store"
)

// A transform reads a document and writes another one.
func ExampleHome_Transform() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "parley")
	check(err)
	defer func() { check(os.RemoveAll(dir)) }()
	kept, err := sqlite.Open(ctx, dir, sqlite.Options{})
	check(err)
	defer func() { check(kept.Close()) }()
	home, err := conversation.Start(ctx, conversation.Options{Store: kept, Models: models()})
	check(err)
	defer func() { check(home.Close(ctx)) }()

	outline, _, err := home.Engine.CreateArtifact(ctx, home.Owner, engine.ArtifactInput{
		Kind: parley.ArtifactJSON, Name: "Outline", Content: json.RawMessage(`{"chapters":["Rain","Sun"]}`),
	}, store.Idempotency{})
	check(err)
	digest, _, err := home.Engine.CreateTransformDefinition(ctx, home.Owner, engine.DefinitionInput{
		Name: "Digest", Instructions: "Sum up.", Model: "sim/echo",
		Outputs: []engine.DefinedOutputInput{{Kind: parley.ArtifactMarkdown, Title: "Summary"}},
	}, store.Idempotency{})
	check(err)
	begun, turn, err := home.Transform(ctx, engine.RunTransformInput{
		Definition: digest.Slug,
		Inputs:     []engine.TransformReadInput{{ArtifactID: outline.ID, Pointer: "/chapters"}},
	})
	check(err)
	for _, err := range turn.Text(ctx) { // as it is written
		check(err)
	}
	ended, err := home.Engine.Transform(ctx, home.Owner, begun.ID)
	check(err)
	fmt.Println(ended.Outputs[0].Title, "is", ended.Status, "as version", ended.Outputs[0].Version)
	// Output: Summary is completed as version 1
}
