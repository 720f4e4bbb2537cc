package postgres

import (
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// Turn finds a turn by id.
func (s *Store) Turn(ctx context.Context, scope store.Scope, id parley.ID) (parley.Turn, error) {
	var l filter
	l.must("t.workspace_id = "+here+" AND t.id = ?", id)
	l.visible(scope)
	return one(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"turn",
		scanTurn,
		"SELECT "+turnColumns+" FROM parley.turns t JOIN parley.sessions s ON s.workspace_id = t.workspace_id "+
			"AND s.id = t.session_id WHERE "+l.where.String(),
		l.args...)
}

// Turns lists the turns of a session.
func (s *Store) Turns(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.TurnQuery,
) (turns []parley.Turn, err error) {
	text, rows, args := turnsQuery(sessionID, query)
	err = s.page(ctx, scope, sessionID, func(b *batch) {
		turns = []parley.Turn{}
		b.read(text, listed(rows, &turns, scanTurn), args...)
	})
	return turns, err
}

func turnsQuery(sessionID parley.ID, q store.TurnQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("t.workspace_id = "+here+" AND t.session_id = ?", sessionID)
	if q.Status != "" {
		l.must("t.status = ?", string(q.Status))
	}
	if q.Number > 0 {
		l.must("t.ordinal = ?", q.Number)
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must(
			"t.ordinal "+after+" (SELECT ordinal FROM parley.turns WHERE workspace_id = "+here+
				" AND session_id = ? AND id = ?)",
			sessionID,
			q.AfterID,
		)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + turnColumns + " FROM parley.turns t WHERE " + l.where.String() + " ORDER BY t.ordinal " + word +
		limit, rows, l.args
}

// Call finds the record of a call by id.
func (s *Store) Call(ctx context.Context, scope store.Scope, id parley.ID) (parley.Call, error) {
	var l filter
	l.must("c.workspace_id = "+here+" AND c.id = ?", id)
	l.visible(scope)
	return one(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"call",
		scanCall,
		"SELECT "+callColumns+" FROM parley.calls c JOIN parley.sessions s ON s.workspace_id = c.workspace_id "+
			"AND s.id = c.session_id WHERE "+l.where.String(),
		l.args...)
}

// Calls lists the calls of a session, or of one of its turns.
func (s *Store) Calls(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	query store.CallQuery,
) (calls []parley.Call, err error) {
	text, rows, args := callsQuery(sessionID, query)
	err = s.page(ctx, scope, sessionID, func(b *batch) {
		calls = []parley.Call{}
		b.read(text, listed(rows, &calls, scanCall), args...)
	})
	return calls, err
}

func callsQuery(sessionID parley.ID, q store.CallQuery) (text string, rows int, args []arg) {
	var l filter
	l.must("c.workspace_id = "+here+" AND c.session_id = ?", sessionID)
	if !q.TurnID.IsZero() {
		l.must("c.turn_id = ?", q.TurnID)
	}
	word, after := direction(q.Ascending)
	if !q.AfterID.IsZero() {
		l.must(
			"c.ordinal "+after+" (SELECT ordinal FROM parley.calls WHERE workspace_id = "+here+
				" AND session_id = ? AND id = ?)",
			sessionID,
			q.AfterID,
		)
	}
	limit, rows := limited(q.Limit)
	return "SELECT " + callColumns + " FROM parley.calls c WHERE " + l.where.String() + " ORDER BY c.ordinal " + word +
		limit, rows, l.args
}

// CallText implements store.TurnLog.
func (s *Store) CallText(ctx context.Context, workspaceID parley.ID, hash parley.Hash) ([]byte, error) {
	return one(ctx, s, tenant(workspaceID), "text", func(r *row) ([]byte, error) { return r.bytes(), nil },
		"SELECT text FROM parley.call_texts WHERE workspace_id = $1 AND hash = $2", workspaceID, hash)
}
