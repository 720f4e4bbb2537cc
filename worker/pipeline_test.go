package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/artifact"
	"example.org/parley/store"
)

// breaks is a store in which some runs of pipelines cannot go on.
type breaks struct {
	Store

	broken map[parley.ID]bool
}

// BeginPipelineNode implements store.Pipelines.
func (b breaks) BeginPipelineNode(ctx context.Context, begin store.PipelineBegin) (bool, error) {
	if b.broken[begin.RunID] {
		return false, errors.New("the row is damaged")
	}
	return b.Store.BeginPipelineNode(ctx, begin)
}

// TestRunsThatCannotGoOnHoldUpNoOthers: a batch of runs that fail to begin whenever they are read goes behind a run
// that came later.
func TestRunsThatCannotGoOnHoldUpNoOthers(t *testing.T) {
	r := newRig(t)
	start := func() parley.ID {
		session := parley.Session{
			ID: parley.NewID(), WorkspaceID: r.scope.WorkspaceID, AgentID: r.agent.ID, OwnerID: r.owner.ID,
			Visibility: parley.VisibilityPrivate, Kind: parley.KindTool, Mode: parley.ModeBackground,
			Type: parley.PipelineRunType,
		}
		run, _, err := r.store.CreatePipelineRun(r.Context(), r.scope, store.NewPipelineRun{
			Session: store.NewSession{Session: session}, Author: r.owner.Author(),
			Pipeline: parley.Pipeline{
				Name: "book", Parallel: 1, Documents: []parley.PipelineDocument{},
				Nodes: []parley.PipelineNode{{
					Name: "text", Instructions: "Write.", Inputs: []parley.PipelineEdge{},
					Outputs: []parley.PipelineTarget{{TransformTarget: parley.TransformTarget{
						Name: "content", Kind: parley.ArtifactText, Title: "Text",
					}}},
				}},
			},
		})
		r.must(err)
		return run.ID
	}
	broken := map[parley.ID]bool{}
	for range pipelineBatch {
		broken[start()] = true
	}
	last := start()
	p := &pipelines{
		store: breaks{r.store, broken}, documents: artifact.NewPlaces(), log: slog.New(slog.DiscardHandler),
		now: make(chan struct{}, 1),
	}
	if err := p.begin(t.Context()); err == nil {
		t.Error("nothing is said of the runs that cannot go on")
	}
	if len(p.now) == 0 {
		t.Error("a full batch is the last one")
	}
	if err := p.begin(t.Context()); err != nil {
		t.Error(err)
	}
	run, err := r.store.PipelineRun(t.Context(), r.scope, last)
	r.must(err)
	if run.Status != parley.PipelineRunning {
		t.Errorf("the run that came later is %s", run.Status)
	}
}
