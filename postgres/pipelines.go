package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// CreatePipelineRun implements store.Pipelines.
func (s *Store) CreatePipelineRun(
	ctx context.Context,
	scope store.Scope,
	creating store.NewPipelineRun,
) (parley.PipelineRun, bool, error) {
	created, err := transact(ctx, s, scope.WorkspaceID, func(a *attempt) (transition.PipelineCreated, error) {
		return a.tx.CreatePipelineRun(scope, creating)
	})
	return created.Run, created.Replayed, err
}

// CancelPipelineRun implements store.Pipelines.
func (s *Store) CancelPipelineRun(ctx context.Context, scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.PipelineRun, error) {
		return a.tx.CancelPipelineRun(scope, id)
	})
}

// RetryPipelineRun implements store.Pipelines.
func (s *Store) RetryPipelineRun(ctx context.Context, scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.PipelineRun, error) {
		return a.tx.RetryPipelineRun(scope, id)
	})
}

// OpenPipelineNode implements store.Pipelines.
func (s *Store) OpenPipelineNode(ctx context.Context, workspaceID, runID parley.ID, node, count int) (bool, error) {
	return transact(ctx, s, workspaceID, func(a *attempt) (bool, error) {
		return a.tx.OpenPipelineNode(workspaceID, runID, node, count)
	})
}

// BeginPipelineNode implements store.Pipelines.
func (s *Store) BeginPipelineNode(ctx context.Context, begin store.PipelineBegin) (bool, error) {
	return transact(ctx, s, begin.WorkspaceID, func(a *attempt) (bool, error) { return a.tx.BeginPipelineNode(begin) })
}

// RefusePipelineNode implements store.Pipelines.
func (s *Store) RefusePipelineNode(
	ctx context.Context, workspaceID, runID parley.ID, start parley.PipelineStart, reason string,
) (bool, error) {
	return transact(ctx, s, workspaceID, func(a *attempt) (bool, error) {
		return a.tx.RefusePipelineNode(workspaceID, runID, start, reason)
	})
}

const pipelineRunsOfSessions = "SELECT " + pipelineRunColumns + " FROM parley.pipeline_runs p " +
	"JOIN parley.sessions s ON s.workspace_id = p.workspace_id AND s.id = p.id WHERE "

// PipelineRun implements store.Pipelines.
func (s *Store) PipelineRun(ctx context.Context, scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	var l filter
	l.must("p.workspace_id = "+here+" AND p.id = ?", id)
	l.visible(scope)
	return one(ctx, s, tenant(scope.WorkspaceID), "run", scanPipelineRun,
		pipelineRunsOfSessions+l.where.String(), l.args...)
}

// PipelineRuns implements store.Pipelines.
func (s *Store) PipelineRuns(
	ctx context.Context,
	scope store.Scope,
	query store.PipelineQuery,
) ([]parley.PipelineRun, error) {
	text, rows, args := pipelineRunsQuery(scope, query)
	return all(ctx, s, ordered(scope.WorkspaceID), scanPipelineRun, text, rows, args...)
}

func pipelineRunsQuery(scope store.Scope, q store.PipelineQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("p.workspace_id = " + here)
	if !q.ProjectID.IsZero() {
		l.must("p.project_id = ?", q.ProjectID)
	}
	l.visible(scope)
	if q.Status != "" {
		l.must("p.status = ?", string(q.Status))
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("p.id "+after+" ?", q.AfterID)
	}
	limit, rows := limited(q.Limit)
	return pipelineRunsOfSessions + l.where.String() + " ORDER BY p.id " + word + limit, rows, l.args
}

// DuePipelineRuns implements store.Pipelines.
func (s *Store) DuePipelineRuns(ctx context.Context, limit int) (runs []parley.PipelineRun, err error) {
	err = s.read(ctx, func() *batch {
		runs = nil
		b := system()
		b.inOrder = true
		b.read("SELECT "+pipelineRunColumns+" FROM parley.pipeline_runs p WHERE p.due_at IS NOT NULL AND "+
			"(p.due_at <= greatest(p.updated_at, parley.now_ms()) OR p.due_at > parley.now_ms() + $2) "+
			"ORDER BY p.due_at LIMIT $1", listed(limit, &runs, scanPipelineRun), limit,
			store.MaxPipelineRest.Milliseconds())
		return b
	})
	return runs, err
}

// PostponePipelineRun implements store.Pipelines.
func (s *Store) PostponePipelineRun(ctx context.Context, run *parley.PipelineRun) error {
	b := tenant(run.WorkspaceID)
	b.write("UPDATE parley.pipeline_runs SET due_at = greatest(updated_at, parley.now_ms()) + "+
		"least(greatest(parley.now_ms() - updated_at, $4), $5) "+
		"WHERE workspace_id = $1 AND id = $2 AND revision = $3 AND due_at IS NOT NULL", run.WorkspaceID, run.ID,
		run.Revision, store.PipelineRest.Milliseconds(), store.MaxPipelineRest.Milliseconds())
	return mapError(s.send(ctx, b))
}

// PipelineRun implements transition.Rows.
func (a *attempt) PipelineRun(workspaceID, id parley.ID) (*parley.PipelineRun, error) {
	return first(a, scanPipelineRun, "SELECT "+pipelineRunColumns+
		" FROM parley.pipeline_runs p WHERE p.workspace_id = $1 AND p.id = $2", workspaceID, id)
}

// InsertPipelineRun implements transition.Writer.
func (w *changes) InsertPipelineRun(_ *transition.Head, run *parley.PipelineRun) error {
	args, err := insertPipelineRunArgs(nil, run)
	if err != nil {
		return err
	}
	w.write("INSERT INTO parley.pipeline_runs ("+insertPipelineRunColumns+") VALUES ("+insertPipelineRunPlaces+")",
		args...)
	return nil
}

// MovePipelineRun implements transition.Writer.
func (w *changes) MovePipelineRun(_ *transition.Head, run *parley.PipelineRun) error {
	args, err := updatePipelineRunArgs([]arg{run.WorkspaceID, run.ID}, run)
	if err != nil {
		return err
	}
	w.write("WITH changed AS (UPDATE parley.pipeline_runs SET "+updatePipelineRunSet+
		" WHERE workspace_id = $1 AND id = $2 AND revision = "+updatePipelineRunPlace1+
		" RETURNING 1) SELECT parley.stale() WHERE NOT EXISTS (SELECT FROM changed)", append(args, run.Revision-1)...)
	return nil
}

// TransformOfRun implements transition.Rows.
func (a *attempt) TransformOfRun(workspaceID, id parley.ID) (*parley.Transform, error) {
	found, err := first(a, scanTransform, "SELECT "+transformColumns+
		" FROM parley.transforms f WHERE f.workspace_id = $1 AND f.id = $2", workspaceID, id)
	if err != nil || found == nil {
		return nil, err
	}
	found.Outputs, err = rowsOf(a, scanTransformOutput, "SELECT "+transformOutputColumns+
		" FROM parley.transform_outputs o LEFT JOIN parley.artifacts x ON x.workspace_id = o.workspace_id "+
		"AND x.id = o.artifact_id AND x.deleted_at IS NULL WHERE o.workspace_id = $1 AND o.transform_id = $2 "+
		"ORDER BY o.position", workspaceID, id)
	return found, err
}
