package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

// accusedTurns are the turns awaiting judgement.
const accusedTurns = `SELECT r.session_id, t.id, t.accused_by FROM ready r INDEXED BY ready_suspects
 JOIN heads h ON h.session_id = r.session_id JOIN turns t ON t.id = h.turn_id
 WHERE r.priority > 1 AND r.priority >= ? AND t.accused_by IS NOT NULL ORDER BY r.ready_at, r.session_id LIMIT ?`

// besideAccused reads the fate of the turns (except ?1) that ran in a process (?2) when it died and that no earlier
// death had caught.
const besideAccused = `SELECT EXISTS (SELECT 1 FROM heads WHERE holder = ?2)
  OR EXISTS (SELECT 1 FROM turns WHERE caught_by = ?2 AND id <> ?1 AND status IN ('queued', 'running')),
 EXISTS (SELECT 1 FROM turns WHERE caught_by = ?2 AND id <> ?1 AND status = 'failed' AND accused_by IS NOT NULL),
 EXISTS (SELECT 1 FROM turns WHERE caught_by = ?2 AND id <> ?1 AND status NOT IN ('queued', 'running')),
 (SELECT count(*) > t.takeovers FROM deaths d, turns t WHERE t.id = ?1 AND d.n >= (SELECT n FROM deaths
  WHERE process_id = t.caught_by))`

// died records processes as dead, by a condition on "processes", and deletes their rows.
func (t *txn) died(where string, args ...arg) error {
	n, err := t.exec("INSERT OR IGNORE INTO deaths (process_id) SELECT id FROM processes WHERE "+where, args...)
	if err != nil || n == 0 {
		return err
	}
	if _, err := t.exec(
		"DELETE FROM deaths WHERE n <= (SELECT max(n) FROM deaths) - ?",
		transition.DeathsKept,
	); err != nil {
		return err
	}
	_, err = t.execProcesses("DELETE FROM processes WHERE "+where, args...)
	return err
}

// accused is a turn awaiting judgement.
type accused struct{ session, turn, by parley.ID }

// judge decides about the accused turns that can be decided and returns their number. It runs in its own transaction,
// because the takeovers of the others must have been written.
func (s *Store) judge(ctx context.Context) (int, error) {
	var found []accused
	if err := s.read(ctx, func(c *conn) error {
		found = nil
		return c.each(accusedTurns, func(r *row) error {
			found = append(found, accused{r.id(), r.id(), r.id()})
			return nil
		}, int(transition.FirstAccused), sweepBatch)
	}); err != nil || len(found) == 0 {
		return 0, err
	}
	return transact(ctx, s, func(tx *txn) (int, error) {
		judged := 0
		for _, one := range found {
			var beside transition.Beside
			if _, err := tx.one(besideAccused, func(r *row) error {
				beside = transition.Beside{Open: r.bool(), Guilty: r.bool(), Unknown: r.bool(), Others: r.bool()}
				return nil
			}, one.turn, one.by); err != nil {
				return 0, err
			}
			decided, err := tx.core.Judge(one.session, one.by, beside)
			if err != nil {
				return 0, err
			}
			if decided {
				judged++
			}
		}
		return judged, nil
	})
}
