package engine

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// The models of the example pipeline: one makes objects of a schema, the other texts.
const (
	exampleObjects parley.ModelID = "sim/object"
	exampleTexts   parley.ModelID = "sim/lorem-120-10"
)

// exampleOutline is the schema of the outline of the example pipeline.
const exampleOutline = `{"type":"object","properties":{"title":{"type":"string"},"chapters":{"type":"array",` +
	`"minItems":3,"maxItems":3,"items":{"type":"object","properties":{"title":{"type":"string"},"about":` +
	`{"type":"string"}},"required":["title","about"]}}},"required":["title","chapters"]}`

// examplePipeline returns the example: a brainstorm, an outline of it, a chapter for each entry of the outline, and a
// summary of the chapters. The simulator plays all of it.
func examplePipeline() PipelineInput {
	text := func(title string) []PipelineTargetInput {
		return []PipelineTargetInput{{Kind: parley.ArtifactMarkdown, Title: title}}
	}
	return PipelineInput{
		Name: "A book about frost", Parallel: 3,
		Nodes: []PipelineNodeInput{
			{
				Name: "brainstorm", Model: exampleTexts, Outputs: text("Ideas"),
				Instructions: "Collect ideas for a short book about frost.",
			},
			{
				Name: "outline", Model: exampleObjects, Instructions: "Outline the book in three chapters.",
				Inputs: []PipelineEdgeInput{{Node: "brainstorm"}},
				Outputs: []PipelineTargetInput{
					{Kind: parley.ArtifactJSON, Title: "Outline", Schema: json.RawMessage(exampleOutline)},
				},
			},
			{
				Name: "chapters", Model: exampleTexts, Instructions: "Write this chapter of the book.",
				Inputs:  []PipelineEdgeInput{{Node: "outline", Pointer: "/chapters", Each: true}, {Node: "brainstorm"}},
				Outputs: text("Chapter"),
			},
			{
				Name: "summary", Model: exampleTexts, Instructions: "Summarise the chapters in one paragraph.",
				Inputs: []PipelineEdgeInput{{Node: "chapters"}}, Outputs: text("Summary"),
			},
		},
	}
}

// StartExamplePipeline starts the example pipeline, which needs no provider. The bool reports an idempotent repeat.
func (e *Engine) StartExamplePipeline(
	ctx context.Context,
	principal parley.Principal,
	idempotency store.Idempotency,
) (_ parley.PipelineRun, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "startExamplePipeline", RunPipelines)
	if err != nil {
		return parley.PipelineRun{}, false, err
	}
	defer call.end(ctx, &err)
	return e.StartPipelineRun(ctx, principal, examplePipeline(), idempotency)
}
