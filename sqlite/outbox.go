package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// unreadableRest is the pause, in milliseconds, of an errand with an unreadable payload, so that it does not delay
// others.
const unreadableRest = parley.Time(60_000)

// failedRest is the pause, in milliseconds, of an errand that failed. It may fail for ever, and others must not wait
// for it.
const failedRest = parley.Time(2000)

// outboxRow is an errand as stored in its row.
type outboxRow struct {
	id          int64
	workspaceID parley.ID
	kind        string
	target      parley.ID
	payload     json.RawMessage
	attempts    int64 // earlier ones
}

// takeErrand reads the errand that has been due longest, and whether there is another one.
const takeErrand = "SELECT id, workspace_id, kind, target_id, payload, attempts FROM outbox WHERE due_at <= ? " +
	"ORDER BY due_at, id LIMIT 2"

// ApplyOutbox implements store.Outbox.
func (s *Store) ApplyOutbox(ctx context.Context, claimBy parley.ID) (*store.Claim, bool, error) {
	type part struct {
		claim *store.Claim
		more  bool
	}
	var failed atomic.Int64 // a caller that gave up may still share it with the writer
	did, err := transact(ctx, s, func(tx *txn) (did part, err error) {
		failed.Store(0) // the closure may run again
		tx.core.ClaimBy = claimBy
		var rows []outboxRow
		if err := tx.each(
			takeErrand,
			func(r *row) error {
				rows = append(rows, outboxRow{r.int64(), r.id(), r.text(), r.id(), r.json(), r.int64()})
				return nil
			},
			tx.now,
		); err != nil ||
			len(rows) == 0 {
			return part{}, err
		}
		done, pause, err := tx.apply(&rows[0])
		if err != nil {
			failed.Store(rows[0].id)
			return part{}, err
		}
		did.claim = tx.core.Claimed
		left := slices.ContainsFunc(
			tx.core.Locked(),
			func(h *transition.Head) bool { return len(h.Changes.Outbox) > 0 },
		)
		if done {
			if _, err = tx.exec("DELETE FROM outbox WHERE id = ?", rows[0].id); err != nil || left {
				did.more = left
				return did, err
			}
			// the errand may have left new ones
			did.more, err = tx.has("SELECT 1 FROM outbox WHERE due_at <= ?", tx.now)
			return did, err
		}
		_, err = tx.exec("UPDATE outbox SET due_at = ?, attempts = attempts + 1 WHERE id = ?", tx.now+pause, rows[0].id)
		did.more = len(rows) > 1 || pause == 0
		return did, err
	})
	id := failed.Load()
	if err == nil || id == 0 {
		return did.claim, did.more, err
	}
	more, unwritten := transact(ctx, s, func(tx *txn) (bool, error) {
		if _, err := tx.exec(
			"UPDATE outbox SET due_at = ?, attempts = attempts + 1 WHERE id = ?", tx.now+failedRest, id,
		); err != nil {
			return false, err
		}
		return tx.has("SELECT 1 FROM outbox WHERE due_at <= ?", tx.now)
	})
	return nil, more && unwritten == nil, errors.Join(err, unwritten)
}

// apply does a bounded part of an errand. It reports whether the errand is done and, if not, how long to pause.
func (t *txn) apply(work *outboxRow) (done bool, pause parley.Time, err error) {
	errand, err := transition.ErrandOf(work.workspaceID, work.kind, work.target, work.payload)
	switch {
	case errors.Is(err, transition.ErrUnknownErrand):
		t.store.log.Error("an outbox row of an unknown kind was dropped", "kind", work.kind)
		return true, 0, nil
	case err != nil:
		t.store.log.Error("the payload of an errand cannot be read", "errand", work.id, "kind", work.kind)
		return false, unreadableRest, nil //nolint:nilerr // it is logged; other errands must not wait for it
	}
	done, err = errand.Do(doer{t})
	return done, errand.Rest(work.attempts), err
}

// The errands that were left before the clock was set back. Very many may be due later, few were created later: the
// plus has the index of those serve.
const (
	lateErrands = " WHERE created_at > ?1 AND +due_at > ?1"
	anyLate     = "SELECT 1 FROM outbox" + lateErrands + " LIMIT 1"
)

// catchUp reschedules errands that were left before the clock was set back: each keeps its original delay.
func (t *txn) catchUp() error {
	ahead := t.now + transition.ClockSlack
	late, err := t.has(anyLate, ahead)
	if err != nil || !late {
		return err
	}
	_, err = t.exec(
		"UPDATE outbox SET due_at = due_at - created_at + ?2, created_at = ?2"+lateErrands,
		ahead,
		t.now,
	)
	return err
}

// doer carries out errands in the transaction that deletes their rows.
type doer struct{ *txn }

var _ transition.Doer = doer{}

// LastStep implements transition.Doer: the errand's row goes in the same transaction anyway.
func (d doer) LastStep(workspaceID parley.ID, step func(*transition.Tx) (bool, error)) (bool, error) {
	return d.Step(workspaceID, step)
}

// Step implements transition.Doer.
func (d doer) Step(_ parley.ID, step func(*transition.Tx) (bool, error)) (bool, error) {
	return step(d.core)
}

// PurgeBlob implements transition.Doer.
func (d doer) PurgeBlob(workspaceID, blobID parley.ID) (bool, error) {
	return d.purgeBlob(workspaceID, blobID)
}

// PurgeSession implements transition.Doer.
func (d doer) PurgeSession(_, sessionID parley.ID) (bool, error) { return d.purge(sessionID) }

// PurgeLog implements transition.Doer.
func (d doer) PurgeLog(_, logID parley.ID) (bool, error) { return d.purgeLog(logID) }

// PurgeArtifact implements transition.Doer.
func (d doer) PurgeArtifact(workspaceID, artifactID parley.ID) (bool, error) {
	return d.purgeArtifact(workspaceID, artifactID)
}

// ReleaseArtifacts implements transition.Doer.
func (d doer) ReleaseArtifacts(workspaceID, projectID parley.ID) (bool, error) {
	return d.releaseArtifacts(workspaceID, projectID)
}

// DropArtifacts implements transition.Doer.
func (d doer) DropArtifacts(workspaceID, projectID parley.ID) (bool, error) {
	return d.dropArtifacts(workspaceID, projectID)
}

// SessionsIn implements transition.Doer.
func (d doer) SessionsIn(workspaceID, projectID parley.ID, limit int) (ids []parley.ID, err error) {
	err = d.each(
		"SELECT id FROM sessions WHERE workspace_id = ? AND project_id = ? AND deleted_at IS NULL LIMIT ?",
		func(r *row) error {
			ids = append(ids, r.id())
			return nil
		},
		workspaceID,
		projectID,
		limit,
	)
	return ids, err
}
