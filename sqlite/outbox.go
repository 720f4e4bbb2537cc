package sqlite

import (
	"context"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// projectBatch bounds the sessions that one transaction detaches or deletes.
const projectBatch = 50

// outboxRow is work that a transaction left.
type outboxRow struct {
	id          int64
	workspaceID parley.ID
	kind        string
	target      parley.ID
}

// ApplyOutbox implements store.Outbox.
func (s *Store) ApplyOutbox(ctx context.Context) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		var rows []outboxRow
		if err := tx.each(
			"SELECT id, workspace_id, kind, target_id FROM outbox WHERE due_at <= ? ORDER BY due_at, id LIMIT 2",
			func(r *row) error {
				rows = append(rows, outboxRow{r.int64(), r.id(), r.text(), r.id()})
				return nil
			},
			tx.now,
		); err != nil ||
			len(rows) == 0 {
			return false, err
		}
		done, err := tx.apply(rows[0])
		if err != nil {
			return false, err
		}
		left := slices.ContainsFunc(
			tx.core.Locked(),
			func(h *transition.Head) bool { return len(h.Changes.Outbox) > 0 },
		)
		if done {
			if _, err = tx.exec("DELETE FROM outbox WHERE id = ?", rows[0].id); err != nil || left {
				return left, err
			}
			return tx.has("SELECT 1 FROM outbox WHERE due_at <= ?", tx.now) // the errand may have left others
		}
		pause := transition.RestOf(rows[0].kind)
		_, err = tx.exec("UPDATE outbox SET due_at = ?, attempts = attempts + 1 WHERE id = ?", tx.now+pause, rows[0].id)
		return len(rows) > 1 || pause == 0, err
	})
}

// catchUp makes errands due in time that were left before the clock went back: each
// after the delay that it was left with.
func (t *txn) catchUp() error {
	ahead := t.now + transition.ClockSlack
	late, err := t.has("SELECT 1 FROM outbox WHERE due_at > ?1 AND created_at > ?1 LIMIT 1", ahead)
	if err != nil || !late {
		return err
	}
	_, err = t.exec(
		"UPDATE outbox SET due_at = due_at - created_at + ?2, created_at = ?2 WHERE due_at > ?1 AND created_at > ?1",
		ahead,
		t.now,
	)
	return err
}

// apply does a bounded piece of an outbox row's work and reports whether that
// was the rest.
func (t *txn) apply(work outboxRow) (done bool, err error) {
	switch work.kind {
	case transition.ChildHome:
		return true, t.core.BringHome(work.workspaceID, work.target)
	case transition.WakeSession:
		return true, t.core.Wake(work.target)
	case transition.CancelChild:
		again, err := t.core.StopChild(work.target)
		return !again, err
	case transition.PurgeBlob:
		return t.purgeBlob(work)
	case transition.PurgeSession:
		return t.purge(work.target)
	case transition.PurgeLog:
		return t.purgeLog(work.target)
	case transition.DetachProject:
		return t.detach(work)
	case transition.DeleteSessions:
		return t.deleteSessions(work)
	case transition.TellRoot:
		return true, t.core.TellRoot(work.workspaceID, work.target)
	}
	t.store.log.Error("an outbox row of an unknown kind was dropped", "kind", work.kind)
	return true, nil
}

// detach takes sessions out of a project that is gone.
func (t *txn) detach(work outboxRow) (bool, error) {
	ids, err := t.sessionsOf(work)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := t.core.Detach(id, work.target); err != nil {
			return false, err
		}
	}
	return len(ids) < projectBatch, nil
}

// deleteSessions deletes the sessions of a project that is gone.
func (t *txn) deleteSessions(work outboxRow) (bool, error) {
	ids, err := t.sessionsOf(work)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := t.core.Entomb(id); err != nil {
			return false, err
		}
	}
	return len(ids) < projectBatch, nil
}

func (t *txn) sessionsOf(work outboxRow) (ids []parley.ID, err error) {
	err = t.each(
		"SELECT id FROM sessions WHERE workspace_id = ? AND project_id = ? AND deleted_at IS NULL LIMIT ?",
		func(r *row) error {
			ids = append(ids, r.id())
			return nil
		},
		work.workspaceID,
		work.target,
		projectBatch,
	)
	return ids, err
}
