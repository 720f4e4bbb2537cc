package sqlite

import (
	"context"
	"slices"

	"parley"
	"parley/internal/transition"
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

// ApplyOutbox implements parley.OutboxStore.
func (s *Store) ApplyOutbox(ctx context.Context) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		var rows []outboxRow
		if err := tx.each("SELECT id, workspace_id, kind, target_id FROM outbox WHERE due_at <= ? ORDER BY due_at, id LIMIT 2", func(r *row) error {
			rows = append(rows, outboxRow{r.int64(), r.id(), r.text(), r.id()})
			return nil
		}, tx.now); err != nil || len(rows) == 0 {
			return false, err
		}
		done, err := tx.apply(rows[0])
		if err != nil {
			return false, err
		}
		left := slices.ContainsFunc(tx.core.Locked(), func(h *transition.Head) bool { return len(h.Changes.Outbox) > 0 })
		if done {
			_, err = tx.exec("DELETE FROM outbox WHERE id = ?", rows[0].id)
			return len(rows) > 1 || left, err
		}
		pause := transition.RestOf(rows[0].kind)
		_, err = tx.exec("UPDATE outbox SET due_at = ?, attempts = attempts + 1 WHERE id = ?", tx.now+pause, rows[0].id)
		return len(rows) > 1 || pause == 0, err
	})
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

// The statements that delete a session's rows; each takes an id and a bound.
// Messages of the record are found by sequence, the others (queued, removed) by
// their status.
const (
	purgeRecord = `DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE log_id = ?1 AND sequence IS NOT NULL ORDER BY sequence LIMIT ?2)`
	purgeQueue  = `DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE log_id = ?1 AND status <> 'completed' LIMIT ?2)`
	purgeEvents = `DELETE FROM events WHERE session_id = ?1 AND sequence IN (SELECT sequence FROM events WHERE session_id = ?1 ORDER BY sequence LIMIT ?2)`
	purgeCalls  = `DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE session_id = ?1 ORDER BY ordinal LIMIT ?2)`
	purgeAsked  = `DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE session_id = ?1 LIMIT ?2)`
	purgeLoops  = `DELETE FROM loops WHERE id IN (SELECT id FROM loops WHERE session_id = ?1 LIMIT ?2)`
	purgeTurns  = `DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE session_id = ?1 LIMIT ?2)`
)

// purge deletes at most parley.PurgeBatch rows of a tombstoned session, versions
// before their messages, and reports whether nothing is left.
func (t *txn) purge(sessionID parley.ID) (bool, error) {
	h, err := t.Head(sessionID)
	if err != nil || h == nil {
		return true, err
	}
	gone, err := t.purgeVersions(h.LogID, parley.PurgeBatch)
	if err != nil || gone > 0 {
		return false, err
	}
	if gone, err = t.exec(purgeRecord, h.LogID, parley.PurgeBatch); err != nil || gone > 0 {
		return false, err // the next messages may have versions
	}
	if gone, err = t.purgeUses(h.ID); err != nil || gone > 0 {
		return false, err
	}
	left := int64(parley.PurgeBatch)
	for _, step := range []struct {
		statement string
		target    parley.ID
	}{{purgeQueue, h.LogID}, {purgeEvents, h.ID}, {purgeCalls, h.ID}, {purgeAsked, h.ID}, {purgeTurns, h.ID}, {purgeLoops, h.ID}} {
		var texts []textKey
		if step.statement == purgeCalls {
			if texts, err = t.textsOfCalls(h, left); err != nil {
				return false, err
			}
		}
		gone, err := t.exec(step.statement, step.target, left)
		if err != nil {
			return false, err
		}
		if err := t.purgeTexts(texts); err != nil {
			return false, err
		}
		if left -= gone; left <= 0 {
			return false, nil
		}
	}
	for _, statement := range []string{"DELETE FROM parked WHERE session_id = ?", "DELETE FROM compactions WHERE session_id = ?",
		"DELETE FROM outside WHERE session_id = ?", "DELETE FROM shares WHERE session_id = ?", "DELETE FROM shares WHERE reader_id = ?",
		"DELETE FROM budgets WHERE subject_id = ?", "DELETE FROM rates WHERE subject_id = ?", "DELETE FROM heads WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?"} {
		if _, err := t.exec(statement, h.ID); err != nil {
			return false, err
		}
	}
	t.drop(h.ID)
	return true, nil
}

// textsOfCalls names the texts of the calls that purgeCalls is about to delete.
func (t *txn) textsOfCalls(h *transition.Head, limit int64) (keys []textKey, err error) {
	err = t.each(`WITH doomed AS (SELECT system_hash, tools_hash, middleware_hash FROM calls WHERE session_id = ?1 ORDER BY ordinal LIMIT ?2)
 SELECT system_hash FROM doomed WHERE system_hash IS NOT NULL UNION SELECT tools_hash FROM doomed WHERE tools_hash IS NOT NULL
 UNION SELECT middleware_hash FROM doomed WHERE middleware_hash IS NOT NULL`, func(r *row) error {
		keys = append(keys, textKey{h.WorkspaceID, r.hash()})
		return nil
	}, h.ID, limit)
	return keys, err
}

// purgeTexts deletes those texts that no call names any more: they may hold a
// session's own instructions.
func (t *txn) purgeTexts(keys []textKey) error {
	for _, key := range keys {
		gone, err := t.exec(`DELETE FROM call_texts WHERE workspace_id = ?1 AND hash = ?2
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND system_hash = ?2)
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND tools_hash = ?2)
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND middleware_hash = ?2)`, key.workspaceID, key.hash)
		if err != nil {
			return err
		}
		if gone > 0 { // the next call that needs it stores it again
			delete(t.texts, key)
			t.newTexts = slices.DeleteFunc(t.newTexts, func(stored textKey) bool { return stored == key })
		}
	}
	return nil
}

// purgeVersions deletes versions of the oldest messages that are left.
func (t *txn) purgeVersions(logID parley.ID, limit int64) (int64, error) {
	return t.exec(`DELETE FROM versions WHERE (message_id, n) IN (SELECT v.message_id, v.n FROM versions v JOIN
 (SELECT id FROM messages WHERE log_id = ?1 AND sequence IS NOT NULL ORDER BY sequence LIMIT ?2) m ON v.message_id = m.id LIMIT ?2)`, logID, limit)
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
	err = t.each("SELECT id FROM sessions WHERE workspace_id = ? AND project_id = ? AND deleted_at IS NULL LIMIT ?", func(r *row) error {
		ids = append(ids, r.id())
		return nil
	}, work.workspaceID, work.target, projectBatch)
	return ids, err
}
