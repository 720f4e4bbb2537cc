package postgres

import (
	"context"
	"strconv"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// visibleDelegation restricts "d" to delegations from or to a session "s" that a scope may see, and to those that are
// for its principal.
func (l *filter) visibleDelegation(scope store.Scope) {
	sessions := filter{args: l.args}
	sessions.visible(scope)
	l.args = sessions.args
	l.must("(d.to_principal_id = ? OR EXISTS (SELECT 1 FROM parley.sessions s WHERE s.id IN "+
		"(d.from_session_id, d.to_session_id) AND "+sessions.where.String()+"))", scope.ViewerID)
}

// Delegation implements store.Delegations.
func (s *Store) Delegation(ctx context.Context, scope store.Scope, id parley.ID) (parley.Delegation, error) {
	var l filter
	l.must("d.workspace_id = "+here+" AND d.id = ?", id)
	l.visibleDelegation(scope)
	return one(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"delegation",
		scanDelegation,
		"SELECT "+delegationColumns+" FROM parley.delegations d WHERE "+l.where.String(),
		l.args...)
}

// Delegations implements store.Delegations.
func (s *Store) Delegations(
	ctx context.Context,
	scope store.Scope,
	query store.DelegationQuery,
) (found []parley.Delegation, err error) {
	text, rows, args := delegationsQuery(scope, query)
	if query.SessionID.IsZero() {
		return page(ctx, s, ordered(scope.WorkspaceID), scanDelegation, text, rows, args...)
	}
	err = s.page(ctx, scope, query.SessionID, func(b *batch) {
		found = []parley.Delegation{}
		b.inOrder = false // two short runs, merged
		b.read(text, listed(rows, &found, scanDelegation), args...)
	})
	return found, err
}

// toAgent leaves out what goes to a person, of which the sender stands as the receiver too.
const toAgent = "d.to_principal_id IS NULL AND d.to_agent_id"

// delegationsQuery builds the list query. Both ends of a session or an agent are separate runs over two indexes.
func delegationsQuery(scope store.Scope, q store.DelegationQuery) (text string, rows int, args []arg) {
	var l filter
	word, after := direction(q.Ascending)
	order := " ORDER BY d.created_at " + word + ", d.id " + word
	limit, rows := limited(q.Limit)
	part := func(column string, id parley.ID) string {
		terms := filter{args: l.args}
		terms.must("d.workspace_id = " + here)
		if column != "" {
			terms.must(column+" = ?", id)
		}
		if !q.RootID.IsZero() {
			terms.must("d.root_id = ?", q.RootID)
		}
		if !q.SessionID.IsZero() && !q.AgentID.IsZero() {
			terms.must("(d.from_agent_id = ? OR d.to_agent_id = ?)", q.AgentID, q.AgentID)
		}
		if q.Status != "" {
			terms.must("d.status = ?", string(q.Status))
		}
		if q.Kind != "" {
			terms.must("d.kind = ?", string(q.Kind))
		}
		if !q.AfterID.IsZero() {
			terms.must("(d.created_at, d.id) "+after+" (?, ?)", int64(q.AfterCreated), q.AfterID)
		}
		terms.visibleDelegation(scope)
		l.args = terms.args
		return "SELECT " + delegationColumns + " FROM parley.delegations d WHERE " + terms.where.String() + order +
			limit
	}
	var sent, received string
	switch {
	case !q.SessionID.IsZero():
		sent, received = part("d.from_session_id", q.SessionID), part("d.to_session_id", q.SessionID)
	case !q.AgentID.IsZero():
		sent, received = part("d.from_agent_id", q.AgentID), part(toAgent, q.AgentID)
	default:
		return part("", parley.ID{}), rows, l.args
	}
	return "SELECT * FROM ((" + sent + ") UNION ALL (" + received + ")) d" + order + limit, rows, l.args
}

// CancelDelegation implements store.Delegations.
func (s *Store) CancelDelegation(ctx context.Context, scope store.Scope, id parley.ID) (parley.Delegation, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (parley.Delegation, error) {
		return a.tx.CancelDelegation(scope, id)
	})
}

