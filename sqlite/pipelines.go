package sqlite

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
	created, err := transact(ctx, s, func(tx *txn) (transition.PipelineCreated, error) {
		return tx.core.CreatePipelineRun(scope, creating)
	})
	return created.Run, created.Replayed, err
}

// CancelPipelineRun implements store.Pipelines.
func (s *Store) CancelPipelineRun(ctx context.Context, scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	return transact(ctx, s, func(tx *txn) (parley.PipelineRun, error) { return tx.core.CancelPipelineRun(scope, id) })
}

// RetryPipelineRun implements store.Pipelines.
func (s *Store) RetryPipelineRun(ctx context.Context, scope store.Scope, id parley.ID) (parley.PipelineRun, error) {
	return transact(ctx, s, func(tx *txn) (parley.PipelineRun, error) { return tx.core.RetryPipelineRun(scope, id) })
}

// OpenPipelineNode implements store.Pipelines.
func (s *Store) OpenPipelineNode(ctx context.Context, workspaceID, runID parley.ID, node, count int) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		return tx.core.OpenPipelineNode(workspaceID, runID, node, count)
	})
}

// BeginPipelineNode implements store.Pipelines.
func (s *Store) BeginPipelineNode(ctx context.Context, begin store.PipelineBegin) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) { return tx.core.BeginPipelineNode(begin) })
}

// RefusePipelineNode implements store.Pipelines.
func (s *Store) RefusePipelineNode(
	ctx context.Context, workspaceID, runID parley.ID, start parley.PipelineStart, reason string,
) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		return tx.core.RefusePipelineNode(workspaceID, runID, start, reason)
	})
}

// PipelineRun implements store.Pipelines.
func (s *Store) PipelineRun(ctx context.Context, scope store.Scope, id parley.ID) (run parley.PipelineRun, err error) {
	var l list
	l.must("p.id = ?", id)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT "+pipelineRunColumns+" FROM pipeline_runs p JOIN sessions s ON s.id = p.id WHERE "+
			l.where.String(), func(r *row) (err error) {
			run, err = scanPipelineRun(r)
			return err
		}, l.args...)
		if err == nil && !found {
			err = transition.NotFound("run")
		}
		return err
	})
	return run, err
}

// PipelineRuns implements store.Pipelines.
func (s *Store) PipelineRuns(
	ctx context.Context,
	scope store.Scope,
	query store.PipelineQuery,
) (runs []parley.PipelineRun, err error) {
	text, args := pipelineRunsQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		runs = []parley.PipelineRun{}
		return eachListed(c, &runs, scanPipelineRun, text, args...)
	})
	return runs, err
}

func pipelineRunsQuery(scope store.Scope, q store.PipelineQuery) (string, []arg) {
	var l list
	l.must("p.workspace_id = ?", scope.WorkspaceID)
	if !q.ProjectID.IsZero() {
		l.by("pipeline_runs_project", "p.project_id = ?", q.ProjectID)
	}
	l.visible(scope)
	if q.Status != "" {
		l.must("p.status = ?", string(q.Status))
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must("p.id "+after+" ?", q.AfterID)
	}
	return "SELECT " + pipelineRunColumns + " FROM pipeline_runs p" + l.indexed("pipeline_runs_recent") +
			"CROSS JOIN sessions s ON s.id = p.id WHERE " + l.where.String() + " ORDER BY p.id " + word + " LIMIT ?",
		append(l.args, limited(q.Limit))
}

// duePipelineRuns are the runs in which something may begin.
const duePipelineRuns = "SELECT " + pipelineRunColumns + " FROM pipeline_runs p INDEXED BY pipeline_runs_due " +
	"WHERE p.due_at IS NOT NULL AND (p.due_at <= max(p.updated_at, ?1) OR p.due_at > ?1 + ?2) " +
	"ORDER BY p.due_at LIMIT ?3"

// PostponePipelineRun implements store.Pipelines.
func (s *Store) PostponePipelineRun(ctx context.Context, run *parley.PipelineRun) error {
	_, err := transact(ctx, s, func(tx *txn) (int64, error) {
		return tx.exec("UPDATE pipeline_runs SET due_at = max(updated_at, ?1) + min(max(?1 - updated_at, ?2), ?3) "+
			"WHERE id = ?4 AND workspace_id = ?5 AND revision = ?6 AND due_at IS NOT NULL", tx.now,
			store.PipelineRest.Milliseconds(), store.MaxPipelineRest.Milliseconds(), run.ID, run.WorkspaceID,
			run.Revision)
	})
	return err
}

// DuePipelineRuns implements store.Pipelines.
func (s *Store) DuePipelineRuns(ctx context.Context, limit int) (runs []parley.PipelineRun, err error) {
	err = s.read(ctx, func(c *conn) error {
		runs = nil
		return eachListed(c, &runs, scanPipelineRun, duePipelineRuns, parley.Now(),
			store.MaxPipelineRest.Milliseconds(), limit)
	})
	return runs, err
}

// PipelineRun implements transition.Rows.
func (t *txn) PipelineRun(workspaceID, id parley.ID) (run *parley.PipelineRun, err error) {
	_, err = t.one("SELECT "+pipelineRunColumns+" FROM pipeline_runs p WHERE p.id = ? AND p.workspace_id = ?",
		func(r *row) error {
			found, err := scanPipelineRun(r)
			run = &found
			return err
		}, id, workspaceID)
	return run, err
}

// InsertPipelineRun implements transition.Writer.
func (w changes) InsertPipelineRun(_ *transition.Head, run *parley.PipelineRun) error {
	args, err := insertPipelineRunArgs(nil, run)
	if err != nil {
		return err
	}
	_, err = w.exec("INSERT INTO pipeline_runs ("+insertPipelineRunColumns+") VALUES ("+insertPipelineRunPlaces+")",
		args...)
	return err
}

// MovePipelineRun implements transition.Writer. The one writer has read the row in this transaction.
func (w changes) MovePipelineRun(_ *transition.Head, run *parley.PipelineRun) error {
	args, err := updatePipelineRunArgs(nil, run)
	if err != nil {
		return err
	}
	_, err = w.exec("UPDATE pipeline_runs SET "+updatePipelineRunSet+" WHERE id = ?", append(args, run.ID)...)
	return err
}

// TransformOfRun implements transition.Rows.
func (t *txn) TransformOfRun(workspaceID, id parley.ID) (found *parley.Transform, err error) {
	if _, err = t.one("SELECT "+transformColumns+" FROM transforms f WHERE f.id = ? AND f.workspace_id = ?",
		func(r *row) error {
			made, err := scanTransform(r)
			found = &made
			return err
		}, id, workspaceID); err != nil || found == nil {
		return nil, err
	}
	err = t.each("SELECT "+transformOutputColumns+" FROM transform_outputs o LEFT JOIN artifacts x "+
		"ON x.id = o.artifact_id AND x.deleted_at IS NULL WHERE o.transform_id = ? ORDER BY o.position",
		func(r *row) error {
			out, err := scanTransformOutput(r)
			found.Outputs = append(found.Outputs, out)
			return err
		}, id)
	return found, err
}
