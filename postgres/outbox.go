package postgres

import (
	"context"
	"encoding/json"
	"errors"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Bounds of the outbox.
const (
	errandLease = 5_000 // milliseconds that one process holds an errand; then another tries
	unknownRest = 5_000 // milliseconds until this program looks again at an errand of a newer one
	// unreadableRest is how long, in milliseconds, an errand rests whose payload cannot be
	// read: others are not to wait for it.
	unreadableRest = 60_000
)

// errand is work that a transaction left.
type errand struct {
	id          int64
	workspaceID parley.ID
	kind        string
	target      parley.ID
	payload     json.RawMessage
	attempts    int64 // earlier ones
}

// takeErrand reserves the errand that has been due longest for a while. The time is a query of its own: only then is it
// a condition of the index, and the many errands that are due much later are not read.
const takeErrand = `UPDATE parley.outbox SET due_at = parley.now_ms() + $1, attempts = attempts + 1
 WHERE id = (SELECT id FROM parley.outbox WHERE due_at <= (SELECT parley.now_ms()) ORDER BY due_at, id LIMIT 1
  FOR UPDATE SKIP LOCKED)
 RETURNING id, workspace_id, kind, target_id, payload, attempts - 1`

// Statements around an errand.
const (
	removeErrand = "DELETE FROM parley.outbox WHERE id = $1"
	errandsDue   = "SELECT coalesce((SELECT min(due_at) FROM parley.outbox) <= parley.now_ms(), false)"
)

// ApplyOutbox implements store.Outbox.
func (s *Store) ApplyOutbox(ctx context.Context, claimBy parley.ID) (claim *store.Claim, more bool, err error) {
	did := applied{claimBy: claimBy}
	if own := s.outbox.next(); own != nil {
		err = s.applyOwn(ctx, own, &did)
	} else if more, err = s.applyDue(ctx, &did); more {
		s.outbox.noteDue()
	}
	if err != nil {
		return did.claim, more, mapError(err)
	}
	return did.claim, s.outbox.more(), nil
}

// applyDue does a part of the errand that has been due longest, and reports whether others are, also if that one
// failed.
func (s *Store) applyDue(ctx context.Context, did *applied) (more bool, err error) {
	var work *errand
	b := system()
	b.read(takeErrand, func(r *row) error {
		work = &errand{r.int64(), r.id(), r.text(), r.id(), r.json(), r.int64()}
		return nil
	}, errandLease)
	due := func(r *row) error {
		more = r.bool()
		return nil
	}
	b.read(errandsDue, due)
	if err := s.send(ctx, b); err != nil || work == nil {
		return false, err
	}
	did.errand = work.id
	done, rest, err := s.apply(ctx, work, did)
	if err != nil {
		return more, err
	}
	if did.removed {
		return more || did.left, nil
	}
	b = system()
	b.finish(work.id, done, rest)
	b.read(errandsDue, due)
	return more, s.send(ctx, b)
}

// applyOwn does an errand that is reserved for this process. One that fails is due when its time is over.
func (s *Store) applyOwn(ctx context.Context, own *ownErrand, did *applied) error {
	did.errand, did.delegation = own.id, own.delegation
	done, err := own.work.Do(doer{ctx, s, did})
	if err != nil || did.removed {
		return err
	}
	b := system()
	b.finish(own.id, done, int64(own.work.Rest(0)))
	return s.send(ctx, b)
}

// finish removes an errand that is done, or has it rest for some milliseconds.
func (b *batch) finish(id int64, done bool, rest int64) {
	if done {
		b.write(removeErrand, id)
		return
	}
	b.write("UPDATE parley.outbox SET due_at = parley.now_ms() + $2 WHERE id = $1", id, rest)
}

// apply does a bounded part of an errand, possibly twice. It reports whether the errand is done and, if not, how many
// milliseconds to pause.
func (s *Store) apply(ctx context.Context, work *errand, did *applied) (done bool, rest int64, err error) {
	errand, err := transition.ErrandOf(work.workspaceID, work.kind, work.target, work.payload)
	if errors.Is(err, transition.ErrUnknownErrand) { // during a rolling upgrade
		s.log.Warn("an errand of an unknown kind is left to a newer program", "kind", work.kind)
		return false, unknownRest, nil
	}
	if err != nil {
		s.log.Error("the payload of an errand cannot be read", "errand", work.id, "kind", work.kind)
		return false, unreadableRest, nil //nolint:nilerr // the log is told
	}
	done, err = errand.Do(doer{ctx, s, did})
	return done, int64(errand.Rest(work.attempts)), err
}

// doer carries out errands, each part in its own transactions.
type doer struct {
	ctx   context.Context //nolint:containedctx // of one part of the work
	store *Store
	did   *applied // nil: the work has no row that it could remove
}

// applied says how the last step of an errand went.
type applied struct {
	errand     int64              // the row's id
	delegation *parley.Delegation // that it is about, as far as this process knows; nil: unknown
	removed    bool               // the step's transaction removed the row
	left       bool               // and left other errands
	claimBy    parley.ID          // the process that has a place for the turn that a step starts; zero: none
	claim      *store.Claim       // of that turn; nil: none
}

var _ transition.Doer = doer{}

// Step implements transition.Doer.
func (d doer) Step(workspaceID parley.ID, step func(*transition.Tx) (bool, error)) (bool, error) {
	return transact(d.ctx, d.store, workspaceID, func(a *attempt) (bool, error) { return step(a.tx) })
}

// LastStep implements transition.Doer. A step that writes removes the errand in its own transaction: that saves one. A
// step that writes nothing confirms only what it has read, so its errand is removed afterwards.
func (d doer) LastStep(workspaceID parley.ID, step func(*transition.Tx) (bool, error)) (bool, error) {
	if d.did == nil {
		return d.Step(workspaceID, step)
	}
	type stepped struct {
		again bool
		claim *store.Claim
	}
	did, err := transact(d.ctx, d.store, workspaceID, func(a *attempt) (stepped, error) {
		d.did.removed, d.did.left = false, false // of an earlier attempt
		a.known, a.tx.ClaimBy = d.did.delegation, d.did.claimBy
		again, err := step(a.tx)
		if again || err != nil {
			return stepped{again: again}, err
		}
		for _, h := range a.tx.Locked() {
			d.did.removed = d.did.removed || h.Changes.Any()
			d.did.left = d.did.left || len(h.Changes.Outbox) > 0
		}
		if d.did.removed {
			a.extra = append(a.extra, statement{query: removeErrand, args: []arg{d.did.errand}})
		}
		return stepped{claim: a.tx.Claimed}, nil
	})
	d.did.claim = did.claim
	return did.again, err
}

// PurgeBlob implements transition.Doer.
func (d doer) PurgeBlob(workspaceID, blobID parley.ID) (bool, error) {
	return d.store.purgeBlob(d.ctx, workspaceID, blobID)
}

// PurgeSession implements transition.Doer.
func (d doer) PurgeSession(workspaceID, sessionID parley.ID) (bool, error) {
	return d.store.purge(d.ctx, workspaceID, sessionID)
}

// PurgeLog implements transition.Doer.
func (d doer) PurgeLog(workspaceID, logID parley.ID) (bool, error) {
	return d.store.purgeLog(d.ctx, workspaceID, logID)
}

// PurgeArtifact implements transition.Doer.
func (d doer) PurgeArtifact(workspaceID, artifactID parley.ID) (bool, error) {
	return d.store.purgeArtifact(d.ctx, workspaceID, artifactID)
}

// ReleaseArtifacts implements transition.Doer.
func (d doer) ReleaseArtifacts(workspaceID, projectID parley.ID) (bool, error) {
	return d.store.releaseArtifacts(d.ctx, workspaceID, projectID)
}

// DropArtifacts implements transition.Doer.
func (d doer) DropArtifacts(workspaceID, projectID parley.ID) (bool, error) {
	return d.store.dropArtifacts(d.ctx, workspaceID, projectID)
}

// SessionsIn implements transition.Doer.
func (d doer) SessionsIn(workspaceID, projectID parley.ID, limit int) ([]parley.ID, error) {
	return every(
		d.ctx,
		d.store,
		tenant(workspaceID),
		"SELECT id FROM parley.sessions WHERE workspace_id = $1 AND project_id = $2 AND deleted_at IS NULL LIMIT $3",
		workspaceID,
		projectID,
		limit,
	)
}

// usedByOthers finds sessions in a project p that belong to anybody but the viewer, whose parameter follows; none if
// the viewer sees all.
const usedByOthers = "SELECT FROM parley.sessions u WHERE u.workspace_id = p.workspace_id AND u.project_id = p.id " +
	"AND u.deleted_at IS NULL AND u.owner_id <> "

// DeleteProject removes a project and leaves its sessions to the outbox.
func (s *Store) DeleteProject(ctx context.Context, scope store.Scope, id parley.ID, cascade bool) error {
	workspaceID := scope.WorkspaceID
	work := transition.Errand{WorkspaceID: workspaceID, Work: transition.DetachProject{ProjectID: id}}
	if cascade {
		work.Work = transition.DeleteSessions{ProjectID: id}
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
		id,
		work.Work.Kind(),
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
	_, err := work.Do(doer{ctx, s, nil}) // do the first part now
	return err
}
