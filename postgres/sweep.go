package postgres

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// Bounds of a sweep.
const (
	sweepBatch   = 100 // sessions per query
	sweepWorkers = 4   // concurrent takeovers
)

// The holder of a turn is dead if it has no valid lease. The index of open turns has both kinds of stray.
const (
	orphaned = `SELECT h.session_id, h.workspace_id, h.holder FROM parley.heads h
		WHERE h.turn_id IS NOT NULL AND h.holder IS NOT NULL AND h.deleted_at IS NULL
 AND NOT EXISTS (SELECT 1 FROM parley.processes p WHERE p.id = h.holder AND p.lease_until > (SELECT parley.now_ms()))
  LIMIT $1`
	unseen = `SELECT h.session_id, h.workspace_id, h.holder FROM parley.heads h
		WHERE h.turn_id IS NOT NULL AND h.holder IS NULL AND h.turn_status <> 'waiting'
 AND h.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM parley.ready r
  WHERE r.workspace_id = h.workspace_id AND r.session_id = h.session_id) LIMIT $1`
	forget = `WITH dead AS (DELETE FROM parley.processes p WHERE p.lease_until <= parley.now_ms()
 AND NOT EXISTS (SELECT 1 FROM parley.heads h WHERE h.holder = p.id AND h.turn_id IS NOT NULL) RETURNING p.id)
 INSERT INTO parley.deaths (process_id) SELECT id FROM dead ON CONFLICT DO NOTHING`
)

// catchUp reschedules errands that were left before the database's clock was set back: each keeps its original delay.
// Usually there are none, which an index shows at once.
const catchUp = `UPDATE parley.outbox SET due_at = due_at - created_at + parley.now_ms(), created_at = parley.now_ms()
 WHERE (SELECT (SELECT max(created_at) FROM parley.outbox) > parley.now_ms() + $1)
  AND due_at > parley.now_ms() + $1 AND created_at > parley.now_ms() + $1`

// stray is a session with a turn that nobody runs.
type stray struct{ session, workspace, holder parley.ID }

// Sweep implements store.Leases. Several processes may sweep at once: each session is taken over by one of them. A dead
// process is forgotten after its last claim, so an interrupted sweep is noticed.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	total := 0
	for {
		strays, err := s.strays(ctx)
		if err != nil {
			return total, err
		}
		done, err := s.takeOver(ctx, strays)
		if total += done; err != nil {
			return total, mapError(err)
		}
		if len(strays) < sweepBatch || done == 0 {
			break
		}
	}
	expired, err := s.expire(ctx)
	if total += expired; err != nil {
		return total, mapError(err)
	}
	settled, err := s.expireOutside(ctx)
	if total += settled; err != nil {
		return total, mapError(err)
	}
	b := system()
	b.write(catchUp, int64(transition.ClockSlack))
	b.write(forget)
	b.write("DELETE FROM parley.deaths WHERE n <= (SELECT max(n) FROM parley.deaths) - $1", transition.DeathsKept)
	if err := s.send(ctx, b); err != nil {
		return total, mapError(err)
	}
	judged, err := s.judge(ctx)
	return total + judged, mapError(err)
}

// strays finds sessions to take over or to repair, in a random order, so that concurrent sweeps begin with different
// ones.
func (s *Store) strays(ctx context.Context) (found []stray, err error) {
	err = s.read(ctx, func() *batch {
		found = nil
		b := system()
		for _, query := range []string{orphaned, unseen} {
			b.read(query, func(r *row) error {
				found = append(found, stray{r.id(), r.id(), r.id()})
				return nil
			}, sweepBatch)
		}
		return b
	})
	rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return found, err
}

// takeOver takes over sessions, a few at a time, and returns how many it changed.
func (s *Store) takeOver(ctx context.Context, strays []stray) (int, error) {
	var done atomic.Int64
	var first error
	var once sync.Once
	next := make(chan stray, len(strays))
	for _, one := range strays {
		next <- one
	}
	close(next)
	var workers sync.WaitGroup
	for range min(sweepWorkers, len(strays)) {
		workers.Go(func() { // ends when no sessions are left
			for one := range next {
				touched, err := s.takeOverOne(ctx, one)
				if err != nil {
					once.Do(func() { first = err })
					return
				}
				if touched {
					done.Add(1)
				}
			}
		})
	}
	workers.Wait()
	return int(done.Load()), first
}

func (s *Store) takeOverOne(ctx context.Context, one stray) (bool, error) {
	return transact(ctx, s, one.workspace, func(a *attempt) (bool, error) {
		if one.holder.IsZero() {
			return a.tx.Repair(one.session)
		}
		if alive, err := a.Alive(one.holder); err != nil || alive { // the holder has come back
			return false, err
		}
		a.dead = one.holder
		return a.tx.TakeOver(one.session, one.holder)
	})
}
