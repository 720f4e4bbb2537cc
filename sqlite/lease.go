package sqlite

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// sweepBatch bounds the sessions of one transaction of a sweep.
const sweepBatch = 100

// noExpiry is the result of NextExpiry without any lease.
const noExpiry = time.Hour

// RegisterProcess implements store.Leases.
func (s *Store) RegisterProcess(ctx context.Context, process store.Process, lease time.Duration) error {
	return s.write(ctx, func(tx *txn) error {
		_, err := tx.exec("INSERT INTO processes (id, name, slots, started_at, lease_until) VALUES (?, ?, ?, ?, ?)",
			process.ID, process.Name, process.Slots, tx.now, tx.now+parley.Time(lease.Milliseconds()))
		return err
	})
}

// RenewLease implements store.Leases. It overtakes all waiting transitions.
func (s *Store) RenewLease(ctx context.Context, processID parley.ID, lease time.Duration) ([]parley.ID, error) {
	answer := new([]parley.ID)
	err := s.writeUrgent(ctx, func(tx *txn) error {
		*answer = nil
		known, err := tx.MayClaim(processID)
		if err != nil {
			return err
		}
		if !known {
			return parley.Errorf(parley.CodeFenced, "this process has lost its lease")
		}
		if _, err := tx.exec(
			"UPDATE processes SET lease_until = ? WHERE id = ?",
			tx.now+parley.Time(lease.Milliseconds()),
			processID,
		); err != nil {
			return err
		}
		return tx.each(
			"SELECT cancel_turn FROM heads WHERE holder = ? AND cancel_turn IS NOT NULL",
			func(r *row) error {
				*answer = append(*answer, r.id())
				return nil
			},
			processID,
		)
	})
	if err != nil {
		return nil, err
	}
	return *answer, nil
}

// ReleaseProcess implements store.Leases.
func (s *Store) ReleaseProcess(ctx context.Context, processID parley.ID) error {
	return s.write(ctx, func(tx *txn) error {
		_, err := tx.execProcesses("DELETE FROM processes WHERE id = ?", processID)
		return err
	})
}

// HeldTurns implements store.Leases.
func (s *Store) HeldTurns(ctx context.Context, processID parley.ID) (held []store.Fence, err error) {
	err = s.read(ctx, func(c *conn) error {
		held = nil
		return c.each(
			"SELECT workspace_id, session_id, turn_id, epoch FROM heads WHERE holder = ? AND deleted_at IS NULL",
			func(r *row) error {
				held = append(
					held,
					store.Fence{WorkspaceID: r.id(), SessionID: r.id(), TurnID: r.id(), Epoch: r.int64()},
				)
				return nil
			},
			processID,
		)
	})
	return held, err
}

// NextExpiry implements store.Leases.
func (s *Store) NextExpiry(ctx context.Context) (time.Duration, error) {
	left := noExpiry
	err := s.read(ctx, func(c *conn) error {
		_, err := c.one("SELECT lease_until FROM processes ORDER BY lease_until LIMIT 1", func(r *row) error {
			left = time.Duration(r.int64()-int64(parley.Now())) * time.Millisecond
			return nil
		})
		return err
	})
	return left, err
}

// Sweep implements store.Leases.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	total := 0
	for {
		done, err := transact(ctx, s, func(tx *txn) (int, error) {
			if err := tx.died("lease_until <= ?", tx.now); err != nil {
				return 0, err
			}
			if err := tx.catchUp(); err != nil {
				return 0, err
			}
			return tx.sweep()
		})
		if total += done; err != nil {
			return total, err
		}
		if done < sweepBatch {
			break
		}
	}
	judged, err := s.judge(ctx)
	return total + judged, err
}

// abandonClaims releases all claims at Open: the file lock proves that their processes are dead.
func (s *Store) abandonClaims(ctx context.Context) error {
	for {
		done, err := transact(ctx, s, func(tx *txn) (int, error) {
			if known, err := tx.has("SELECT 1 FROM processes LIMIT 1"); err != nil {
				return 0, err
			} else if known {
				if err := tx.died("true"); err != nil {
					return 0, err
				}
			}
			return tx.sweep()
		})
		if err != nil {
			return err
		}
		if done < sweepBatch {
			break
		}
	}
	_, err := s.judge(ctx)
	return err
}

// sweep takes over claims of unknown processes, repairs unfinished turns that have no holder, wait for nothing and are
// hidden from claimers, and expires approvals and open messages of outside agents.
func (t *txn) sweep() (int, error) {
	type orphan struct{ session, holder parley.ID }
	var orphans []orphan
	if err := t.each(`SELECT session_id, holder FROM heads WHERE holder IS NOT NULL AND deleted_at IS NULL
 AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.id = heads.holder) LIMIT ?`, func(r *row) error {
		orphans = append(orphans, orphan{r.id(), r.id()})
		return nil
	}, sweepBatch); err != nil {
		return 0, err
	}
	var lost []parley.ID
	if err := t.each(
		`SELECT h.session_id FROM heads h WHERE h.turn_id IS NOT NULL AND h.holder IS NULL
			AND h.turn_status <> 'waiting' AND h.deleted_at IS NULL
 AND NOT EXISTS (SELECT 1 FROM ready r WHERE r.session_id = h.session_id) LIMIT ?`,
		func(r *row) error {
			lost = append(lost, r.id())
			return nil
		},
		sweepBatch-len(orphans),
	); err != nil {
		return 0, err
	}
	for _, o := range orphans {
		if _, err := t.core.TakeOver(o.session, o.holder); err != nil {
			return 0, err
		}
	}
	for _, id := range lost {
		if _, err := t.core.Repair(id); err != nil {
			return 0, err
		}
	}
	expired, err := t.expire(sweepBatch - len(orphans) - len(lost))
	if err != nil {
		return 0, err
	}
	silent, err := t.expireOutside(sweepBatch - len(orphans) - len(lost) - expired)
	return len(orphans) + len(lost) + expired + silent, err
}
