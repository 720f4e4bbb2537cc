package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// loopColumns reads "FROM loops l".
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
		if _, err := placeOf(c, scope, sessionID); err != nil {
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

// writeLoops writes what a transition changed of a session's loops.
func (t *txn) writeLoops(c *transition.Changes) error {
	for i := range c.NewLoops {
		if err := t.insertLoop(&c.NewLoops[i]); err != nil {
			return err
		}
	}
	for _, l := range c.Loops {
		if _, err := t.exec(
			"UPDATE loops SET state = ?, reason = ?, iteration = ?, turn_id = ?, finished_at = ? WHERE id = ?",
			string(l.State),
			l.Reason,
			l.Iteration,
			l.TurnID,
			l.FinishedAt,
			l.ID,
		); err != nil {
			return err
		}
	}
	return nil
}

func (t *txn) insertLoop(l *transition.NewLoop) error {
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
	_, err = t.exec(
		`INSERT INTO loops (id, workspace_id, session_id, ordinal, prompt, content, "max", until, context, archive_done,
			author_kind, author_id,
 author_name, state, reason, iteration, turn_id, idempotency_key, fingerprint, posted_event, created_at, finished_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
	return err
}