// Delegation implements transition.Rows. That of a reserved errand comes from memory.
func (a *attempt) Delegation(workspaceID, id parley.ID) (*parley.Delegation, error) {
	if a.known != nil && a.known.ID == id && !a.exact {
		a.guessed, a.blind, a.presumes = true, true, true
		d := *a.known
		return &d, nil
	}
	return first(
		a,
		scanDelegation,
		"SELECT "+delegationColumns+" FROM parley.delegations d WHERE d.workspace_id = $1 AND d.id = $2",
		workspaceID,
		id,
	)
}

// DelegationOf implements transition.Rows.
func (a *attempt) DelegationOf(h *transition.Head, messageID parley.ID) (*parley.Delegation, error) {
	return first(
		a,
		scanDelegation,
		"SELECT "+delegationColumns+` FROM parley.delegations d WHERE d.workspace_id = $1 AND d.message_id = $2
 UNION ALL SELECT `+delegationColumns+
			" FROM parley.delegations d WHERE d.workspace_id = $1 AND d.return_message_id = $2",
		h.WorkspaceID,
		messageID,
	)
}

// CountDelegations implements transition.Rows: it assumes that there is room until the write refuses it.
func (a *attempt) CountDelegations(
	h *transition.Head,
	rootID, fromAgentID, toAgentID parley.ID,
) (all, pair int, err error) {
	if !a.exact {
		a.guessed, a.blind, a.roomy = true, true, true
		return 0, 0, nil
	}
	err = a.read(
		func() { all, pair = 0, 0 },
		`SELECT count(*), count(*) FILTER (WHERE from_agent_id = $3 AND to_agent_id = $4) FROM parley.delegations
 WHERE workspace_id = $1 AND root_id = $2`,
		func(r *row) error {
			all, pair = r.int(), r.int()
			return nil
		},
		h.WorkspaceID,
		rootID,
		fromAgentID,
		toAgentID,
	)
	return all, pair, err
}

// UnheardBelow implements transition.Rows.
func (a *attempt) UnheardBelow(h *transition.Head, delegationID parley.ID) ([]transition.Unheard, error) {
	return rowsOf(a, func(r *row) (transition.Unheard, error) {
		return transition.Unheard{ID: r.id(), ReturnTurnID: r.id()}, nil
	}, `SELECT id, return_turn_id FROM parley.delegations
 WHERE workspace_id = $1 AND parent_id = $2 AND kind IN ('task', 'question') AND heard_at IS NULL`,
		h.WorkspaceID, delegationID)
}

// WakeTurns implements transition.Rows.
func (a *attempt) WakeTurns(h *transition.Head, rootID, workID parley.ID) ([]parley.ID, error) {
	return rowsOf(a, func(r *row) (parley.ID, error) { return r.id(), nil },
		`SELECT return_turn_id FROM parley.delegations WHERE workspace_id = $1 AND root_id = $2 AND from_session_id = $3
  AND parent_id IS NOT DISTINCT FROM $4::uuid AND return_turn_id IS NOT NULL AND heard_at IS NULL
 UNION ALL SELECT turn_id FROM parley.delegations WHERE workspace_id = $1 AND root_id = $2 AND to_session_id = $3
  AND work_id IS NOT DISTINCT FROM $4::uuid AND kind IN ('report', 'briefing') AND turn_id IS NOT NULL
  AND heard_at IS NULL`,
		h.WorkspaceID, rootID, h.ID, workID)
}

// insertDelegation voids the batch if it exceeds a bound of its root. The count does not see the new row.
//
//nolint:gochecknoglobals // made once, never written
var insertDelegation = "WITH made AS (INSERT INTO parley.delegations (" + insertDelegationColumns + ") VALUES (" +
	insertDelegationPlaces + `) RETURNING workspace_id, root_id, from_agent_id, to_agent_id)
 SELECT CASE WHEN count(d.id) >= ` + strconv.Itoa(parley.MaxDelegations) + ` OR count(d.id) FILTER (
   WHERE d.from_agent_id = made.from_agent_id AND d.to_agent_id = made.to_agent_id) >= ` +
	strconv.Itoa(parley.MaxDelegationPair) + `
  THEN parley.stale() ELSE 0 END
 FROM made LEFT JOIN parley.delegations d ON d.workspace_id = made.workspace_id AND d.root_id = made.root_id`

