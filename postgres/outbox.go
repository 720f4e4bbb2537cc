package postgres

import (
	"context"
	"errors"

	"parley"
	"parley/internal/transition"
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
 WHERE id = (SELECT id FROM parley.outbox WHERE due_at <= parley.now_ms() ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
 RETURNING id, workspace_id, kind, target_id`

// ApplyOutbox implements parley.OutboxStore.
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
	case transition.DetachProject, transition.DeleteSessions:
		return s.emptyProject(ctx, work)
	case transition.ChildHome:
		return true, alone(ctx, s, work.workspaceID, func(a *attempt) error { return a.tx.BringHome(work.workspaceID, work.target) })
	case transition.WakeSession:
		return true, alone(ctx, s, work.workspaceID, func(a *attempt) error { return a.tx.Wake(work.target) })
	case transition.CancelChild:
		again, err := transact(ctx, s, work.workspaceID, func(a *attempt) (bool, error) { return a.tx.StopChild(work.target) })
		return !again, err
	case transition.TellRoot:
		return true, alone(ctx, s, work.workspaceID, func(a *attempt) error { return a.tx.TellRoot(work.workspaceID, work.target) })
	}
	return false, errUnknownErrand
}

// errUnknownErrand is an errand that a newer program has left, in a rolling upgrade.
var errUnknownErrand = errors.New("postgres: an errand of an unknown kind")

// emptyProject detaches or deletes sessions of a project that is gone, one
// transition each.
func (s *Store) emptyProject(ctx context.Context, work errand) (bool, error) {
	ids, err := every(ctx, s, tenant(work.workspaceID), "SELECT id FROM parley.sessions WHERE workspace_id = $1 AND project_id = $2 AND deleted_at IS NULL LIMIT $3",
		work.workspaceID, work.target, projectBatch)
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

// DeleteProject removes a project; its sessions are left to the outbox.
func (s *Store) DeleteProject(ctx context.Context, workspaceID, id parley.ID, cascade bool) error {
	work := transition.Errand{WorkspaceID: workspaceID, Kind: transition.DetachProject, TargetID: id}
	if cascade {
		work.Kind = transition.DeleteSessions
	}
	found := false
	b := tenant(workspaceID)
	b.read(`WITH gone AS (DELETE FROM parley.projects WHERE workspace_id = $1 AND id = $2 RETURNING id)
 INSERT INTO parley.outbox (workspace_id, kind, target_id, created_at, due_at) SELECT $1, $3, id, now, now FROM gone, parley.now_ms() now RETURNING 1`, func(*row) error {
		found = true
		return nil
	}, work.WorkspaceID, work.TargetID, work.Kind)
	if err := s.send(ctx, b); err != nil {
		return mapError(err)
	}
	if !found {
		return transition.NotFound("project")
	}
	_, err := s.emptyProject(ctx, errand{workspaceID: workspaceID, kind: work.Kind, target: id}) // the first of them at once
	return err
}

// The statements of a purge; each takes the workspace, the session (its log for
// messages) and a bound. Messages of the record are found by sequence, the
// others (queued, removed) by their status.
const (
	purgeVersions = `DELETE FROM parley.versions v USING (SELECT v.message_id, v.n FROM (SELECT id FROM parley.messages
  WHERE workspace_id = $1 AND log_id = $2 AND sequence IS NOT NULL ORDER BY sequence LIMIT $3) m
  JOIN parley.versions v ON v.workspace_id = $1 AND v.message_id = m.id LIMIT $3) d WHERE v.workspace_id = $1 AND v.message_id = d.message_id AND v.n = d.n`
	purgeRecord = `DELETE FROM parley.messages WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.messages
  WHERE workspace_id = $1 AND log_id = $2 AND sequence IS NOT NULL ORDER BY sequence LIMIT $3)`
	purgeQueue = `DELETE FROM parley.messages WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.messages
  WHERE workspace_id = $1 AND log_id = $2 AND status <> 'completed' LIMIT $3)`
	purgeEvents = `DELETE FROM parley.events WHERE workspace_id = $1 AND session_id = $2 AND sequence IN (SELECT sequence FROM parley.events
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY sequence LIMIT $3)`
	purgeCalls = `DELETE FROM parley.calls WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.calls
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY ordinal LIMIT $3) RETURNING system_hash, tools_hash, middleware_hash`
	purgeLoops = `DELETE FROM parley.loops WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.loops
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY ordinal LIMIT $3)`
	purgeTurns = `DELETE FROM parley.turns WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.turns
  WHERE workspace_id = $1 AND session_id = $2 ORDER BY ordinal LIMIT $3)`
	purgeAsked = `DELETE FROM parley.approvals WHERE workspace_id = $1 AND id IN (SELECT id FROM parley.approvals
  WHERE workspace_id = $1 AND session_id = $2 LIMIT $3)`
	purgeTexts = `DELETE FROM parley.call_texts t WHERE t.workspace_id = $1 AND t.hash = ANY($2)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.system_hash = t.hash)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.tools_hash = t.hash)
 AND NOT EXISTS (SELECT 1 FROM parley.calls c WHERE c.workspace_id = $1 AND c.middleware_hash = t.hash)`
)

// purge deletes at most parley.PurgeBatch rows of a tombstoned session, versions
// before their messages, and reports whether nothing is left.
func (s *Store) purge(ctx context.Context, workspaceID, sessionID parley.ID) (bool, error) {
	logID, err := every(ctx, s, tenant(workspaceID), "SELECT log_id FROM parley.heads WHERE session_id = $2 AND workspace_id = $1 AND deleted_at IS NOT NULL", workspaceID, sessionID)
	if err != nil || len(logID) == 0 {
		return true, err
	}
	for _, step := range []struct {
		statement string
		target    parley.ID
	}{{purgeVersions, logID[0]}, {purgeRecord, logID[0]}, {purgeQueue, logID[0]}, {purgeEvents, sessionID}, {purgeAsked, sessionID}, {purgeTurns, sessionID}, {purgeLoops, sessionID}} {
		var gone int64
		b := tenant(workspaceID)
		b.counted(&gone, step.statement, workspaceID, step.target, parley.PurgeBatch)
		if err := s.send(ctx, b); err != nil || gone > 0 && (gone >= parley.PurgeBatch || step.statement == purgeVersions || step.statement == purgeRecord) {
			return false, err // the next messages may have versions
		}
	}
	if used, err := s.purgeUses(ctx, workspaceID, sessionID); err != nil || used >= parley.PurgeBatch {
		return false, err
	}
	gone, err := s.purgeCalls(ctx, workspaceID, sessionID)
	if err != nil || gone >= parley.PurgeBatch {
		return false, err
	}
	b := tenant(workspaceID)
	for _, statement := range []string{"parked WHERE workspace_id = $1 AND session_id = $2", "compactions WHERE workspace_id = $1 AND session_id = $2", "outside WHERE workspace_id = $1 AND session_id = $2",
		"shares WHERE workspace_id = $1 AND session_id = $2", "shares WHERE workspace_id = $1 AND reader_id = $2", "budgets WHERE workspace_id = $1 AND subject_id = $2", "rates WHERE workspace_id = $1 AND subject_id = $2"} {
		b.write("DELETE FROM parley."+statement, workspaceID, sessionID)
	}
	b.write("DELETE FROM parley.sessions WHERE workspace_id = $1 AND id = $2", workspaceID, sessionID)
	b.write("DELETE FROM parley.heads WHERE workspace_id = $1 AND session_id = $2", workspaceID, sessionID)
	return true, s.send(ctx, b)
}

// purgeCalls deletes calls of a session and, in the same transaction, those of
// their texts that no call names any more: they may hold its own instructions.
func (s *Store) purgeCalls(ctx context.Context, workspaceID, sessionID parley.ID) (gone int, err error) {
	err = s.trying(ctx, func() error {
		gone = 0
		return s.together(ctx, func(t *conversation) error {
			texts := map[textKey]struct{}{}
			b := tenant(workspaceID)
			b.read(purgeCalls, func(r *row) error {
				gone++
				for range 3 {
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
