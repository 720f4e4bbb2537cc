package sqlite

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
	return transact(ctx, s, func(tx *txn) (parley.Compaction, error) {
		return tx.core.RequestCompaction(scope, sessionID, wanted)
	})
}

// openCompactions finds compactions to claim: due ones, and those held by this process or by one without a lease. Those
// that a turn waits for come first, and the workspaces take turns: what a workspace has under way counts.
const openCompactions = `SELECT o.session_id, o.workspace_id, o.awaited FROM (
 SELECT c.session_id, c.workspace_id, c.awaited, c.state, c.holder, c.not_before, row_number() OVER (
   PARTITION BY c.workspace_id ORDER BY c.state = 'running' DESC, c.awaited DESC, c.not_before, c.session_id) AS place
 FROM compactions c INDEXED BY compactions_open
 WHERE c.state IN ('pending', 'running') AND (c.state = 'running' OR c.not_before <= ?1)) o
 JOIN heads h ON h.session_id = o.session_id
 WHERE h.deleted_at IS NULL AND (o.state = 'pending' OR o.holder = ?2 OR NOT EXISTS (SELECT 1
  FROM processes p WHERE p.id = o.holder AND p.lease_until > ?1))
 ORDER BY o.awaited DESC, o.place, o.not_before, o.session_id LIMIT ?3`

// ClaimCompactions implements store.Compactions.
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
	if err := s.read(ctx, func(c *conn) error { // usually there is nothing, so do not disturb the writer
		found = nil
		return c.each(openCompactions, func(r *row) error {
			found = append(found, located{r.id(), r.id(), r.bool()})
			return nil
		}, parley.Now(), processID, transition.MaxCompactionClaims+len(running))
	}); err != nil || len(found) == 0 {
		return nil, err
	}
	runs := func(id parley.ID) bool { return slices.Contains(running, id) }
	for _, at := range found {
		mode := store.CompactionMode(at.awaited)
		if !occupancy.Admits(at.workspace, mode) {
			continue
		}
		claim, err := transact(ctx, s, func(tx *txn) (*store.CompactionClaim, error) {
			return tx.core.ClaimCompaction(processID, at.session, runs)
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
	return s.write(ctx, func(tx *txn) error { return tx.core.BeginCompaction(fence, begin) })
}

// SettleCompaction implements store.Compactions.
func (s *Store) SettleCompaction(
	ctx context.Context,
	fence store.CompactionFence,
	settle store.CompactionSettle,
) (parley.Compaction, error) {
	return transact(ctx, s, func(tx *txn) (parley.Compaction, error) { return tx.core.SettleCompaction(fence, settle) })
}

// ReleaseCompaction implements store.Compactions.
func (s *Store) ReleaseCompaction(ctx context.Context, fence store.CompactionFence) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.ReleaseCompaction(fence) })
}

// EnterSummary implements store.Compactions.
func (s *Store) EnterSummary(ctx context.Context, fence store.Fence) (*parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (*parley.Message, error) { return tx.core.EnterSummary(fence) })
}

// Compaction implements store.Compactions.
func (s *Store) Compaction(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
) (compaction parley.Compaction, err error) {
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, sessionID); err != nil {
			return err
		}
		found, err := readCompaction(c, scope.WorkspaceID, sessionID)
		if err != nil {
			return err
		}
		compaction = parley.Compaction{
			WorkspaceID: scope.WorkspaceID,
			SessionID:   sessionID,
			State:       parley.CompactionNone,
		}
		if found != nil {
			compaction = *found
		}
		return nil
	})
	return compaction, err
}

func readCompaction(c *conn, workspaceID, sessionID parley.ID) (found *parley.Compaction, err error) {
	_, err = c.one(
		"SELECT "+compactionColumns+" FROM compactions c WHERE c.session_id = ? AND c.workspace_id = ?",
		func(r *row) error {
			found = new(parley.Compaction)
			return fillCompaction(r, found)
		},
		sessionID,
		workspaceID,
	)
	return found, err
}

// Compaction implements transition.Rows.
func (t *txn) Compaction(h *transition.Head) (*parley.Compaction, error) {
	return readCompaction(t.conn, h.WorkspaceID, h.ID)
}

// OpenCall implements transition.Rows.
func (t *txn) OpenCall(h *transition.Head, callID parley.ID) (open *transition.OpenCall, err error) {
	_, err = t.one(
		"SELECT id, reserved_tokens, reserved_cost, reserved_from, expected FROM calls "+
			"WHERE id = ? AND session_id = ? AND outcome = 'open'",
		func(r *row) error {
			call := scanOpenCall(r)
			open = &call
			return nil
		},
		callID,
		h.ID,
	)
	return open, err
}

// PutCompaction implements transition.Writer.
func (w changes) PutCompaction(h *transition.Head, c *parley.Compaction) error {
	c.WorkspaceID, c.SessionID = h.WorkspaceID, h.ID
	args, err := insertCompactionArgs(nil, c)
	if err != nil {
		return err
	}
	_, err = w.exec(
		"INSERT INTO compactions ("+insertCompactionColumns+") VALUES ("+insertCompactionPlaces+
			") ON CONFLICT (session_id) DO UPDATE SET "+insertCompactionExcluded,
		args...)
	return err
}

// ReviseSummary implements store.Summaries.
func (s *Store) ReviseSummary(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	revision store.SummaryRevision,
) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) {
		return tx.core.ReviseSummary(scope, sessionID, revision)
	})
}
