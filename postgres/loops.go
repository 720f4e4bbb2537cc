package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// loopColumns reads "l".
const loopColumns = `l.id, l.workspace_id, l.session_id, l.ordinal, l.prompt, l."max", l.until, l.context,
	l.archive_done, l.author_kind, l.author_id,
 l.author_name, l.state, l.reason, l.iteration, l.turn_id, l.created_at, l.finished_at`

func scanLoop(r *row) (parley.Loop, error) {
	l := parley.Loop{
		ID:          r.id(),
		WorkspaceID: r.id(),
		SessionID:   r.id(),
		Ordinal:     r.int64(),
		Prompt:      r.text(),
		Max:         r.int(),
	}
	until, context := r.text(), r.text()
	l.ArchiveDone, l.Author = r.bool(), parley.Author{Kind: parley.AuthorKind(r.text()), ID: r.id(), Name: r.text()}
	l.State, l.Reason, l.Iteration, l.TurnID = parley.LoopState(r.text()), r.text(), r.int(), r.id()
	l.CreatedAt, l.FinishedAt = r.time(), r.time()
	if until != "" {
		l.Until = &parley.LoopUntil{}
		if err := decode("until", until, l.Until); err != nil {
			return l, err
		}
	}
	return l, decode("context", context, &l.Context)
}

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

// StartedLoop implements transition.Rows: a key is taken for new until the index
// says otherwise.
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

// loops adds what a transition changed of a session's loops.
func (b *batch) loops(h *transition.Head) error {
	for i := range h.Changes.NewLoops {
		if err := b.insertLoop(&h.Changes.NewLoops[i]); err != nil {
			return err
		}
	}
	for _, l := range h.Changes.Loops {
		b.write(
			"UPDATE parley.loops SET state = $3, reason = $4, iteration = $5, turn_id = $6, finished_at = $7 "+
				"WHERE workspace_id = $1 AND id = $2",
			h.WorkspaceID,
			l.ID,
			string(l.State),
			l.Reason,
			l.Iteration,
			l.TurnID,
			l.FinishedAt,
		)
	}
	return nil
}

func (b *batch) insertLoop(l *transition.NewLoop) error {
	until, err := encodeMaybe(l.Until)
	if err != nil {
		return err
	}
	context, err := encode(l.Context)
	if err != nil {
		return err
	}
	var key arg
	if l.Idempotency.Key != "" {
		key = l.Idempotency.Key
	}
	b.write(
		`INSERT INTO parley.loops (id, workspace_id, session_id, ordinal, prompt, content, "max", until, context,
			archive_done, author_kind, author_id,
 author_name, state, reason, iteration, turn_id, idempotency_key, fingerprint, posted_event, created_at, finished_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`,
		l.ID,
		l.WorkspaceID,
		l.SessionID,
		l.Ordinal,
		l.Prompt,
		l.Content,
		l.Max,
		until,
		context,
		l.ArchiveDone,
		string(l.Author.Kind),
		l.Author.ID,
		l.Author.Name,
		string(l.State),
		l.Reason,
		l.Iteration,
		l.TurnID,
		key,
		l.Idempotency.Fingerprint,
		l.PostedEvent,
		l.CreatedAt,
		l.FinishedAt,
	)
	return nil
}

// loopsOf reads the loops that the turns of candidates belong to.
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
