package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Statements of a purge; each takes the workspace, the session (its log for messages) and a bound. Messages of the
// record are found by sequence, others (queued, removed) by status. What forks share of a log stays, because they read
// it up to a sequence.
const (
	sharedBelow = "coalesce((SELECT max(g.through) FROM parley.session_logs g " +
		"WHERE g.workspace_id = $1 AND g.log_id = $2), 0)"
	purgeVersions = `DELETE FROM parley.versions v USING (SELECT v.message_id, v.n FROM (SELECT id FROM parley.messages
  WHERE workspace_id = $1 AND log_id = $2 AND sequence IS NOT NULL AND sequence > ` + sharedBelow +
		` ORDER BY sequence LIMIT $3) m
  JOIN parley.versions v ON v.workspace_id = $1 AND v.message_id = m.id LIMIT $3) d
  	WHERE v.workspace_id = $1 AND v.message_id = d.message_id AND v.n = d.n`
	purgeRecord = `DELETE FROM parley.messages WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.messages
  WHERE workspace_id = $1 AND log_id = $2 AND sequence IS NOT NULL AND sequence > ` + sharedBelow +
		` ORDER BY sequence LIMIT $3)`
	purgeSearch = `DELETE FROM parley.search_rows WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.search_rows
  WHERE workspace_id = $1 AND log_id = $2 AND (sequence = 0 OR sequence > ` + sharedBelow + `) LIMIT $3)`
	forgetLog = `DELETE FROM parley.search_logs WHERE workspace_id = $1 AND log_id = $2
  AND NOT EXISTS (SELECT 1 FROM parley.session_logs g WHERE g.workspace_id = $1 AND g.log_id = $2)`
	purgeQueue = `DELETE FROM parley.messages WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.messages
  WHERE workspace_id = $1 AND log_id = $2 AND status <> 'completed' AND sequence IS NULL LIMIT $3)`
	purgeEvents = `DELETE FROM parley.events WHERE workspace_id = $1 AND session_id = $2
		AND sequence IN (SELECT sequence FROM parley.events
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY sequence LIMIT $3)`
	purgeCalls = `DELETE FROM parley.calls WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.calls
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY ordinal LIMIT $3)
  	RETURNING system_hash, tools_hash, middleware_hash, instruction_hash`
	purgeLoops = `DELETE FROM parley.loops WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.loops
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY ordinal LIMIT $3)`
	purgeTurns = `DELETE FROM parley.turns WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.turns
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY ordinal LIMIT $3)`
	purgeAsked = `DELETE FROM parley.approvals WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.approvals
  WHERE workspace_id = $1 AND session_id = $2 LIMIT $3)`
	purgeMarks = `DELETE FROM parley.session_marks WHERE workspace_id = $1 AND session_id = $2
		AND sequence IN (SELECT sequence FROM parley.session_marks
  WHERE workspace_id = $1 AND session_id = $2 LIMIT $3)`
	// separate errands check the logs that a fork shared
	releaseLogs = `WITH gone AS (DELETE FROM parley.session_logs WHERE workspace_id = $1 AND session_id = $2
		RETURNING log_id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, gone.log_id, now, now
  FROM gone, parley.now_ms() now`
	purgeTexts = `DELETE FROM parley.call_texts t WHERE t.workspace_id = $1 AND t.hash = ANY($2)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.system_hash = t.hash)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.tools_hash = t.hash)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.middleware_hash = t.hash)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.instruction_hash = t.hash)`
)

// purge deletes at most parley.PurgeBatch rows of a deleted session, versions before their messages, and reports
// whether nothing is left.
func (s *Store) purge(ctx context.Context, workspaceID, sessionID parley.ID) (bool, error) {
	logID, err := every(
		ctx,
		s,
		tenant(workspaceID),
		"SELECT log_id FROM parley.heads WHERE session_id = $2 AND workspace_id = $1 AND deleted_at IS NOT NULL",
		workspaceID,
		sessionID,
	)
	if err != nil || len(logID) == 0 {
		return true, err
	}
	if done, err := s.purgeRecord(ctx, workspaceID, logID[0], sessionID); err != nil || !done {
		return false, err
	}
	for _, step := range []struct {
		statement string
		target    parley.ID
	}{{purgeQueue, logID[0]}, {purgeMarks, sessionID}, {purgeEvents, sessionID}, {purgeAsked, sessionID},
		{purgeTurns, sessionID}, {purgeLoops, sessionID}} {
		var gone int64
		b := tenant(workspaceID)
		b.counted(&gone, step.statement, workspaceID, step.target, parley.PurgeBatch)
		if err := s.send(ctx, b); err != nil || gone >= parley.PurgeBatch {
			return false, err
		}
	}
	gone, err := s.purgeCalls(ctx, workspaceID, sessionID)
	if err != nil || gone >= parley.PurgeBatch {
		return false, err
	}
	b := tenant(workspaceID)
	b.write(releaseLogs, workspaceID, sessionID, transition.PurgeLog{}.Kind())
	const fromHere = "(SELECT item_id FROM parley.knowledge_sources WHERE workspace_id = $1 AND session_id = $2)"
	for _, statement := range []string{"knowledge WHERE workspace_id = $1 AND id IN " + fromHere,
		"knowledge_sources WHERE workspace_id = $1 AND item_id IN " + fromHere,
		// a delegation goes with the later one of its sessions: the end of what the other works on for it reads the row
		"delegations d WHERE workspace_id = $1 AND from_session_id = $2 AND NOT EXISTS (SELECT FROM parley.sessions s" +
			" WHERE s.workspace_id = $1 AND s.id = d.to_session_id)",
		"delegations d WHERE workspace_id = $1 AND to_session_id = $2 AND NOT EXISTS (SELECT FROM parley.sessions s" +
			" WHERE s.workspace_id = $1 AND s.id = d.from_session_id)"} {
		b.write("DELETE FROM parley."+statement, workspaceID, sessionID)
	}
	// A transform stays in lineages, without what was said.
	const ofSession = " WHERE workspace_id = $1 AND transform_id IN" +
		" (SELECT id FROM parley.transforms WHERE workspace_id = $1 AND session_id = $2)"
	b.write("UPDATE parley.transform_inputs SET name = ''"+ofSession, workspaceID, sessionID)
	b.write("UPDATE parley.transform_outputs SET title = '', schema = NULL"+ofSession, workspaceID, sessionID)
	b.write("UPDATE parley.transforms SET name = '', instructions = '', parameters = '{}', failure = NULL"+
		" WHERE workspace_id = $1 AND session_id = $2", workspaceID, sessionID)
	for _, statement := range purgedWithSession() {
		b.write(statement, workspaceID, sessionID)
	}
	b.buryArtifacts("session_id = $2", workspaceID, sessionID)
	b.write(forgetLog, workspaceID, logID[0])
	b.write("DELETE FROM parley.sessions WHERE workspace_id = $1 AND id = $2", workspaceID, sessionID)
	b.write("DELETE FROM parley.heads WHERE workspace_id = $1 AND session_id = $2", workspaceID, sessionID)
	return true, s.send(ctx, b)
}

