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

// openCompactions finds compactions to claim: due ones, and those held by this process or by one without a lease.
const openCompactions = `SELECT c.session_id FROM compactions c INDEXED BY compactions_open
	JOIN heads h ON h.session_id = c.session_id
 WHERE c.state IN ('pending', 'running') AND h.deleted_at IS NULL
 AND (c.state = 'pending' AND c.not_before <= ?1 OR c.state = 'running' AND (c.holder = ?2 OR NOT EXISTS (SELECT 1
  FROM processes p WHERE p.id = c.holder AND p.lease_until > ?1)))
 ORDER BY c.not_before, c.session_id LIMIT ?3`

// ClaimCompactions implements store.Compactions.
func (s *Store) ClaimCompactions(
	ctx context.Context,
	processID parley.ID,
	running []parley.ID,
	n int,
) (claims []store.CompactionClaim, err error) {
	var found []parley.ID
	if err := s.read(ctx, func(c *conn) error { // usually there is nothing, so do not disturb the writer
		found = nil
		return c.each(openCompactions, func(r *row) error {
			found = append(found, r.id())
			return nil
		}, parley.Now(), processID, n+len(running))
	}); err != nil || len(found) == 0 {
		return nil, err
	}
	runs := func(id parley.ID) bool { return slices.Contains(running, id) }
	for _, sessionID := range found {
		if len(claims) == n {
			break
		}
		claim, err := transact(ctx, s, func(tx *txn) (*store.CompactionClaim, error) {
			return tx.core.ClaimCompaction(processID, sessionID, runs)
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
