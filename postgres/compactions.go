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
	sessionID parley.ID,
	wanted store.NewCompaction,
) (parley.Compaction, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.Compaction, error) {
		return a.tx.RequestCompaction(scope, sessionID, wanted)
	})
}

// openCompactions finds compactions to claim: due ones, and those held by this process or by one without a lease. Those
// that a turn waits for come first, and the workspaces take turns: what a workspace has under way counts.
const openCompactions = `SELECT o.session_id, o.workspace_id, o.awaited FROM (
 SELECT c.session_id, c.workspace_id, c.awaited, c.state, c.holder, c.not_before, row_number() OVER (
   PARTITION BY c.workspace_id ORDER BY c.state = 'running' DESC, c.awaited DESC, c.not_before, c.session_id) AS place
 FROM parley.compactions c
 WHERE c.state IN ('pending', 'running') AND (c.state = 'running' OR c.not_before <= (SELECT parley.now_ms()))) o
 JOIN parley.heads h ON h.session_id = o.session_id AND h.workspace_id = o.workspace_id
 WHERE h.deleted_at IS NULL AND (o.state = 'pending' OR o.holder = $1 OR NOT EXISTS (SELECT 1
  FROM parley.processes p WHERE p.id = o.holder AND p.lease_until > (SELECT parley.now_ms())))
 ORDER BY o.awaited DESC, o.place, o.not_before, o.session_id LIMIT $2`

// ClaimCompactions implements store.Compactions. Several processes may look at once: each compaction goes to one of
// them.
func (s *Store) ClaimCompactions(
	ctx context.Context,
	processID parley.ID,
	running []parley.ID,
	occupancy store.Occupancy,
) (claims []store.CompactionClaim, err error) {
	type located struct {
		session, workspace parley.ID
		awaited            bool
	}
	var found []located
	if err := s.read(ctx, func() *batch {
		found = nil
		b := system()
		b.read(openCompactions, func(r *row) error {
			found = append(found, located{r.id(), r.id(), r.bool()})
			return nil
		}, processID, transition.MaxCompactionClaims+len(running))
		return b
	}); err != nil {
		return nil, mapError(err)
	}
	runs := func(id parley.ID) bool { return slices.Contains(running, id) }
	for _, at := range found {
		mode := store.CompactionMode(at.awaited)
		if !occupancy.Admits(at.workspace, mode) {
			continue
		}
		claim, err := transact(ctx, s, at.workspace, func(a *attempt) (*store.CompactionClaim, error) {
			return a.tx.ClaimCompaction(processID, at.session, runs)
		})
		if err != nil {
			return claims, err
		}
		if claim != nil {
			occupancy.Take(at.workspace, mode)
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
		"SELECT c.id, c.reserved_tokens, c.reserved_cost, c.reserved_from, c.expected FROM parley.calls c "+
			"WHERE c.workspace_id = $1 AND c.id = $2 AND c.session_id = $3 AND c.outcome = 'open'",
		h.WorkspaceID,
		callID,
		h.ID,
	)
}

// PutCompaction implements transition.Writer.
func (w *changes) PutCompaction(h *transition.Head, c *parley.Compaction) error {
	c.WorkspaceID, c.SessionID = h.WorkspaceID, h.ID
	args, err := insertCompactionArgs(nil, c)
	if err != nil {
		return err
	}
	w.write(
		"INSERT INTO parley.compactions ("+insertCompactionColumns+") VALUES ("+insertCompactionPlaces+
			") ON CONFLICT (workspace_id, session_id) DO UPDATE SET "+insertCompactionExcluded,
		args...)
	return nil
}

// ReviseSummary implements store.Summaries.
func (s *Store) ReviseSummary(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	revision store.SummaryRevision,
) (parley.Message, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.Message, error) {
		return a.tx.ReviseSummary(scope, sessionID, revision)
	})
}
