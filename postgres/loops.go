package postgres

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
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (store.LoopStarted, error) {
		return a.tx.StartLoop(scope, sessionID, loop, claimBy)
	})
}

// StopLoop implements store.Loops.
func (s *Store) StopLoop(ctx context.Context, scope store.Scope, sessionID, loopID parley.ID) (parley.Loop, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (parley.Loop, error) { return a.tx.StopLoop(scope, sessionID, loopID) },
	)
}

// Loop finds a loop by id.
func (s *Store) Loop(ctx context.Context, scope store.Scope, id parley.ID) (parley.Loop, error) {
	var l filter
	l.must("l.workspace_id = "+here+" AND l.id = ?", id)
	l.visible(scope)
	return one(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"loop",
		scanLoop,
		"SELECT "+loopColumns+" FROM parley.loops l JOIN parley.sessions s ON s.workspace_id = l.workspace_id "+
			"AND s.id = l.session_id WHERE "+l.where.String(),
		l.args...)
}

// Loops lists the loops of a session.
func (s *Store) Loops(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.LoopQuery,
) (loops []parley.Loop, err error) {
	text, rows, args := loopsQuery(sessionID, query)
	err = s.page(ctx, scope, sessionID, func(b *batch) {
		loops = []parley.Loop{}
		b.read(text, listed(rows, &loops, scanLoop), args...)
	})
	return loops, err
}

func loopsQuery(sessionID parley.ID, q store.LoopQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("l.workspace_id = "+here+" AND l.session_id = ?", sessionID)
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must(
			"l.ordinal "+after+" (SELECT ordinal FROM parley.loops WHERE workspace_id = "+here+
				" AND session_id = ? AND id = ?)",
			sessionID,
			q.AfterID,
		)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + loopColumns + " FROM parley.loops l WHERE " + l.where.String() + " ORDER BY l.ordinal " + word +
		limit, rows, l.args
}

// Loop implements transition.Rows.
func (a *attempt) Loop(h *transition.Head, id parley.ID) (*transition.NewLoop, error) {
	return first(a, func(r *row) (transition.NewLoop, error) {
		loop, err := scanLoop(r)
		return transition.NewLoop{Loop: &loop, Content: r.json()}, err
	}, "SELECT "+loopColumns+", l.content FROM parley.loops l "+
		"WHERE l.workspace_id = $1 AND l.id = $2 AND l.session_id = $3", h.WorkspaceID, id, h.ID)
}

// RunningLoop implements transition.Rows.
func (a *attempt) RunningLoop(h *transition.Head) (*parley.Loop, error) {
	return first(
		a,
		scanLoop,
		"SELECT "+loopColumns+" FROM parley.loops l WHERE l.workspace_id = $1 AND l.session_id = $2 "+
			"AND l.state = 'running'",
		h.WorkspaceID,
		h.ID,
	)
}

// StartedLoop implements transition.Rows: it assumes that a key is new until the index refuses it.
func (a *attempt) StartedLoop(h *transition.Head, key string) (transition.Earlier, error) {
	if a.presumed() {
		return transition.Earlier{}, nil
	}
	return a.earlier(
		"SELECT id, fingerprint, posted_event FROM parley.loops "+
			"WHERE workspace_id = $1 AND session_id = $2 AND idempotency_key = $3",
		h.WorkspaceID,
		h.ID,
		key,
	)
}

// InsertLoops implements transition.Writer.
func (w *changes) InsertLoops(_ *transition.Head, loops []transition.NewLoop) error {
	for i := range loops {
		args, err := insertLoopArgs(nil, &loops[i])
		if err != nil {
			return err
		}
		w.write("INSERT INTO parley.loops ("+insertLoopColumns+") VALUES ("+insertLoopPlaces+")", args...)
	}
	return nil
}

// UpdateLoops implements transition.Writer.
func (w *changes) UpdateLoops(h *transition.Head, loops []transition.NewLoop) error {
	for i := range loops {
		w.write(
			"UPDATE parley.loops SET "+updateLoopSet+" WHERE workspace_id = $1 AND id = $2",
			updateLoopArgs([]arg{h.WorkspaceID, loops[i].ID}, &loops[i])...)
	}
	return nil
}

// loopsOf reads the loops of the candidates' turns.
func (s *Store) loopsOf(ctx context.Context, found []candidate) error {
	var of []*candidate
	for i := range found {
		if !found[i].head.RunsLoop().IsZero() {
			of = append(of, &found[i])
		}
	}
	if len(of) == 0 {
		return nil
	}
	return s.read(ctx, func() *batch {
		b := system()
		for _, c := range of {
			b.read(
				"SELECT "+loopColumns+" FROM parley.loops l WHERE l.workspace_id = $1 AND l.id = $2",
				func(r *row) error {
					loop, err := scanLoop(r)
					c.loop = &loop
					return err
				},
				c.head.WorkspaceID,
				c.head.RunsLoop(),
			)
		}
		return b
	})
}

// Loop implements transition.Rows.
func (c *claimable) Loop(h *transition.Head, _ parley.ID) (*transition.NewLoop, error) {
	if loop := c.byID[h.ID].loop; loop != nil {
		return &transition.NewLoop{Loop: loop}, nil
	}
	return nil, nil
}
