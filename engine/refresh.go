package engine

import (
	"context"
	"slices"
	"strconv"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// Refresh is what would run to make a document again from the newest versions of what it was made from.
type Refresh struct {
	ArtifactID parley.ID     `json:"artifact_id"`
	Nodes      []RefreshNode `json:"nodes" doc:"The transforms that would run again, in order; empty if nothing is stale."`
	Truncated  bool          `json:"truncated" doc:"Whether more is stale than one run may hold: refresh again after it."`
	Tokens     int           `json:"input_tokens" doc:"What all requests together would hold, estimated."`
	Input      *parley.Money `json:"input" doc:"What that would cost if nothing were cached; null if a price is unknown."`
	Output     *parley.Money `json:"output_most" doc:"What the longest possible answers would cost; null if a price is unknown."`
}

// RefreshNode is a transform that would run again.
type RefreshNode struct {
	Name        string               `json:"name" doc:"Of the node in the run."`
	TransformID parley.ID            `json:"transform_id" doc:"The transform that runs again."`
	Writes      []parley.ArtifactRef `json:"writes" doc:"The documents, and the versions that it replaces."`
	After       []string             `json:"after" doc:"The nodes whose new documents it reads."`
	Model       parley.ModelID       `json:"model"`
	Tokens      int                  `json:"input_tokens" doc:"Of its request, estimated; a document that another node writes again counts as it is now."`
	Cost        PredictedCost        `json:"cost"`
}

// RefreshInput starts a refresh.
type RefreshInput struct {
	Visibility parley.Visibility `json:"visibility,omitempty" enum:"private,workspace" doc:"Who sees the run and its tool sessions; private by default. The documents stay as they are."`
}

// PreviewRefresh returns what a refresh of a document would run, and what it would cost at most.
func (e *Engine) PreviewRefresh(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ Refresh, err error) {
	ctx, call, err := e.enter(ctx, principal, "previewRefresh", ReadArtifacts, on(id))
	if err != nil {
		return Refresh{}, err
	}
	defer call.end(ctx, &err)
	leave, err := e.looks.enter(principal)
	if err != nil {
		return Refresh{}, err
	}
	defer leave()
	ctx, done := e.reads(ctx, call.Scope)
	defer done()
	plan, err := e.planRefresh(ctx, call, id)
	if err != nil {
		return Refresh{}, err
	}
	found := Refresh{
		ArtifactID: id, Nodes: []RefreshNode{}, Truncated: plan.truncated, Input: new(parley.Money),
		Output: new(parley.Money),
	}
	for i := range plan.steps {
		node, err := e.foreseeStep(ctx, call, principal, plan, &plan.steps[i])
		if err != nil {
			return Refresh{}, err
		}
		found.Nodes = append(found.Nodes, node)
		found.Tokens += node.Tokens
		found.Input, found.Output = sum(found.Input, node.Cost.Input), sum(found.Output, node.Cost.Output)
	}
	return found, nil
}

// sum adds two amounts; nil, which is unknown, stays so.
func sum(a, b *parley.Money) *parley.Money {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// foreseeStep predicts the request of a step, by the path that its turn takes.
func (e *Engine) foreseeStep(
	ctx context.Context,
	call verbCall,
	principal parley.Principal,
	plan *refreshPlan,
	step *refreshStep,
) (RefreshNode, error) {
	node := RefreshNode{
		Name: step.node.Name, TransformID: step.again, Writes: []parley.ArtifactRef{}, After: []string{},
	}
	wanted := &parley.Transform{TransformSpec: parley.TransformSpec{
		Name: step.node.Name, AgentID: step.node.AgentID, Instructions: step.node.Instructions, Model: step.node.Model,
		Parameters: step.node.Parameters, Cite: step.node.Cite,
	}}
	for i := range step.node.Inputs {
		in := &step.node.Inputs[i]
		wanted.Inputs = append(wanted.Inputs, plan.inputNow(in))
		if in.Node != "" && !slices.Contains(node.After, in.Node) {
			node.After = append(node.After, in.Node)
		}
	}
	for i := range step.node.Outputs {
		out := &step.node.Outputs[i]
		wanted.Outputs = append(wanted.Outputs, parley.TransformOutput{
			TransformTarget: out.TransformTarget, ArtifactID: out.ArtifactID, BaseVersion: out.BaseVersion,
		})
		node.Writes = append(node.Writes, parley.ArtifactRef{ArtifactID: out.ArtifactID, Version: out.BaseVersion})
	}
	input, err := e.transformSession(ctx, call, principal, wanted, parley.VisibilityPrivate)
	if err != nil {
		return node, err
	}
	session, err := e.newSession(ctx, call.Scope, principal, input)
	if err != nil {
		return node, err
	}
	session.RootID, session.CreatedAt, session.UpdatedAt = session.ID, parley.Now(), parley.Now()
	of := runner.DryTurn{Session: session, Fresh: true}
	if err := e.dryTurn(ctx, call.Scope, principal, &of, *input.Message); err != nil {
		return node, err
	}
	q, err := e.dry.Preview(ctx, of)
	if err == nil {
		err = countRead(ctx, len(q.Encoded))
	}
	if err != nil {
		return node, err
	}
	parts := prompt.Parts(&q.Request, q.Encoded, q.Call.Manifest, q.Shown)
	prompt.Fit(parts, q.Tokens)
	node.Model, node.Tokens = q.Call.Model, prompt.Tokens(parts)
	node.Cost = predictCost(&q, node.Tokens, 0)
	return node, nil
}

// RefreshArtifact runs what is stale of a document's causes again, in order, as a run of a pipeline that writes the
// same documents. The bool reports an idempotent repeat. CodeConflict if nothing is stale.
func (e *Engine) RefreshArtifact(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
	input RefreshInput,
	idempotency store.Idempotency,
) (_ parley.PipelineRun, _ bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "refreshArtifact", RunPipelines, on(id))
	if err != nil {
		return parley.PipelineRun{}, false, err
	}
	defer call.end(ctx, &err)
	if err := checkIdempotency(idempotency); err != nil {
		return parley.PipelineRun{}, false, err
	}
	plan, err := e.planRefresh(ctx, call, id)
	if err != nil {
		return parley.PipelineRun{}, false, err
	}
	given := plan.pipeline()
	if len(given.Nodes) > 0 { // the store refuses a run without nodes, unless the request is a repeat
		if err := given.Validate(); err != nil {
			return parley.PipelineRun{}, false, err
		}
	}
	session, err := e.newSession(ctx, call.Scope, principal, SessionInput{
		ProjectID: plan.artifact.ProjectID, Visibility: input.Visibility, Title: given.Name, Kind: parley.KindTool,
		Mode: parley.ModeBackground, Type: parley.PipelineRunType,
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

// The bounds of looking for what is stale.
const (
	maxRefreshDepth     = 64   // transforms one behind the other
	maxRefreshDocuments = 1000 // looked at
)

// refreshPlan finds the transforms that have to run again for a document to be made from the newest versions.
type refreshPlan struct {
	e     *Engine
	scope store.Scope // what the principal sees by itself, because runs look again with that

	artifact  parley.Artifact
	steps     []refreshStep // each stands behind those that it reads from
	documents []parley.PipelineDocument
	truncated bool

	found   map[parley.ID]*parley.Artifact
	written map[parley.ID]refreshOutput // documents that a step writes again
	visited map[parley.ID]bool          // documents, also while what they were made from is looked at
	again   map[parley.ID]bool          // transforms that were looked at
}

// refreshStep is a transform that runs again, as a node.
type refreshStep struct {
	node  parley.PipelineNode
	again parley.ID
}

// refreshOutput is a document that a step writes.
type refreshOutput struct {
	node   string
	output int
}

func (e *Engine) planRefresh(ctx context.Context, call verbCall, id parley.ID) (*refreshPlan, error) {
	plan := &refreshPlan{
		e: e, scope: store.Scope{WorkspaceID: call.Scope.WorkspaceID, ViewerID: call.Principal.ID},
		found: map[parley.ID]*parley.Artifact{}, written: map[parley.ID]refreshOutput{},
		visited: map[parley.ID]bool{}, again: map[parley.ID]bool{},
	}
	a, err := plan.document(ctx, id)
	if err != nil {
		return nil, err
	}
	call.about(in(a.SessionID, a.ID))
	plan.artifact = *a
	return plan, plan.visit(ctx, a, 0)
}

// document reads a document once. CodeNotFound if the principal does not see it by itself.
func (p *refreshPlan) document(ctx context.Context, id parley.ID) (*parley.Artifact, error) {
	if a := p.found[id]; a != nil {
		return a, nil
	}
	a, err := p.e.store.Artifact(ctx, p.scope, id)
	if err != nil {
		return nil, err
	}
	p.found[id] = &a
	return &a, nil
}

// visit adds the transform that wrote a document's current version, behind everything that has to run before it, unless
// the document is made from the newest versions. What cannot run again is left as it is: a version by hand, one of a
// transform that the principal does not see or whose documents are gone, and everything in a circle.
func (p *refreshPlan) visit(ctx context.Context, a *parley.Artifact, depth int) error {
	if p.visited[a.ID] {
		return nil
	}
	p.visited[a.ID] = true
	if depth > maxRefreshDepth || len(p.visited) > maxRefreshDocuments {
		p.truncated = true
		return nil
	}
	version, err := p.e.store.ArtifactVersion(ctx, p.scope, a.ID, a.Version)
	if err != nil || version.TransformID.IsZero() || p.again[version.TransformID] {
		return ignoreGone(err)
	}
	made, err := p.e.store.Transform(ctx, p.scope, version.TransformID)
	if err != nil || made.Kind == parley.TransformEdit {
		return ignoreGone(err)
	}
	p.again[made.ID] = true
	stale := false
	for i := range made.Inputs {
		in, err := p.document(ctx, made.Inputs[i].ArtifactID)
		if err != nil { // what it was made from cannot be read any more
			return ignoreGone(err)
		}
		if err := p.visit(ctx, in, depth+1); err != nil {
			return err
		}
		_, rewritten := p.written[in.ID]
		stale = stale || rewritten || in.Version > max(made.Inputs[i].Version, wrote(&made, in.ID))
	}
	if !stale {
		return nil
	}
	return p.add(ctx, &made)
}

// wrote returns the version that a transform has written of a document; 0 for none.
func wrote(made *parley.Transform, id parley.ID) int {
	for i := range made.Outputs {
		if made.Outputs[i].ArtifactID == id {
			return made.Outputs[i].Version
		}
	}
	return 0
}

// add makes a transform a step.
func (p *refreshPlan) add(ctx context.Context, made *parley.Transform) error {
	step := refreshStep{again: made.ID, node: parley.PipelineNode{
		Name: p.name(made.Name), AgentID: made.AgentID, Instructions: made.Instructions, Model: made.Model,
		Parameters: made.Parameters, Cite: made.Cite,
	}}
	for i := range made.Outputs {
		out := &made.Outputs[i]
		if out.Purged || out.Version == 0 {
			return nil // it would write less than it did
		}
		a, err := p.document(ctx, out.ArtifactID)
		if err != nil || a.ArchivedAt != 0 {
			return ignoreGone(err)
		}
		// The version that it replaces is its own: where the document has moved on, what somebody wrote stays current.
		step.node.Outputs = append(step.node.Outputs, parley.PipelineTarget{
			TransformTarget: parley.TransformTarget{Name: out.Name, Kind: a.Kind, Title: a.Name, Schema: a.Schema},
			ArtifactID:      a.ID, BaseVersion: out.Version,
		})
	}
	documents := p.documents
	for i := range made.Inputs {
		step.node.Inputs = append(step.node.Inputs, p.edge(&made.Inputs[i]))
	}
	if len(p.steps) == parley.MaxPipelineNodes || len(p.documents) > parley.MaxPipelineDocuments {
		p.truncated, p.documents = true, documents
		return nil
	}
	p.steps = append(p.steps, step)
	for i := range step.node.Outputs {
		p.written[step.node.Outputs[i].ArtifactID] = refreshOutput{step.node.Name, i}
	}
	return nil
}

// name returns a name for a node that no other has.
func (p *refreshPlan) name(of string) string {
	base := either(parley.Clip(parley.Slugify(of), 56), "node")
	name := base
	for n := 2; slices.ContainsFunc(p.steps, func(s refreshStep) bool { return s.node.Name == name }); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

// edge is an input in its newest version: what another step writes, or a document.
func (p *refreshPlan) edge(in *parley.TransformInput) parley.PipelineEdge {
	if by, rewritten := p.written[in.ArtifactID]; rewritten {
		return parley.PipelineEdge{Node: by.node, Output: by.output, Pointer: in.Pointer}
	}
	version := max(in.Version, p.found[in.ArtifactID].Version)
	for _, given := range p.documents {
		if given.ArtifactID == in.ArtifactID && given.Version == version {
			return parley.PipelineEdge{Document: given.Name, Pointer: in.Pointer}
		}
	}
	name := "document-" + strconv.Itoa(len(p.documents)+1)
	p.documents = append(p.documents, parley.PipelineDocument{Name: name, ArtifactID: in.ArtifactID, Version: version})
	return parley.PipelineEdge{Document: name, Pointer: in.Pointer}
}

// inputNow returns what stands for an input before the run: of a document that is written again, the current version.
func (p *refreshPlan) inputNow(edge *parley.PipelineEdge) parley.TransformInput {
	if edge.Node == "" {
		for _, given := range p.documents {
			if given.Name == edge.Document {
				return parley.TransformInput{
					ArtifactID: given.ArtifactID, Version: given.Version, Pointer: edge.Pointer,
				}
			}
		}
	}
	for i := range p.steps {
		if node := &p.steps[i].node; node.Name == edge.Node {
			return parley.TransformInput{ArtifactID: node.Outputs[edge.Output].ArtifactID, Pointer: edge.Pointer}
		}
	}
	return parley.TransformInput{}
}

// pipeline returns the steps as a pipeline.
func (p *refreshPlan) pipeline() *parley.Pipeline {
	given := &parley.Pipeline{
		Name:      parley.Clip("Refresh of "+p.artifact.Name, parley.MaxNameBytes),
		Documents: p.documents, Parallel: parley.DefaultPipelineParallel,
	}
	for i := range p.steps {
		given.Nodes = append(given.Nodes, p.steps[i].node)
	}
	return given
}
