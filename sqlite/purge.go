package sqlite

import (
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Statements that delete a session's rows; each takes an id and a bound. Messages of the record are found by sequence,
// others (queued, removed) by status. What forks share of a log stays, because they read it up to a sequence.
const (
	sharedBelow = "ifnull((SELECT max(g.through) FROM session_logs g WHERE g.log_id = ?1), 0)"
	purgeRecord = `DELETE FROM messages WHERE id IN (SELECT id FROM messages
		WHERE log_id = ?1 AND sequence IS NOT NULL AND sequence > ` + sharedBelow + ` ORDER BY sequence LIMIT ?2)`
	purgeSearch = `DELETE FROM search_rows WHERE key IN (SELECT key FROM search_rows
		WHERE log_id = ?1 AND (sequence = 0 OR sequence > ` + sharedBelow + `) LIMIT ?2)`
	forgetLog = `DELETE FROM search_logs WHERE log_id = ?1 AND NOT EXISTS (SELECT 1 FROM session_logs g
		WHERE g.log_id = ?1)`
	purgeQueue = `DELETE FROM messages WHERE id IN (SELECT id FROM messages
		WHERE log_id = ?1 AND status <> 'completed' AND sequence IS NULL LIMIT ?2)`
	purgeEvents = `DELETE FROM events WHERE session_id = ?1 AND sequence IN (SELECT sequence FROM events
		WHERE session_id = ?1 ORDER BY sequence LIMIT ?2)`
	purgeCalls = `DELETE FROM calls WHERE id IN (SELECT id FROM calls WHERE session_id = ?1 ORDER BY ordinal LIMIT ?2)`
	purgeAsked = `DELETE FROM approvals WHERE id IN (SELECT id FROM approvals WHERE session_id = ?1 LIMIT ?2)`
	purgeLoops = `DELETE FROM loops WHERE id IN (SELECT id FROM loops WHERE session_id = ?1 LIMIT ?2)`
	// A delegation goes with the later one of its sessions: the end of what the other works on for it reads the row.
	purgeSent = `DELETE FROM delegations WHERE from_session_id = ?1
		AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = to_session_id)`
	purgeReceived = `DELETE FROM delegations WHERE to_session_id = ?1
		AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = from_session_id)`
	purgeTurns = `DELETE FROM turns WHERE id IN (SELECT id FROM turns WHERE session_id = ?1 LIMIT ?2)`
)

// purge deletes at most parley.PurgeBatch rows of a deleted session, versions before their messages, and reports
// whether nothing is left.
func (t *txn) purge(sessionID parley.ID) (bool, error) {
	h, err := t.Head(sessionID)
	if err != nil || h == nil {
		return true, err
	}
	if done, err := t.purgeRecord(h.LogID, h.ID); err != nil || !done {
		return false, err
	}
	left := int64(parley.PurgeBatch)
	for _, step := range []struct {
		statement string
		target    parley.ID
	}{{purgeQueue, h.LogID}, {purgeEvents, h.ID}, {purgeCalls, h.ID}, {purgeAsked, h.ID}, {purgeTurns, h.ID},
		{purgeLoops, h.ID}} {
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
	if left, err := t.releaseLogs(h); err != nil || left {
		return false, err
	}
	if _, err := t.exec(forgetLog, h.LogID); err != nil {
		return false, err
	}
	if err := t.buryArtifacts(h.WorkspaceID, "session_id = ?1", h.ID); err != nil {
		return false, err
	}
	for _, statement := range append(purgedWithSession(),
		"DELETE FROM knowledge WHERE id IN (SELECT item_id FROM knowledge_sources WHERE session_id = ?)",
		"DELETE FROM knowledge_sources WHERE item_id IN (SELECT item_id FROM knowledge_sources WHERE session_id = ?)",
		// a transform stays in lineages, without what was said
		"UPDATE transform_inputs SET name = '' WHERE transform_id IN (SELECT id FROM transforms WHERE session_id = ?)",
		"UPDATE transform_outputs SET title = '', schema = NULL"+
			" WHERE transform_id IN (SELECT id FROM transforms WHERE session_id = ?)",
		"UPDATE transforms SET name = '', instructions = '', parameters = '{}', failure = NULL WHERE session_id = ?",
		"DELETE FROM session_logs WHERE session_id = ?", purgeSent, purgeReceived,
		"DELETE FROM heads WHERE session_id = ?", "DELETE FROM sessions WHERE id = ?",
	) {
		if _, err := t.exec(statement, h.ID); err != nil {
			return false, err
		}
	}
	t.drop(h.ID)
	return true, nil
}

// textsOfCalls returns the texts of the calls that purgeCalls is about to delete.
func (t *txn) textsOfCalls(h *transition.Head, limit int64) (keys []textKey, err error) {
	err = t.each(
		`WITH doomed AS (SELECT system_hash, tools_hash, middleware_hash, instruction_hash FROM calls
			WHERE session_id = ?1 ORDER BY ordinal LIMIT ?2)
 SELECT system_hash FROM doomed WHERE system_hash IS NOT NULL UNION SELECT tools_hash FROM doomed
  WHERE tools_hash IS NOT NULL
 UNION SELECT middleware_hash FROM doomed WHERE middleware_hash IS NOT NULL
 UNION SELECT instruction_hash FROM doomed WHERE instruction_hash IS NOT NULL`,
		func(r *row) error {
			keys = append(keys, textKey{h.WorkspaceID, r.hash()})
			return nil
		},
		h.ID,
		limit,
	)
	return keys, err
}

// purgeTexts deletes those texts that no call refers to any more, because they may contain a session's own
// instructions.
func (t *txn) purgeTexts(keys []textKey) error {
	for _, key := range keys {
		gone, err := t.exec(`DELETE FROM call_texts WHERE workspace_id = ?1 AND hash = ?2
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND system_hash = ?2)
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND tools_hash = ?2)
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND middleware_hash = ?2)
 AND NOT EXISTS (SELECT 1 FROM calls WHERE workspace_id = ?1 AND instruction_hash = ?2)`, key.workspaceID, key.hash)
		if err != nil {
			return err
		}
		if gone > 0 { // the next call with this text stores it again
			delete(t.texts, key)
			t.newTexts = slices.DeleteFunc(t.newTexts, func(stored textKey) bool { return stored == key })
		}
	}
	return nil
}

// purgeVersions deletes versions of the oldest remaining messages.
func (t *txn) purgeVersions(logID parley.ID, limit int64) (int64, error) {
	return t.exec(`DELETE FROM versions WHERE (message_id, n) IN (SELECT v.message_id, v.n FROM versions v JOIN
 (SELECT id FROM messages WHERE log_id = ?1 AND sequence IS NOT NULL AND sequence > `+sharedBelow+
		` ORDER BY sequence LIMIT ?2) m ON v.message_id = m.id LIMIT ?2)`, logID, limit)
}

// purgeRecord deletes some unshared messages of a log, with their versions and file uses, and reports whether nothing
// was left.
func (t *txn) purgeRecord(logID, writer parley.ID) (bool, error) {
	gone, err := t.purgeUses(logID, writer)
	if err != nil || gone > 0 {
		return false, err
	}
	if gone, err = t.exec(purgeSearch, logID, parley.PurgeBatch); err != nil || gone > 0 {
		return false, err
	}
	if gone, err = t.purgeVersions(logID, parley.PurgeBatch); err != nil || gone > 0 {
		return false, err
	}
	gone, err = t.exec(purgeRecord, logID, parley.PurgeBatch)
	return gone == 0, err // further messages may have versions
}

// releaseLogs deletes some of a fork's marks and, once none are left, leaves the logs that it shared to the outbox. It
// reports whether marks were left.
func (t *txn) releaseLogs(h *transition.Head) (bool, error) {
	if h.ForkedThrough == nil {
		return false, nil
	}
	gone, err := t.exec(
		"DELETE FROM session_marks WHERE session_id = ?1 AND sequence IN (SELECT sequence FROM session_marks "+
			"WHERE session_id = ?1 LIMIT ?2)",
		h.ID,
		parley.PurgeBatch,
	)
	if err != nil || gone > 0 {
		return true, err
	}
	_, err = t.exec(
		"INSERT INTO outbox (workspace_id, kind, target_id, created_at, due_at) SELECT workspace_id, ?, log_id, ?, ? "+
			"FROM session_logs WHERE session_id = ?",
		transition.PurgeLog{}.Kind(),
		t.now,
		t.now,
		h.ID,
	)
	return false, err
}

// purgeLog deletes what no fork shares of a log whose session is gone, and reports whether nothing is left to do. While
// the session exists, purge does this.
func (t *txn) purgeLog(logID parley.ID) (bool, error) {
	writer, err := t.id("SELECT session_id FROM messages WHERE log_id = ? AND sequence IS NOT NULL LIMIT 1", logID)
	if err == nil && writer.IsZero() {
		_, err = t.exec(forgetLog, logID)
	}
	if err != nil || writer.IsZero() {
		return true, err
	}
	if there, err := t.has("SELECT 1 FROM heads WHERE session_id = ?", writer); err != nil || there {
		return true, err
	}
	return t.purgeRecord(logID, writer)
}
