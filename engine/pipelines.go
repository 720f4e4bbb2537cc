package engine

import (
	"bytes"
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/internal/schema"
	"example.org/parley/setting"
	"example.org/parley/store"
)

// PipelineInput is a run of a pipeline to start.
type PipelineInput struct {
	Name       string                  `json:"name" required:"true"`
	AgentID    string                  `json:"agent_id,omitempty" doc:"Id or slug of the agent whose system prompt and settings count for the nodes that name no other; the built-in one by default."`
	ProjectID  parley.ID               `json:"project_id,omitzero" doc:"The project that the documents belong to."`
	Visibility parley.Visibility       `json:"visibility,omitempty" enum:"private,workspace" doc:"Who sees the run and what it creates."`
	Documents  []PipelineDocumentInput `json:"documents,omitempty" doc:"The documents that the nodes read, by name."`
	Nodes      []PipelineNodeInput     `json:"nodes" required:"true" doc:"Each begins as soon as its inputs exist."`
	Parallel   int                     `json:"parallel,omitempty" minimum:"1" maximum:"16" doc:"How many transforms may be unfinished at once; 4 by default."`
}

// PipelineDocumentInput gives a document to a run.
type PipelineDocumentInput struct {
	Name       string    `json:"name" required:"true" doc:"What the nodes call it: a-z, 0-9, - and _."`
	ArtifactID parley.ID `json:"artifact_id" required:"true"`
	Version    int       `json:"version,omitempty" minimum:"1" doc:"The current one by default."`
}

// PipelineNodeInput is a transform of a pipeline.
type PipelineNodeInput struct {
	Name         string                `json:"name" required:"true" doc:"Unique in the pipeline: a-z, 0-9, - and _."`
	AgentID      string                `json:"agent_id,omitempty" doc:"Id or slug of the agent whose system prompt and settings count; the run's by default."`
	Instructions string                `json:"instructions" required:"true" doc:"What to write."`
	Model        parley.ModelID        `json:"model,omitempty" doc:"The agent's by default."`
	Cite         bool                  `json:"cite,omitempty" doc:"Ask the model for the sources of what it writes."`
	Inputs       []PipelineEdgeInput   `json:"inputs,omitempty"`
	Outputs      []PipelineTargetInput `json:"outputs" required:"true" doc:"The documents that it creates. Those of a node that runs for each element are numbered."`
}

// PipelineEdgeInput is an input of a node: a document of the run, or what another node writes.
type PipelineEdgeInput struct {
	Document string `json:"document,omitempty" doc:"Name of a document that the run is given; or node."`
	Node     string `json:"node,omitempty" doc:"Name of the node whose output it is: all of its documents if it runs for each element of an array."`
	Output   int    `json:"output,omitempty" minimum:"0" doc:"Position of the output of that node, from 0."`
	Pointer  string `json:"pointer,omitempty" doc:"JSON Pointer (RFC 6901) of the part that is read; without it, the whole document."`
	Each     bool   `json:"each,omitempty" doc:"Runs the node once for each element of this array, or for each document of a node that itself runs for each. At most one input of a node may say so."`
}

// PipelineTargetInput is a document that a node creates.
type PipelineTargetInput struct {
	Name   string              `json:"name,omitempty" doc:"What the model calls it; content by default."`
	Kind   parley.ArtifactKind `json:"kind" required:"true" enum:"json,markdown,text,code,csv,html,svg"`
	Title  string              `json:"title" required:"true" doc:"The name of the document."`
	Schema json.RawMessage     `json:"schema,omitempty" doc:"JSON Schema of a json document."`
}

// PipelineList selects runs, the latest first by default.
type PipelineList struct {
	Paging
	ProjectID parley.ID
	Status    parley.PipelineStatus
}

// StartPipelineRun starts a run. The bool reports an idempotent repeat.
func (e *Engine) StartPipelineRun(
	ctx context.Context,
	principal parley.Principal,
	input PipelineInput,
	idempotency store.Idempotency,
) (_ parley.PipelineRun, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "startPipelineRun", RunPipelines)
	if err != nil {
		return parley.PipelineRun{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.PipelineRun{}, false, err
	}
	given, err := e.pipeline(ctx, call, &input)
	if err != nil {
		return parley.PipelineRun{}, false, err
	}
	session, err := e.newSession(ctx, call.Scope, principal, SessionInput{
		AgentID: input.AgentID, ProjectID: input.ProjectID, Visibility: input.Visibility, Title: given.Name,
		Kind: parley.KindTool, Mode: parley.ModeBackground, Type: parley.PipelineRunType,
	})
	if err != nil {
		return parley.PipelineRun{}, false, err
	}
	run, repeat, err := e.store.CreatePipelineRun(ctx, call.Scope, store.NewPipelineRun{
		Session:  store.NewSession{Session: session, Quota: e.sessionsQuota(principal), Idempotency: idempotency},
		Author:   principal.Author(),
		Pipeline: *given,
	})
	if err == nil {
		call.about(of(run.ID))
	}
	return run, repeat, err
}