// purgeRecord deletes some unshared messages of a log, with their versions and file uses, and reports whether nothing
// was left.
func (s *Store) purgeRecord(ctx context.Context, workspaceID, logID, writer parley.ID) (bool, error) {
	if used, err := s.purgeUses(ctx, workspaceID, logID, writer); err != nil || used > 0 {
		return false, err
	}
	for _, statement := range []string{purgeSearch, purgeVersions, purgeRecord} {
		var gone int64
		b := tenant(workspaceID)
		if statement == purgeSearch {
			b.write(lockLogs, []int64{lockOfLog(logID)})
		}
		b.counted(&gone, statement, workspaceID, logID, parley.PurgeBatch)
		if err := s.send(ctx, b); err != nil || gone > 0 {
			return false, err // further messages may have versions
		}
	}
	return true, nil
}

// purgeLog deletes what no fork shares of a log whose session is gone, and reports whether nothing is left to do. While
// the session exists, its own purge does this; a purge under way may have looked before the fork went, so purgeLog
// waits for it.
func (s *Store) purgeLog(ctx context.Context, workspaceID, logID parley.ID) (done bool, err error) {
	var writer parley.ID
	there, deleted := false, false
	err = s.read(ctx, func() *batch {
		writer, there, deleted = parley.ID{}, false, false
		b := tenant(workspaceID)
		b.read(`SELECT m.session_id, h.session_id IS NOT NULL, h.deleted_at IS NOT NULL FROM
 (SELECT session_id FROM parley.messages WHERE workspace_id = $1 AND log_id = $2 AND sequence IS NOT NULL LIMIT 1) m
 LEFT JOIN parley.heads h ON h.workspace_id = $1 AND h.session_id = m.session_id`, func(r *row) error {
			writer, there, deleted = r.id(), r.bool(), r.bool()
			return nil
		}, workspaceID, logID)
		return b
	})
	switch {
	case err != nil:
		return true, err
	case writer.IsZero():
		b := tenant(workspaceID)
		b.write(forgetLog, workspaceID, logID)
		return true, s.send(ctx, b)
	case there:
		return !deleted, nil
	}
	return s.purgeRecord(ctx, workspaceID, logID, writer)
}

// purgeCalls deletes calls of a session and, in the same transaction, those of their texts that no call refers to any
// more, because they may contain the session's own instructions.
func (s *Store) purgeCalls(ctx context.Context, workspaceID, sessionID parley.ID) (gone int, err error) {
	err = s.trying(ctx, func() error {
		gone = 0
		return s.together(ctx, func(t *conversation) error {
			texts := map[textKey]struct{}{}
			b := tenant(workspaceID)
			b.read(purgeCalls, func(r *row) error {
				gone++
				for range 4 {
					if hash := r.hash(); !hash.IsZero() {
						texts[textKey{workspaceID, hash}] = struct{}{}
					}
				}
				return nil
			}, workspaceID, sessionID, parley.PurgeBatch)
			if err := t.send(b); err != nil {
				return err
			}
			b = tenant(workspaceID)
			if len(texts) > 0 {
				keys, hashes := make([]textKey, 0, len(texts)), make([][]byte, 0, len(texts))
				for key := range texts {
					keys, hashes = append(keys, key), append(hashes, key.hash[:])
				}
				b.write("SELECT count(pg_advisory_xact_lock(lock)) FROM unnest($1::bigint[]) lock", locksOf(keys))
				b.write(purgeTexts, workspaceID, hashes)
			}
			return t.commit(b)
		})
	}, unsent)
	return gone, err
}
