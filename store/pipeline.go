package store

import (
	"context"
	"time"

	"example.org/parley"
)

// NewPipelineRun is a run to be stored with its session, whose id it has.
type NewPipelineRun struct {
	Session  NewSession
	Author   parley.Author // who starts it
	Pipeline parley.Pipeline
}

// PipelineQuery lists runs, the latest first unless Ascending. Zero fields select any.
type PipelineQuery struct {
	ProjectID parley.ID
	Status    parley.PipelineStatus
	Ascending bool
	AfterID   parley.ID
	Limit     int
}

// PipelineBegin begins an instance of a node. Session is the tool session of its transform, with its first message;
// both have the id that the run gives them (parley.PipelineTransformID).
type PipelineBegin struct {
	WorkspaceID parley.ID
	RunID       parley.ID
	Start       parley.PipelineStart
	Session     NewSession
}

// How long a run in which nothing could begin is put off.
const (
	PipelineRest    = 2 * time.Second
	MaxPipelineRest = 5 * time.Minute
)

// Pipelines stores runs of pipelines. A run is a session, under whose lock it moves, and is seen by whoever sees that
// one. The methods that move it on do nothing and return false if what they do is no longer due: somebody else was
// faster, or the run was cancelled. The end of a transform comes to the run through the outbox.
type Pipelines interface {
	// CreatePipelineRun stores a run with its session; what is due in it can begin. The bool reports a repeat of the
	// idempotency key. CodeNotFound without the agent or the project; CodeArchived; CodeConflict beyond a quota;
	// CodeKeyReused.
	CreatePipelineRun(ctx context.Context, scope Scope, creating NewPipelineRun) (parley.PipelineRun, bool, error)
	PipelineRun(ctx context.Context, scope Scope, id parley.ID) (parley.PipelineRun, error)
	PipelineRuns(ctx context.Context, scope Scope, query PipelineQuery) ([]parley.PipelineRun, error)
	// CancelPipelineRun stops a run: nothing begins any more, and the outbox cancels what is unfinished. CodeConflict
	// if it has ended.
	CancelPipelineRun(ctx context.Context, scope Scope, id parley.ID) (parley.PipelineRun, error)
	// RetryPipelineRun lets what failed or was cancelled begin again; what has completed stays. CodeConflict while the
	// run is unfinished and if it has completed.
	RetryPipelineRun(ctx context.Context, scope Scope, id parley.ID) (parley.PipelineRun, error)

	// DuePipelineRuns reads up to limit runs in which something may begin, in all workspaces, the longest due first,
	// without those that PostponePipelineRun has put off. It locks nothing.
	DuePipelineRuns(ctx context.Context, limit int) ([]parley.PipelineRun, error)
	// PostponePipelineRun puts a run behind the others, because nothing could begin in it: it is due again after as
	// long as it has been due, at least PipelineRest and at most MaxPipelineRest. One that has moved meanwhile stays.
	PostponePipelineRun(ctx context.Context, run *parley.PipelineRun) error
	// OpenPipelineNode notes for how many elements a node runs.
	OpenPipelineNode(ctx context.Context, workspaceID, runID parley.ID, node, count int) (bool, error)
	// BeginPipelineNode opens the tool session of a transform and posts its message, in one transaction with the run.
	// Whatever refuses a session or a message refuses it; then the run is unchanged.
	BeginPipelineNode(ctx context.Context, begin PipelineBegin) (bool, error)
	// RefusePipelineNode fails what cannot begin, with a reason for people.
	RefusePipelineNode(
		ctx context.Context, workspaceID, runID parley.ID, start parley.PipelineStart, reason string,
	) (bool, error)
}