// pipeline validates what a run is given, and finds its documents and agents.
func (e *Engine) pipeline(ctx context.Context, call verbCall, input *PipelineInput) (*parley.Pipeline, error) {
	given := &parley.Pipeline{Name: input.Name, Parallel: input.Parallel}
	if given.Parallel == 0 {
		given.Parallel = parley.DefaultPipelineParallel
	}
	for _, d := range input.Documents {
		given.Documents = append(given.Documents, parley.PipelineDocument(d))
	}
	for i := range input.Nodes {
		n := &input.Nodes[i]
		given.Nodes = append(given.Nodes, parley.PipelineNode{
			Name: n.Name, Instructions: n.Instructions, Model: n.Model, Cite: n.Cite,
		})
		node := &given.Nodes[i]
		for _, in := range n.Inputs {
			node.Inputs = append(node.Inputs, parley.PipelineEdge(in))
		}
		for _, out := range n.Outputs {
			out.Name = either(out.Name, parley.DefaultTransformOutput)
			if bytes.Equal(bytes.TrimSpace(out.Schema), []byte("null")) {
				out.Schema = nil
			}
			node.Outputs = append(node.Outputs, parley.PipelineTarget{TransformTarget: parley.TransformTarget(out)})
		}
	}
	if err := given.Validate(); err != nil { // its bounds come before anything is looked up
		return nil, err
	}
	for i := range given.Nodes {
		if err := e.pipelineNode(ctx, call, input.Nodes[i].AgentID, &given.Nodes[i]); err != nil {
			return nil, err
		}
	}
	// What the owner sees by itself counts, because that is looked up again when a node begins.
	own := store.Scope{WorkspaceID: call.Scope.WorkspaceID, ViewerID: call.Principal.ID}
	for i := range given.Documents {
		d := &given.Documents[i]
		a, err := e.store.Artifact(ctx, own, d.ArtifactID)
		if err != nil {
			return nil, err
		}
		if d.Version == 0 {
			d.Version = a.Version
		} else if _, err := e.store.ArtifactVersion(ctx, own, a.ID, d.Version); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// pipelineNode checks the settings of a node, and finds its agent.
func (e *Engine) pipelineNode(ctx context.Context, call verbCall, agentID string, n *parley.PipelineNode) error {
	settings := parley.Settings{Model: n.Model}
	if err := e.checkSettings(setting.Session, &settings); err != nil {
		return err
	}
	for i := range n.Outputs {
		if n.Outputs[i].Schema == nil {
			continue
		}
		if _, err := schema.Read(n.Outputs[i].Schema); err != nil {
			return parley.InvalidField("nodes", "node %q: the schema of %q: %s", n.Name, n.Outputs[i].Name, err)
		}
	}
	if agentID == "" {
		return nil
	}
	agent, err := e.agent(ctx, call.Scope, agentID)
	n.AgentID = agent.ID
	return err
}

// PipelineRun returns a run.
func (e *Engine) PipelineRun(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.PipelineRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "getPipelineRun", ReadPipelines, of(id))
	if err != nil {
		return parley.PipelineRun{}, err
	}
	defer call.end(ctx, &err)
	return e.store.PipelineRun(ctx, call.Scope, id)
}

// PipelineRuns lists runs.
func (e *Engine) PipelineRuns(
	ctx context.Context,
	principal parley.Principal,
	list PipelineList,
) (_ Page[parley.PipelineRun], err error) {
	ctx, call, err := e.enter(ctx, principal, "listPipelineRuns", ReadPipelines)
	if err != nil {
		return Page[parley.PipelineRun]{}, err
	}
	defer call.end(ctx, &err)
	from, order, limit, err := list.start("pipeline_runs", Descending)
	if err != nil {
		return Page[parley.PipelineRun]{}, err
	}
	rows, err := e.store.PipelineRuns(ctx, call.Scope, store.PipelineQuery{
		ProjectID: list.ProjectID, Status: list.Status, Ascending: order == Ascending, AfterID: from.ID,
		Limit: limit + 1,
	})
	if err != nil {
		return Page[parley.PipelineRun]{}, err
	}
	return largePageOf(rows, limit, func(last parley.PipelineRun) cursor {
		return cursor{List: "pipeline_runs", Order: order, ID: last.ID}
	}), nil
}

// CancelPipelineRun stops a run: nothing begins any more, and what is unfinished is cancelled.
func (e *Engine) CancelPipelineRun(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.PipelineRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "cancelPipelineRun", RunPipelines, of(id))
	if err != nil {
		return parley.PipelineRun{}, err
	}
	defer call.end(ctx, &err)
	return e.store.CancelPipelineRun(ctx, call.Scope, id)
}

// RetryPipelineRun resumes a run where it failed or was cancelled; what has completed stays.
func (e *Engine) RetryPipelineRun(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.PipelineRun, err error) {
	ctx, call, err := e.enter(ctx, principal, "retryPipelineRun", RunPipelines, of(id))
	if err != nil {
		return parley.PipelineRun{}, err
	}
	defer call.end(ctx, &err)
	return e.store.RetryPipelineRun(ctx, call.Scope, id)
}
