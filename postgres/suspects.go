package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

const (
	// anySuspects tells whether suspected turns wait ($1 to $2 are their ranks).
	anySuspects = "SELECT 1 FROM parley.ready WHERE priority >= $1 AND priority < $2 LIMIT 1"

	// heldSuspects counts the suspected turns that a process holds.
	heldSuspects = `SELECT count(*), coalesce(max(t.takeovers), 0) FROM parley.heads h
 JOIN parley.turns t ON t.workspace_id = h.workspace_id AND t.id = h.turn_id
  WHERE h.holder = $1 AND h.turn_id IS NOT NULL AND t.takeovers > 0`

	// accusedTurns are the turns awaiting judgement.
	accusedTurns = `SELECT r.session_id, r.workspace_id, t.id, t.accused_by FROM parley.ready r
 JOIN parley.heads h ON h.workspace_id = r.workspace_id AND h.session_id = r.session_id
  JOIN parley.turns t ON t.workspace_id = h.workspace_id AND t.id = h.turn_id
 WHERE r.priority >= $1 AND t.accused_by IS NOT NULL ORDER BY r.ready_at, r.session_id LIMIT $2`

	// besideAccused reads the fate of the turns (except $1) that ran in a process ($2) when it died and that no earlier
	// death had caught; the last column tells that the process lives, and was only frozen.
	besideAccused = `SELECT EXISTS (SELECT 1 FROM parley.heads
		WHERE holder = $2 AND turn_id IS NOT NULL AND deleted_at IS NULL)
  OR EXISTS (SELECT 1 FROM parley.turns WHERE caught_by = $2 AND id <> $1 AND status IN ('queued', 'running')),
 EXISTS (SELECT 1 FROM parley.turns WHERE caught_by = $2 AND id <> $1 AND status = 'failed' AND accused_by IS NOT NULL),
 EXISTS (SELECT 1 FROM parley.turns WHERE caught_by = $2 AND id <> $1 AND status NOT IN ('queued', 'running')),
 (SELECT count(*) > max(t.takeovers) FROM parley.turns t JOIN parley.deaths f ON f.process_id = t.caught_by
  JOIN parley.deaths d ON d.n >= f.n WHERE t.id = $1),
 EXISTS (SELECT 1 FROM parley.processes WHERE id = $2 AND lease_until > parley.now_ms())`
)

// accused is a turn awaiting judgement.
type accused struct {
	session, workspace, turn, by parley.ID
	beside                       transition.Beside
}

// judge decides about the accused turns that can be decided and returns their number.
func (s *Store) judge(ctx context.Context) (int, error) {
	var found []accused
	if err := s.read(ctx, func() *batch {
		found = nil
		b := system()
		b.read(accusedTurns, func(r *row) error {
			found = append(found, accused{session: r.id(), workspace: r.id(), turn: r.id(), by: r.id()})
			return nil
		}, int(transition.FirstAccused), sweepBatch)
		return b
	}); err != nil || len(found) == 0 {
		return 0, err
	}
	// The answer about a dead process's turns stays true: that process catches no further turns.
	if err := s.read(ctx, func() *batch {
		b := system()
		b.snapshot = true
		for i := range found {
			b.read(besideAccused, func(r *row) error {
				found[i].beside = transition.Beside{
					Open:    r.bool(),
					Guilty:  r.bool(),
					Unknown: r.bool(),
					Others:  r.bool(),
					Lives:   r.bool(),
				}
				return nil
			}, found[i].turn, found[i].by)
		}
		return b
	}); err != nil {
		return 0, err
	}
	judged := 0
	for _, one := range found {
		if one.beside.Open && !one.beside.Lives {
			continue
		}
		decided, err := transact(ctx, s, one.workspace, func(a *attempt) (bool, error) {
			return a.tx.Judge(one.session, one.by, one.beside)
		})
		if err != nil {
			return judged, err
		}
		if decided {
			judged++
		}
	}
	return judged, nil
}