// InsertDelegations implements transition.Writer. The members of a team send at the same time, each under the lock of
// its own session: who counts against a root's bounds holds the root's lock until the commit.
func (w *changes) InsertDelegations(_ *transition.Head, delegations []*parley.Delegation) error {
	for _, d := range delegations {
		w.write("SELECT pg_advisory_xact_lock(hashtextextended('delegations ' || $1::uuid::text, 48))", d.RootID)
		w.write(insertDelegation, insertDelegationArgs(nil, d)...)
	}
	return nil
}

// MoveDelegations implements transition.Writer: it voids the batch if one has left the state that it was read in.
func (w *changes) MoveDelegations(_ *transition.Head, moved []transition.MovedDelegation) error {
	for _, d := range moved {
		w.write(
			"WITH moved AS (UPDATE parley.delegations SET "+updateDelegationSet+
				" WHERE workspace_id = $1 AND id = $2 AND status = $3 RETURNING 1) "+
				"SELECT CASE WHEN EXISTS (SELECT 1 FROM moved) THEN 0 ELSE parley.stale() END",
			updateDelegationArgs([]arg{d.WorkspaceID, d.ID, string(d.Was)}, d.Delegation)...)
	}
	return nil
}

// HearDelegations implements transition.Writer. A turn's are found among those of its root, of which there are few: the
// session may have sent any number.
func (w *changes) HearDelegations(h *transition.Head, heard []transition.Heard) error {
	const hear = "UPDATE parley.delegations SET heard_at = $4 WHERE workspace_id = $1 AND heard_at IS NULL AND "
	for _, one := range heard {
		if one.MessageID.IsZero() {
			w.write(
				hear+`root_id = $5 AND (from_session_id = $2 AND return_turn_id = $3
 OR to_session_id = $2 AND turn_id = $3 AND kind IN ('report', 'briefing'))`,
				h.WorkspaceID, h.ID, one.TurnID, h.Changes.At, one.RootID)
			continue
		}
		for _, term := range []string{
			"from_session_id = $2 AND return_message_id = $3",
			"to_session_id = $2 AND message_id = $3 AND kind IN ('report', 'briefing')",
		} {
			w.write(hear+term, h.WorkspaceID, h.ID, one.MessageID, h.Changes.At)
		}
	}
	return nil
}

// OpenDelegations implements transition.Doer.
func (d doer) OpenDelegations(
	workspaceID, subjectID parley.ID,
	until parley.Time,
	limit int,
) ([]parley.ID, error) {
	return every(
		d.ctx,
		d.store,
		tenant(workspaceID),
		`SELECT id FROM parley.delegations WHERE workspace_id = $1
  AND (from_agent_id = $2 OR to_agent_id = $2 OR from_session_id = $2 OR to_session_id = $2)
  AND (status IN ('sent', 'running') OR status = 'delivered' AND kind IN ('task', 'question'))
  AND ($4::bigint = 0 OR created_at <= $4) LIMIT $3`,
		workspaceID,
		subjectID,
		limit,
		int64(until),
	)
}

// AskedBelow implements transition.Doer.
func (d doer) AskedBelow(workspaceID, delegationID parley.ID, limit int) ([]parley.ID, error) {
	return every(
		d.ctx,
		d.store,
		tenant(workspaceID),
		`SELECT id FROM parley.delegations WHERE workspace_id = $1 AND parent_id = $2
  AND kind IN ('task', 'question') AND status IN ('sent', 'delivered', 'running') LIMIT $3`,
		workspaceID,
		delegationID,
		limit,
	)
}
