package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/internal/transform"
	"example.org/parley/store"
)

// How runs of pipelines go on. What is due in a run stands in its row: each process looks when it hears of a change,
// and at intervals, and any number of processes may look. The end of a transform comes through the outbox.
const (
	pipelineLook  = time.Second // between looks without a hint
	pipelineBatch = 32          // runs read at once
)

// pipelines begins what is due in runs of pipelines.
type pipelines struct {
	store       Store
	documents   *artifact.Places
	maxSessions int64
	log         *slog.Logger
	now         chan struct{} // capacity 1: something may be due
}

// pipelineLoop begins what is due in runs of pipelines, until Stop ends it.
func (w *Worker) pipelineLoop() {
	look := time.NewTimer(w.options.jitter(pipelineLook))
	defer look.Stop()
	for {
		select {
		case <-w.stopping:
			return
		case <-w.pipelines.now:
		case <-look.C:
		}
		if err := w.pipelines.begin(context.Background()); err != nil {
			w.log.Warn("what is due in pipelines could not begin", "error", err)
		}
		look.Reset(pipelineLook + w.options.jitter(pipelineLook/10)) // so that processes do not coincide
	}
}

// begin begins what is due in a batch of runs. A run that another process was faster with, or that changed meanwhile,
// is left to the next look; one in which nothing can begin goes behind the others.
func (p *pipelines) begin(ctx context.Context) error {
	due, err := p.store.DuePipelineRuns(ctx, pipelineBatch)
	if err != nil {
		return err
	}
	var errs []error
	more := len(due) == pipelineBatch
	for i := range due {
		for _, start := range due[i].Due() {
			err := p.beginOne(ctx, &due[i], start)
			if err == nil {
				continue
			}
			errs = append(errs, err)
			if err := p.store.PostponePipelineRun(ctx, &due[i]); err != nil {
				more = false // it would be read again at once
			}
			break // the next run may go on
		}
	}
	if more {
		poke(p.now)
	}
	return errors.Join(errs...)
}

// beginOne begins a transform, or counts for how many elements a node runs. What is refused fails the node: it would be
// refused again.
func (p *pipelines) beginOne(ctx context.Context, run *parley.PipelineRun, start parley.PipelineStart) error {
	err := p.tryOne(ctx, run, start)
	switch code := parley.ErrorCode(err); {
	case err == nil:
		return nil
	case code == parley.CodeInternal, code == parley.CodeUnavailable, code == parley.CodeStorageFull:
		return err
	}
	p.log.Warn("a node of a pipeline's run was refused", "run", run.ID.String(),
		"node", run.Nodes[start.Node].Node.Name, "error", err)
	_, err = p.store.RefusePipelineNode(ctx, run.WorkspaceID, run.ID, start, parley.Clip(err.Error(), maxRefusal))
	return err
}

// maxRefusal bounds the reason why a node failed, in bytes.
const maxRefusal = 1024

func (p *pipelines) tryOne(ctx context.Context, run *parley.PipelineRun, start parley.PipelineStart) error {
	scope := store.Scope{WorkspaceID: run.WorkspaceID, ViewerID: run.OwnerID}
	if start.Instance < 0 {
		count, err := transform.Elements(ctx, p.store, p.documents, scope, run.Array(start.Node))
		if err == nil {
			_, err = p.store.OpenPipelineNode(ctx, run.WorkspaceID, run.ID, start.Node, count)
		}
		return err
	}
	made := transformOf(run, start)
	text, output, err := transform.Prepare(ctx, p.store, p.documents, scope, made)
	if err != nil {
		return err
	}
	content, err := parley.EncodeContent(parley.UserContent{Text: text})
	if err != nil {
		return err
	}
	_, err = p.store.BeginPipelineNode(ctx, store.PipelineBegin{
		WorkspaceID: run.WorkspaceID, RunID: run.ID, Start: start,
		Session: store.NewSession{
			Session: parley.Session{
				ID: made.ID, WorkspaceID: run.WorkspaceID, AgentID: made.AgentID, ProjectID: run.ProjectID,
				Kind: parley.KindTool, Mode: parley.ModeBackground, Type: parley.PipelineNodeType,
				Title: parley.TitleFrom(made.Name),
				Settings: parley.Settings{
					Model: made.Model, Parameters: made.Parameters, Tools: &[]parley.ToolRef{}, Output: output,
				},
			},
			First: &store.NewMessage{
				ID: parley.NewID(), TurnID: parley.NewID(), Role: parley.RoleUser, Author: run.Author, Content: content,
			},
			Transform: made,
			Quota:     parley.Quota{Workspace: p.maxSessions},
		},
	})
	return err
}

// transformOf returns the transform that an instance of a node runs.
func transformOf(run *parley.PipelineRun, start parley.PipelineStart) *parley.Transform {
	node := &run.Nodes[start.Node]
	n := &node.Node
	agentID := n.AgentID
	if agentID.IsZero() {
		agentID = run.AgentID
	}
	made := &parley.Transform{
		ID:          parley.PipelineTransformID(run.ID, n.Name, start.Instance, start.Attempt),
		WorkspaceID: run.WorkspaceID,
		ProjectID:   run.ProjectID,
		TransformSpec: parley.TransformSpec{
			Name: n.Name, AgentID: agentID, Instructions: n.Instructions, Model: n.Model, Parameters: n.Parameters,
			Cite: n.Cite,
		},
		Inputs:      []parley.TransformInput{},
		OwnerID:     run.OwnerID,
		CreatedByID: run.Author.ID,
		RetryOfID:   node.Instances[start.Instance].RetryOf,
		RunID:       run.ID,
		Node:        n.Name,
	}
	for _, ref := range run.Inputs(start.Node, start.Instance) {
		made.Inputs = append(made.Inputs, parley.TransformInput{
			ArtifactID: ref.ArtifactID, Version: ref.Version, Pointer: ref.Pointer,
		})
	}
	for i, target := range n.Outputs {
		target.Title = node.OutputTitle(i, start.Instance)
		made.Outputs = append(made.Outputs, parley.TransformOutput{
			TransformTarget: target.TransformTarget, ArtifactID: target.ArtifactID, BaseVersion: target.BaseVersion,
		})
	}
	return made
}
