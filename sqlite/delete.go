package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"parley"
)

// The kinds of outbox rows.
const (
	outboxPurgeSession   = "purge_session"
	outboxDetachProject  = "detach_project"
	outboxDeleteSessions = "delete_project_sessions"
)

// projectBatch bounds the sessions that one transaction detaches or deletes.
const projectBatch = 50

// DeleteSession implements parley.TurnStore.
func (s *Store) DeleteSession(ctx context.Context, scope parley.Scope, sessionID parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		h, err := tx.lock(scope, sessionID)
		if err != nil {
			return err
		}
		return tx.entomb(h)
	})
}

// entomb makes a session and its tool children invisible and leaves their rows
// to the outbox.
func (t *txn) entomb(h *head) error {
	for next := []*head{h}; len(next) > 0; {
		h, next = next[0], next[1:]
		if err := t.entombOne(h); err != nil {
			return err
		}
		var children []parley.ID
		if err := t.each("SELECT id FROM sessions WHERE workspace_id = ? AND parent_session_id = ? AND kind = 'tool' AND deleted_at IS NULL", func(r *row) error {
			children = append(children, r.id())
			return nil
		}, h.WorkspaceID, h.ID); err != nil {
			return err
		}
		for _, id := range children {
			child, err := t.load(id)
			if err != nil {
				return err
			}
			next = append(next, child)
		}
	}
	return nil
}

func (t *txn) entombOne(h *head) error {
	if !h.holder.IsZero() {
		h.hint.Cancel = h.TurnID
	}
	h.deletedAt, h.dirty = t.now, true
	h.epoch++
	h.holder, h.cancel, h.TurnID, h.turnStatus, h.turn = parley.ID{}, parley.ID{}, parley.ID{}, "", nil
	h.Status, h.WaitReason = parley.SessionStatusOf(parley.TurnCancelled), ""
	h.status, h.reason = h.Status, h.WaitReason // the lists hear session.deleted alone
	for _, statement := range []string{
		"UPDATE sessions SET deleted_at = ?, idempotency_key = NULL, fingerprint = NULL, status = 'cancelled', wait_reason = '' WHERE id = ?",
		"UPDATE turns SET status = 'cancelled', wait_reason = '', finished_at = ? WHERE session_id = ? AND status IN ('queued', 'running', 'waiting')",
	} {
		if _, err := t.exec(statement, t.now, h.ID); err != nil {
			return err
		}
	}
	for _, tag := range h.Tags {
		if _, err := t.exec("DELETE FROM session_tags WHERE workspace_id = ? AND tag = ? AND session_id = ?", h.WorkspaceID, tag, h.ID); err != nil {
			return err
		}
	}
	if _, err := t.exec("DELETE FROM clients WHERE session_id = ?", h.ID); err != nil {
		return err
	}
	if err := t.unready(h); err != nil {
		return err
	}
	t.feed(h, parley.FeedSessionDeleted, json.RawMessage(append(appendID([]byte(`{"session_id":`), h.ID), '}')))
	return t.leaveFor(h.WorkspaceID, outboxPurgeSession, h.ID)
}

// leaveFor leaves work for the outbox.
func (t *txn) leaveFor(workspaceID parley.ID, kind string, target parley.ID) error {
	_, err := t.exec("INSERT INTO outbox (workspace_id, kind, target_id, created_at, due_at) VALUES (?, ?, ?, ?, ?)", workspaceID, kind, target, t.now, t.now)
	return err
}

// outboxRow is work that a transaction left.
type outboxRow struct {
	id          int64
	workspaceID parley.ID
	kind        string
	target      parley.ID
}

// ApplyOutbox implements parley.OutboxStore. A row that is not done stays the
// oldest one.
func (s *Store) ApplyOutbox(ctx context.Context) (bool, error) {
	return transact(ctx, s, func(tx *txn) (bool, error) {
		var rows []outboxRow
		if err := tx.each("SELECT id, workspace_id, kind, target_id FROM outbox WHERE due_at <= ? ORDER BY id LIMIT 2", func(r *row) error {
			rows = append(rows, outboxRow{r.int64(), r.id(), r.text(), r.id()})
			return nil
		}, tx.now); err != nil || len(rows) == 0 {
			return false, err
		}
		done, err := tx.apply(rows[0])
		if err != nil {
			return false, err
		}
		if !done {
			return true, nil
		}
		_, err = tx.exec("DELETE FROM outbox WHERE id = ?", rows[0].id)
		return len(rows) > 1, err
	})
}

// apply does a bounded piece of an outbox row's work and reports whether that
// was the rest.
func (t *txn) apply(work outboxRow) (done bool, err error) {
	switch work.kind {
	case outboxPurgeSession:
		return t.purge(work.target)
	case outboxDetachProject:
		return t.detach(work)
	case outboxDeleteSessions:
		return t.deleteSessions(work)
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
	purgeCalls  = `DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE session_id = ?1 ORDER BY id LIMIT ?2)`
	purgeTurns  = `DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE session_id = ?1 LIMIT ?2)`
)

// purge deletes at most parley.PurgeBatch rows of a tombstoned session, versions
// before their messages, and reports whether nothing is left.
func (t *txn) purge(sessionID parley.ID) (bool, error) {
	h, err := t.load(sessionID)
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
	left := int64(parley.PurgeBatch)
	for _, step := range []struct {
		statement string
		target    parley.ID
	}{{purgeQueue, h.LogID}, {purgeEvents, h.ID}, {purgeCalls, h.ID}, {purgeTurns, h.ID}} {
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
	for _, statement := range []string{"DELETE FROM heads WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?"} {
		if _, err := t.exec(statement, h.ID); err != nil {
			return false, err
		}
	}
	t.drop(h.ID)
	return true, nil
}

// textsOfCalls names the texts of the calls that purgeCalls is about to delete.
func (t *txn) textsOfCalls(h *head, limit int64) (keys []textKey, err error) {
	err = t.each(`WITH doomed AS (SELECT system_hash, tools_hash FROM calls WHERE session_id = ?1 ORDER BY id LIMIT ?2)
 SELECT system_hash FROM doomed WHERE system_hash IS NOT NULL UNION SELECT tools_hash FROM doomed WHERE tools_hash IS NOT NULL`, func(r *row) error {
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
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND tools_hash = ?2)`, key.workspaceID, key.hash)
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
		h, err := t.load(id)
		if err != nil {
			return false, err
		}
		h.ProjectID = parley.ID{}
		if _, err := t.exec("UPDATE sessions SET project_id = NULL WHERE id = ?", id); err != nil {
			return false, err
		}
		t.updatedFeed(h)
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
		h, err := t.load(id)
		if err != nil {
			return false, err
		}
		if h.deletedAt != 0 { // gone as the child of another one
			continue
		}
		if err := t.entomb(h); err != nil {
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
