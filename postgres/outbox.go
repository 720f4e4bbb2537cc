package postgres

import (
	"context"
	"errors"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// The bounds of the outbox.
const (
	projectBatch = 50    // sessions that one call detaches or deletes
	errandLease  = 5_000 // milliseconds that an errand is one process's; then another tries
	unknownRest  = 5_000 // milliseconds between two looks of this program at an errand of a newer one
)

// errand is work that a transaction left.
type errand struct {
	id          int64
	workspaceID parley.ID
	kind        string
	target      parley.ID
}

// takeErrand makes the errand that has been due for longest nobody else's for a while.
const takeErrand = `UPDATE parley.outbox SET due_at = parley.now_ms() + $1, attempts = attempts + 1
 WHERE id = (SELECT id FROM parley.outbox WHERE due_at <= parley.now_ms() ORDER BY due_at, id LIMIT 1
  FOR UPDATE SKIP LOCKED)
 RETURNING id, workspace_id, kind, target_id`

// ApplyOutbox implements store.Outbox.
func (s *Store) ApplyOutbox(ctx context.Context) (more bool, err error) {
	var work *errand
	b := system()
	b.read(takeErrand, func(r *row) error {
		work = &errand{r.int64(), r.id(), r.text(), r.id()}
		return nil
	}, errandLease)
	if err := s.send(ctx, b); err != nil || work == nil {
		return false, mapError(err)
	}
	done, err := s.apply(ctx, *work)
	rest := int64(transition.RestOf(work.kind))
	if errors.Is(err, errUnknownErrand) {
		s.log.Warn("an errand of a kind that only a newer program knows is left to one", "kind", work.kind)
		rest, err = unknownRest, nil
	}
	if err != nil {
		return false, mapError(err)
	}
	b = system()
	if done {
		b.write("DELETE FROM parley.outbox WHERE id = $1", work.id)
	} else {
		b.write("UPDATE parley.outbox SET due_at = parley.now_ms() + $2 WHERE id = $1", work.id, rest)
	}
	b.read("SELECT EXISTS (SELECT 1 FROM parley.outbox WHERE due_at <= parley.now_ms())", func(r *row) error {
		more = r.bool()
		return nil
	})
	return more, mapError(s.send(ctx, b))
}

// apply does a bounded piece of an errand and reports whether that was the rest.
// It may be done twice.
func (s *Store) apply(ctx context.Context, work errand) (done bool, err error) {
	switch work.kind {
	case transition.PurgeBlob:
		return s.purgeBlob(ctx, work)
	case transition.PurgeSession:
		return s.purge(ctx, work.workspaceID, work.target)
	case transition.PurgeLog:
		return s.purgeLog(ctx, work.workspaceID, work.target)
	case transition.DetachProject, transition.DeleteSessions:
		return s.emptyProject(ctx, work)
	case transition.ChildHome:
		return true, alone(
			ctx,
			s,
			work.workspaceID,
			func(a *attempt) error { return a.tx.BringHome(work.workspaceID, work.target) },
		)
	case transition.WakeSession:
		return true, alone(ctx, s, work.workspaceID, func(a *attempt) error { return a.tx.Wake(work.target) })
	case transition.CancelChild:
		again, err := transact(
			ctx,
			s,
			work.workspaceID,
			func(a *attempt) (bool, error) { return a.tx.StopChild(work.target) },
		)
		return !again, err
	case transition.TellRoot:
		return true, alone(
			ctx,
			s,
			work.workspaceID,
			func(a *attempt) error { return a.tx.TellRoot(work.workspaceID, work.target) },
		)
	}
	return false, errUnknownErrand
}

// errUnknownErrand is an errand that a newer program has left, in a rolling upgrade.
var errUnknownErrand = errors.New("postgres: an errand of an unknown kind")

// emptyProject detaches or deletes sessions of a project that is gone, one
// transition each.
func (s *Store) emptyProject(ctx context.Context, work errand) (bool, error) {
	ids, err := every(
		ctx,
		s,
		tenant(work.workspaceID),
		"SELECT id FROM parley.sessions WHERE workspace_id = $1 AND project_id = $2 AND deleted_at IS NULL LIMIT $3",
		work.workspaceID,
		work.target,
		projectBatch,
	)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := alone(ctx, s, work.workspaceID, func(a *attempt) error {
			if work.kind == transition.DetachProject {
				return a.tx.Detach(id, work.target)
			}
			return a.tx.Entomb(id)
		}); err != nil {
			return false, err
		}
	}
	return len(ids) < projectBatch, nil
}

// usedByOthers finds sessions in a project p that are not the viewer's, whose parameter
// follows; none for somebody who sees all.
const usedByOthers = "SELECT FROM parley.sessions u WHERE u.workspace_id = p.workspace_id AND u.project_id = p.id " +
	"AND u.deleted_at IS NULL AND u.owner_id <> "

// DeleteProject removes a project; its sessions are left to the outbox.
func (s *Store) DeleteProject(ctx context.Context, scope store.Scope, id parley.ID, cascade bool) error {
	workspaceID := scope.WorkspaceID
	work := transition.Errand{WorkspaceID: workspaceID, Kind: transition.DetachProject, TargetID: id}
	if cascade {
		work.Kind = transition.DeleteSessions
	}
	found, used, audit := false, false, store.AuditFrom(ctx)
	b := tenant(workspaceID)
	b.auditIf(
		audit.Entries(parley.ID{}, id),
		"SELECT FROM parley.projects p WHERE workspace_id = $1 AND id = $10 AND NOT EXISTS ("+usedByOthers+
			"$11) FOR UPDATE",
		id,
		scope.ViewerID,
	)
	b.read(
		"SELECT 1 FROM parley.projects p WHERE workspace_id = $1 AND id = $2 AND EXISTS ("+usedByOthers+"$3)",
		func(*row) error {
			used = true
			return nil
		},
		workspaceID,
		id,
		scope.ViewerID,
	)
	b.read(
		`WITH gone AS (DELETE FROM parley.projects p WHERE workspace_id = $1 AND id = $2 AND NOT EXISTS (`+usedByOthers+
			`$4) RETURNING id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, id, now, now
  FROM gone, parley.now_ms() now RETURNING 1`,
		func(*row) error {
			found = true
			return nil
		},
		work.WorkspaceID,
		work.TargetID,
		work.Kind,
		scope.ViewerID,
	)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	switch {
	case !found && used:
		return transition.ProjectOfOthers()
	case !found:
		return transition.NotFound("project")
	}
	audit.Wrote()
	_, err := s.emptyProject(
		ctx,
		errand{workspaceID: workspaceID, kind: work.Kind, target: id},
	) // the first of them at once
	return err
}
