package sqlite

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// readyCount counts the ready turns of a mode, suspected or not, up to a bound.
const readyCount = `SELECT count(*) FROM (SELECT 1 FROM ready WHERE priority % 2 = ? LIMIT ?)`

// readyOldest finds the oldest ready turn of a rank: it steps through the workspaces by the index and reads the first
// row of each.
const readyOldest = `
WITH RECURSIVE waiting (id) AS (
  SELECT min(workspace_id) FROM ready
  UNION ALL
  SELECT (SELECT min(workspace_id) FROM ready WHERE workspace_id > waiting.id) FROM waiting WHERE waiting.id IS NOT NULL
)
SELECT coalesce(min((SELECT ready_at FROM ready r
  WHERE r.workspace_id = waiting.id AND r.priority = ? AND r.not_before <= ? ORDER BY ready_at, session_id LIMIT 1)), 0)
FROM waiting WHERE waiting.id IS NOT NULL`

// parkedTurns counts turns parked for something outside, by reason, among a bounded number of sessions with an
// unfinished turn.
const parkedTurns = `
SELECT t.wait_reason, count(*) FROM (
  SELECT turn_id, turn_status FROM heads INDEXED BY heads_stuck WHERE turn_id IS NOT NULL AND holder IS NULL LIMIT ?
) h JOIN turns t ON t.id = h.turn_id
WHERE h.turn_status = 'waiting' GROUP BY t.wait_reason`

// pendingApprovals counts unanswered questions, up to a bound.
const pendingApprovals = `SELECT count(*) FROM (SELECT 1 FROM approvals INDEXED BY approvals_due WHERE state = 'pending'
	LIMIT ?)`

var _ store.Gauges = (*Store)(nil)

// Queue implements store.Gauges.
func (s *Store) Queue(ctx context.Context) (store.QueueStats, error) {
	var stats store.QueueStats
	now := parley.Now()
	err := s.read(ctx, func(c *conn) error {
		stats = store.QueueStats{}
		if err := c.each(parkedTurns, func(r *row) error {
			if stats.Parked == nil {
				stats.Parked = map[parley.WaitReason]int{}
			}
			reason := parley.WaitReason(r.text())
			stats.Parked[reason] = r.int()
			return nil
		}, store.MaxParkedLook); err != nil {
			return err
		}
		if err := c.each(pendingApprovals, func(r *row) error {
			stats.Approvals = r.int()
			return nil
		}, store.MaxQueueCount); err != nil {
			return err
		}
		if err := readyTurns(c, parley.ModeForeground, now, &stats.Foreground); err != nil {
			return err
		}
		return readyTurns(c, parley.ModeBackground, now, &stats.Background)
	})
	return stats, err
}

// readyTurns reads how many turns of a mode are ready, and for how long.
func readyTurns(c *conn, mode parley.Mode, now parley.Time, into *store.ReadyTurns) error {
	if err := c.each(readyCount, func(r *row) error {
		into.Waiting = r.int()
		return nil
	}, int(transition.RankOf(mode, parley.Unsuspected)), store.MaxQueueCount); err != nil || into.Waiting == 0 {
		return err
	}
	for suspicion := parley.Unsuspected; suspicion <= parley.Accused; suspicion++ {
		if err := c.each(readyOldest, func(r *row) error {
			if oldest := parley.Time(r.int64()); oldest > 0 {
				into.Oldest = max(into.Oldest, time.Duration(now-oldest)*time.Millisecond)
			}
			return nil
		}, int(transition.RankOf(mode, suspicion)), now); err != nil {
			return err
		}
	}
	return nil
}

// Stats implements store.Gauges.
func (s *Store) Stats() store.DatabaseStats {
	return store.DatabaseStats{Damage: s.damage.Noted(), Writer: &store.WriterStats{
		Queued:      len(s.writer.queue) + len(s.writer.urgent),
		Commits:     s.writer.commits.Load(),
		Transitions: s.writer.transitions.Load(),
	}}
}
