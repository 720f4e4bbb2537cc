package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// StartLoop implements store.Loops.
func (s *Store) StartLoop(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	loop store.NewLoop,
	claimBy parley.ID,
) (store.LoopStarted, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (store.LoopStarted, error) { return tx.core.StartLoop(scope, sessionID, loop, claimBy) },
	)
}

// StopLoop implements store.Loops.
func (s *Store) StopLoop(ctx context.Context, scope store.Scope, sessionID, loopID parley.ID) (parley.Loop, error) {
	return transact(ctx, s, func(tx *txn) (parley.Loop, error) { return tx.core.StopLoop(scope, sessionID, loopID) })
}

// Loop finds a loop by id.
func (s *Store) Loop(ctx context.Context, scope store.Scope, id parley.ID) (loop parley.Loop, err error) {
	var l list
	l.must("l.id = ?", id)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+loopColumns+" FROM loops l JOIN sessions s ON s.id = l.session_id WHERE "+l.where.String(),
			func(r *row) (err error) {
				loop, err = scanLoop(r)
				return err
			},
			l.args...)
		if err == nil && !found {
			err = transition.NotFound("loop")
		}
		return err
	})
	return loop, err
}

// Loops lists the loops of a session.
func (s *Store) Loops(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.LoopQuery,
) (loops []parley.Loop, err error) {
	var l list
	l.must("l.session_id = ? AND l.workspace_id = ?", sessionID, scope.WorkspaceID)
	word, after := direction(query.Ascending)
	if !query.AfterID.IsZero() {
		l.must(
			"l.ordinal "+after+" (SELECT ordinal FROM loops WHERE id = ? AND session_id = ?)",
			query.AfterID,
			sessionID,
		)
	}
	text := "SELECT " + loopColumns + " FROM loops l INDEXED BY loops_session WHERE " + l.where.String() +
		" ORDER BY l.ordinal " + word + " LIMIT ?"
	args := append(l.args, limited(query.Limit))
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, sessionID); err != nil {
			return err
		}
		loops = []parley.Loop{}
		return eachListed(c, &loops, scanLoop, text, args...)
	})
	return loops, err
}

// Loop implements transition.Rows.
func (t *txn) Loop(h *transition.Head, id parley.ID) (loop *transition.NewLoop, err error) {
	_, err = t.one(
		"SELECT "+loopColumns+", l.content FROM loops l WHERE l.id = ? AND l.session_id = ?",
		func(r *row) error {
			found, err := scanLoop(r)
			loop = &transition.NewLoop{Loop: &found, Content: r.json()}
			return err
		},
		id,
		h.ID,
	)
	return loop, err
}

// RunningLoop implements transition.Rows.
func (t *txn) RunningLoop(h *transition.Head) (loop *parley.Loop, err error) {
	_, err = t.one(
		"SELECT "+loopColumns+" FROM loops l WHERE l.session_id = ? AND l.state = 'running'",
		func(r *row) error {
			found, err := scanLoop(r)
			loop = &found
			return err
		},
		h.ID,
	)
	return loop, err
}

// StartedLoop implements transition.Rows.
func (t *txn) StartedLoop(h *transition.Head, key string) (earlier transition.Earlier, err error) {
	_, err = t.one(
		"SELECT id, fingerprint, posted_event FROM loops WHERE session_id = ? AND idempotency_key = ?",
		func(r *row) error {
			earlier = transition.Earlier{ID: r.id(), Fingerprint: r.hash(), PostedEvent: r.int64()}
			return nil
		},
		h.ID,
		key,
	)
	return earlier, err
}

// InsertLoops implements transition.Writer.
func (w changes) InsertLoops(_ *transition.Head, loops []transition.NewLoop) error {
	for i := range loops {
		args, err := insertLoopArgs(nil, &loops[i])
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"INSERT INTO loops ("+insertLoopColumns+") VALUES ("+insertLoopPlaces+")", args...); err != nil {
			return err
		}
	}
	return nil
}

// UpdateLoops implements transition.Writer.
func (w changes) UpdateLoops(_ *transition.Head, loops []transition.NewLoop) error {
	for i := range loops {
		if _, err := w.exec(
			"UPDATE loops SET "+updateLoopSet+" WHERE id = ?",
			append(updateLoopArgs(nil, &loops[i]), loops[i].ID)...); err != nil {
			return err
		}
	}
	return nil
}
