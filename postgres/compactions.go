package postgres

import (
	"context"
	"slices"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// RequestCompaction implements store.Compactions.
func (s *Store) RequestCompaction(
	ctx context.Context,
	scope store.Scope,
	sessionID, id parley.ID,
	reason parley.CompactionReason,
) (parley.Compaction, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.Compaction, error) {
		return a.tx.RequestCompaction(scope, sessionID, id, reason)
	})
}

// openCompactions finds what may be taken: it is due, or its holder is this very
// process or none with a lease.
const openCompactions = `SELECT c.session_id, c.workspace_id FROM parley.compactions c
 JOIN parley.heads h ON h.session_id = c.session_id AND h.workspace_id = c.workspace_id
 WHERE c.state IN ('pending', 'running') AND h.deleted_at IS NULL
 AND (c.state = 'pending' AND c.not_before <= (SELECT parley.now_ms()) OR c.state = 'running' AND (c.holder = $1
  OR NOT EXISTS (SELECT 1 FROM parley.processes p WHERE p.id = c.holder AND p.lease_until > (SELECT parley.now_ms()))))
 ORDER BY c.not_before, c.session_id LIMIT $2`

// ClaimCompactions implements store.Compactions. Several processes may look at
// once: each compaction is taken by one of them.
func (s *Store) ClaimCompactions(
	ctx context.Context,
	processID parley.ID,
	running []parley.ID,
	n int,
) (claims []store.CompactionClaim, err error) {
	type place struct{ session, workspace parley.ID }
	var found []place
	if err := s.read(ctx, func() *batch {
		found = nil
		b := system()
		b.read(openCompactions, func(r *row) error {
			found = append(found, place{r.id(), r.id()})
			return nil
		}, processID, n+len(running))
		return b
	}); err != nil {
		return nil, mapError(err)
	}
	runs := func(id parley.ID) bool { return slices.Contains(running, id) }
	for _, at := range found {
		if len(claims) == n {
			break
		}
		claim, err := transact(ctx, s, at.workspace, func(a *attempt) (*store.CompactionClaim, error) {
			return a.tx.ClaimCompaction(processID, at.session, runs)
		})
		if err != nil {
			return claims, err
		}
		if claim != nil {
			claims = append(claims, *claim)
		}
	}
	return claims, nil
}

// BeginCompaction implements store.Compactions.
func (s *Store) BeginCompaction(ctx context.Context, fence store.CompactionFence, begin store.CompactionBegin) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.BeginCompaction(fence, begin) })
}

// SettleCompaction implements store.Compactions.
func (s *Store) SettleCompaction(
	ctx context.Context,
	fence store.CompactionFence,
	settle store.CompactionSettle,
) (parley.Compaction, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (parley.Compaction, error) { return a.tx.SettleCompaction(fence, settle) },
	)
}

// ReleaseCompaction implements store.Compactions.
func (s *Store) ReleaseCompaction(ctx context.Context, fence store.CompactionFence) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.ReleaseCompaction(fence) })
}

// EnterSummary implements store.Compactions.
func (s *Store) EnterSummary(ctx context.Context, fence store.Fence) (*parley.Message, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (*parley.Message, error) { return a.tx.EnterSummary(fence) },
	)
}

// compactionColumns reads "c".
const compactionColumns = `c.id, c.workspace_id, c.session_id, c.state, c.reason, c.attempt, c.holder, c.epoch,
	c.covers_from, c.covers_through, c.absorbs_id, c.call_id, c.message_id,
 c.error, c.not_before, c.rests_until, c.created_at, c.updated_at, c.finished_at`

func scanCompaction(r *row) (parley.Compaction, error) {
	c := parley.Compaction{
		ID:            r.id(),
		WorkspaceID:   r.id(),
		SessionID:     r.id(),
		State:         parley.CompactionState(r.text()),
		Reason:        parley.CompactionReason(r.text()),
		Attempt:       r.int(),
		Holder:        r.id(),
		Epoch:         r.int64(),
		CoversFrom:    r.int64(),
		CoversThrough: r.int64(),
		AbsorbsID:     r.id(),
		CallID:        r.id(),
		MessageID:     r.id(),
	}
	failure := r.text()
	c.NotBefore, c.RestsUntil, c.CreatedAt, c.UpdatedAt, c.FinishedAt = r.time(), r.int64(), r.time(),
		r.time(), r.time()
	if failure == "" {
		return c, nil
	}
	c.Error = &parley.Failure{}
	return c, decode("error", failure, c.Error)
}

const compactionOf = "SELECT " + compactionColumns +
	" FROM parley.compactions c WHERE c.workspace_id = $1 AND c.session_id = $2"

// Compaction implements store.Compactions.
func (s *Store) Compaction(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
) (compaction parley.Compaction, err error) {
	err = s.page(ctx, scope, sessionID, func(b *batch) {
		compaction = parley.Compaction{
			WorkspaceID: scope.WorkspaceID,
			SessionID:   sessionID,
			State:       parley.CompactionNone,
		}
		b.read(compactionOf, func(r *row) (err error) {
			compaction, err = scanCompaction(r)
			return err
		}, scope.WorkspaceID, sessionID)
	})
	return compaction, err
}

// Compaction implements transition.Rows.
func (a *attempt) Compaction(h *transition.Head) (*parley.Compaction, error) {
	return first(a, scanCompaction, compactionOf, h.WorkspaceID, h.ID)
}

// OpenCall implements transition.Rows.
func (a *attempt) OpenCall(h *transition.Head, callID parley.ID) (*transition.OpenCall, error) {
	if callID.IsZero() {
		return nil, nil
	}
	return first(
		a,
		func(r *row) (transition.OpenCall, error) { return scanOpenCall(r), nil },
		"SELECT c.id, c.reserved_tokens, c.reserved_cost, c.reserved_from FROM parley.calls c "+
			"WHERE c.workspace_id = $1 AND c.id = $2 AND c.session_id = $3 AND c.outcome = 'open'",
		h.WorkspaceID,
		callID,
		h.ID,
	)
}

// compaction writes what a transition changed of a session's compaction.
func (b *batch) compaction(h *transition.Head) error {
	c := h.Changes.Compaction
	if c == nil {
		return nil
	}
	failure, err := encodeMaybe(c.Error)
	if err != nil {
		return err
	}
	b.write(
		`INSERT INTO parley.compactions (session_id, workspace_id, id, state, reason, attempt, holder, epoch,
			covers_from, covers_through, absorbs_id, call_id, message_id,
 error, not_before, rests_until, created_at, updated_at, finished_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
 ON CONFLICT (workspace_id, session_id) DO UPDATE SET id = excluded.id, state = excluded.state,
  reason = excluded.reason, attempt = excluded.attempt, holder = excluded.holder,
 epoch = excluded.epoch, covers_from = excluded.covers_from, covers_through = excluded.covers_through,
  absorbs_id = excluded.absorbs_id, call_id = excluded.call_id,
 message_id = excluded.message_id, error = excluded.error, not_before = excluded.not_before,
  rests_until = excluded.rests_until, created_at = excluded.created_at,
 updated_at = excluded.updated_at, finished_at = excluded.finished_at`,
		h.ID,
		h.WorkspaceID,
		c.ID,
		string(c.State),
		string(c.Reason),
		c.Attempt,
		c.Holder,
		c.Epoch,
		c.CoversFrom,
		c.CoversThrough,
		c.AbsorbsID,
		c.CallID,
		c.MessageID,
		failure,
		int64(c.NotBefore),
		c.RestsUntil,
		c.CreatedAt,
		c.UpdatedAt,
		c.FinishedAt,
	)
	return nil
}
