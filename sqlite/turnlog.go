package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// Turn finds a turn by id.
func (s *Store) Turn(ctx context.Context, scope store.Scope, id parley.ID) (turn parley.Turn, err error) {
	var l list
	l.must("t.id = ?", id)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+turnColumns+" FROM turns t JOIN sessions s ON s.id = t.session_id WHERE "+l.where.String(),
			func(r *row) (err error) {
				turn, err = scanTurn(r)
				return err
			},
			l.args...)
		if err == nil && !found {
			err = transition.NotFound("turn")
		}
		return err
	})
	return turn, err
}

// Turns lists the turns of a session.
func (s *Store) Turns(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.TurnQuery,
) (turns []parley.Turn, err error) {
	var l list
	l.must("t.session_id = ? AND t.workspace_id = ?", sessionID, scope.WorkspaceID)
	if query.Status != "" {
		l.must("t.status = ?", string(query.Status))
	}
	if query.Number > 0 {
		l.must("t.ordinal = ?", query.Number)
	}
	word, after := direction(query.Ascending)
	if !query.AfterID.IsZero() {
		l.must(
			"t.ordinal "+after+" (SELECT ordinal FROM turns WHERE id = ? AND session_id = ?)",
			query.AfterID,
			sessionID,
		)
	}
	text := "SELECT " + turnColumns + " FROM turns t INDEXED BY turns_session WHERE " + l.where.String() +
		" ORDER BY t.ordinal " + word + " LIMIT ?"
	args := append(l.args, limited(query.Limit))
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, sessionID); err != nil {
			return err
		}
		turns = []parley.Turn{}
		return eachListed(c, &turns, scanTurn, text, args...)
	})
	return turns, err
}

// Call finds the record of a call by id.
func (s *Store) Call(ctx context.Context, scope store.Scope, id parley.ID) (call parley.Call, err error) {
	var l list
	l.must("c.id = ?", id)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+callColumns+" FROM calls c JOIN sessions s ON s.id = c.session_id WHERE "+l.where.String(),
			func(r *row) (err error) {
				call, err = scanCall(r)
				return err
			},
			l.args...)
		if err == nil && !found {
			err = transition.NotFound("call")
		}
		return err
	})
	return call, err
}

// Calls lists the calls of a session, or of one of its turns.
func (s *Store) Calls(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.CallQuery,
) (calls []parley.Call, err error) {
	var l list
	l.must("c.session_id = ? AND c.workspace_id = ?", sessionID, scope.WorkspaceID)
	if !query.TurnID.IsZero() {
		l.by("calls_turn", "c.turn_id = ?", query.TurnID)
	}
	word, after := direction(query.Ascending)
	if !query.AfterID.IsZero() {
		l.must(
			"c.ordinal "+after+" (SELECT ordinal FROM calls WHERE id = ? AND session_id = ?)",
			query.AfterID,
			sessionID,
		)
	}
	text := "SELECT " + callColumns + " FROM calls c" + l.indexed(
		"calls_session",
	) + "WHERE " + l.where.String() + " ORDER BY c.ordinal " + word + " LIMIT ?"
	args := append(l.args, limited(query.Limit))
	err = s.read(ctx, func(c *conn) error {
		if _, err := locate(c, scope, sessionID); err != nil {
			return err
		}
		calls = []parley.Call{}
		return eachListed(c, &calls, scanCall, text, args...)
	})
	return calls, err
}

// CallText implements store.TurnLog.
func (s *Store) CallText(ctx context.Context, workspaceID parley.ID, hash parley.Hash) (text []byte, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one("SELECT text FROM call_texts WHERE workspace_id = ? AND hash = ?", func(r *row) error {
			text = r.bytes()
			return nil
		}, workspaceID, hash)
		if err == nil && !found {
			err = transition.NotFound("text")
		}
		return err
	})
	return text, err
}
