package postgres

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// readyCount counts the ready turns of a rank, up to a bound.
const readyCount = `SELECT count(*) FROM (SELECT 1 FROM parley.ready WHERE priority = $1 LIMIT $2) AS counted`

// readyAge returns how long the oldest ready turn of a rank has been ready, in milliseconds: it steps through the
// workspaces by the index and reads the first row of each.
const readyAge = `
WITH RECURSIVE waiting (id) AS (
  (SELECT workspace_id FROM parley.ready WHERE priority = $1 ORDER BY workspace_id LIMIT 1)
  UNION ALL
  SELECT (SELECT workspace_id FROM parley.ready WHERE priority = $1 AND workspace_id > waiting.id ORDER BY workspace_id
  	LIMIT 1)
  FROM waiting WHERE waiting.id IS NOT NULL
)
SELECT coalesce(greatest(0, parley.now_ms() - min((SELECT ready_at FROM parley.ready r
  WHERE r.workspace_id = waiting.id AND r.priority = $1 AND r.not_before <= parley.now_ms()
  	ORDER BY ready_at, session_id LIMIT 1))), 0)
FROM waiting WHERE waiting.id IS NOT NULL`

// parkedTurns counts turns parked for something outside, by reason, among a bounded number of sessions with an
// unfinished turn and no holder: the index of open heads begins with the holder.
const parkedTurns = `
SELECT t.wait_reason, count(*) FROM (
  SELECT workspace_id, turn_id, turn_status FROM parley.heads WHERE turn_id IS NOT NULL AND holder IS NULL
  ORDER BY holder, cancel_turn, session_id LIMIT $1
) h JOIN parley.turns t ON t.workspace_id = h.workspace_id AND t.id = h.turn_id
WHERE h.turn_status = 'waiting' GROUP BY t.wait_reason`

// pendingApprovals counts unanswered questions, up to a bound.
const pendingApprovals = `SELECT count(*) FROM (SELECT 1 FROM parley.approvals WHERE state = 'pending'
	LIMIT $1) AS counted`

var _ store.Gauges = (*Store)(nil)

// Queue implements store.Gauges.
func (s *Store) Queue(ctx context.Context) (store.QueueStats, error) {
	var stats store.QueueStats
	err := s.read(ctx, func() *batch {
		b := system()
		b.snapshot, b.inOrder = true, true
		stats.Parked = nil
		b.read(parkedTurns, func(r *row) error {
			if stats.Parked == nil {
				stats.Parked = map[parley.WaitReason]int{}
			}
			reason := parley.WaitReason(r.text())
			stats.Parked[reason] = r.int()
			return nil
		}, store.MaxParkedLook)
		b.read(pendingApprovals, func(r *row) error {
			stats.Approvals = r.int()
			return nil
		}, store.MaxQueueCount)
		stats.Foreground, stats.Background = store.ReadyTurns{}, store.ReadyTurns{}
		for suspicion := parley.Unsuspected; suspicion <= parley.Accused; suspicion++ {
			readyTurns(b, transition.RankOf(parley.ModeForeground, suspicion), &stats.Foreground)
			readyTurns(b, transition.RankOf(parley.ModeBackground, suspicion), &stats.Background)
		}
		return b
	})
	return stats, err
}

// readyTurns adds how many turns of a rank are ready, and for how long.
func readyTurns(b *batch, rank transition.Rank, into *store.ReadyTurns) {
	b.read(readyCount, func(r *row) error {
		into.Waiting += r.int()
		return nil
	}, int(rank), store.MaxQueueCount)
	b.read(readyAge, func(r *row) error {
		into.Oldest = max(into.Oldest, time.Duration(r.int64())*time.Millisecond)
		return nil
	}, int(rank))
}

// Stats implements store.Gauges.
func (s *Store) Stats() store.DatabaseStats {
	pool := s.pool.Stat()
	return store.DatabaseStats{Damage: s.damage.Noted(), Pool: &store.PoolStats{
		Max: int(
			pool.MaxConns(),
		),
		Idle:              int(pool.IdleConns()),
		Acquired:          int(pool.AcquiredConns()),
		Opening:           int(pool.ConstructingConns()),
		Acquires:          pool.AcquireCount(),
		WaitedAcquires:    pool.EmptyAcquireCount(),
		CancelledAcquires: pool.CanceledAcquireCount(),
		Waited:            pool.EmptyAcquireWaitTime(),
	}}
}
