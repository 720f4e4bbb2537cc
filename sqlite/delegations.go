package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// visibleDelegation restricts "d" to delegations from or to a session "s" that a scope may see, and to those that are
// for its principal.
func visibleDelegation(scope store.Scope) (term string, args []arg) {
	var l list
	l.visible(scope)
	return "(d.to_principal_id = ? OR EXISTS (SELECT 1 FROM sessions s WHERE s.id IN " +
			"(d.from_session_id, d.to_session_id) AND " + l.where.String() + "))",
		append([]arg{scope.ViewerID}, l.args...)
}

// Delegation implements store.Delegations.
func (s *Store) Delegation(ctx context.Context, scope store.Scope, id parley.ID) (found parley.Delegation, err error) {
	var l list
	l.must("d.id = ? AND d.workspace_id = ?", id, scope.WorkspaceID)
	term, args := visibleDelegation(scope)
	l.must(term, args...)
	err = s.read(ctx, func(c *conn) error {
		there, err := c.one(
			"SELECT "+delegationColumns+" FROM delegations d WHERE "+l.where.String(),
			func(r *row) (err error) {
				found, err = scanDelegation(r)
				return err
			},
			l.args...)
		if err == nil && !there {
			err = transition.NotFound("delegation")
		}
		return err
	})
	return found, err
}

// Delegations implements store.Delegations.
func (s *Store) Delegations(
	ctx context.Context,
	scope store.Scope,
	query store.DelegationQuery,
) (found []parley.Delegation, err error) {
	text, args := delegationsQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		if !query.SessionID.IsZero() {
			if _, err := locate(c, scope, query.SessionID); err != nil {
				return err
			}
		}
		found = []parley.Delegation{}
		return eachListed(c, &found, scanDelegation, text, args...)
	})
	return found, err
}

// toAgent leaves out what goes to a person, of which the sender stands as the receiver too.
const toAgent = "d.to_principal_id IS NULL AND d.to_agent_id"

// delegationsQuery builds the list query. Both ends of a session or an agent are separate runs over two indexes.
func delegationsQuery(scope store.Scope, q store.DelegationQuery) (string, []arg) {
	word, after := direction(q.Ascending)
	order := " ORDER BY d.created_at " + word + ", d.id " + word + " LIMIT ?"
	part := func(index, column string, id parley.ID) (string, []arg) {
		var l list
		if column != "" {
			l.by(index, column+" = ?", id)
		}
		if !q.RootID.IsZero() {
			l.by("delegations_root", "d.root_id = ?", q.RootID)
		}
		l.must("d.workspace_id = ?", scope.WorkspaceID)
		if !q.SessionID.IsZero() && !q.AgentID.IsZero() {
			l.must("(d.from_agent_id = ? OR d.to_agent_id = ?)", q.AgentID, q.AgentID)
		}
		if q.Status != "" {
			l.must("d.status = ?", string(q.Status))
		}
		if q.Kind != "" {
			l.must("d.kind = ?", string(q.Kind))
		}
		if !q.AfterID.IsZero() {
			l.must("(d.created_at, d.id) "+after+" (?, ?)", int64(q.AfterCreated), q.AfterID[:])
		}
		term, args := visibleDelegation(scope)
		l.must(term, args...)
		return "SELECT " + delegationColumns + " FROM delegations d" + l.indexed("delegations_recent") + "WHERE " +
			l.where.String(), l.args
	}
	var sent, received string
	var args, more []arg
	switch {
	case !q.SessionID.IsZero():
		sent, args = part("delegations_from", "d.from_session_id", q.SessionID)
		received, more = part("delegations_to", "d.to_session_id", q.SessionID)
	case !q.AgentID.IsZero():
		sent, args = part("delegations_sender", "d.from_agent_id", q.AgentID)
		received, more = part("delegations_agent", toAgent, q.AgentID)
	default:
		text, args := part("", "", parley.ID{})
		return text + order, append(args, limited(q.Limit))
	}
	return "SELECT * FROM (" + sent + " UNION ALL " + received + ") d" + order,
		append(append(args, more...), limited(q.Limit))
}

// CancelDelegation implements store.Delegations.
func (s *Store) CancelDelegation(ctx context.Context, scope store.Scope, id parley.ID) (parley.Delegation, error) {
	return transact(ctx, s, func(tx *txn) (parley.Delegation, error) { return tx.core.CancelDelegation(scope, id) })
}

// Delegation implements transition.Rows.
func (t *txn) Delegation(workspaceID, id parley.ID) (*parley.Delegation, error) {
	return t.readDelegation("d.id = ? AND d.workspace_id = ?", id, workspaceID)
}

// DelegationOf implements transition.Rows.
func (t *txn) DelegationOf(_ *transition.Head, messageID parley.ID) (*parley.Delegation, error) {
	found, err := t.readDelegation("d.message_id = ?", messageID)
	if err != nil || found != nil {
		return found, err
	}
	return t.readDelegation("d.return_message_id = ?", messageID)
}

func (t *txn) readDelegation(where string, args ...arg) (found *parley.Delegation, err error) {
	_, err = t.one("SELECT "+delegationColumns+" FROM delegations d WHERE "+where, func(r *row) error {
		d, err := scanDelegation(r)
		found = &d
		return err
	}, args...)
	return found, err
}

// CountDelegations implements transition.Rows.
func (t *txn) CountDelegations(
	_ *transition.Head,
	rootID, fromAgentID, toAgentID parley.ID,
) (all, pair int, err error) {
	_, err = t.one(
		`SELECT count(*), count(CASE WHEN from_agent_id = ?2 AND to_agent_id = ?3 THEN 1 END) FROM delegations
 INDEXED BY delegations_root WHERE root_id = ?1`,
		func(r *row) error {
			all, pair = r.int(), r.int()
			return nil
		},
		rootID,
		fromAgentID,
		toAgentID,
	)
	return all, pair, err
}

// UnheardBelow implements transition.Rows.
func (t *txn) UnheardBelow(_ *transition.Head, delegationID parley.ID) (found []transition.Unheard, err error) {
	err = t.each(
		`SELECT id, return_turn_id FROM delegations INDEXED BY delegations_parent
 WHERE parent_id = ? AND kind IN ('task', 'question') AND heard_at IS NULL`,
		func(r *row) error {
			found = append(found, transition.Unheard{ID: r.id(), ReturnTurnID: r.id()})
			return nil
		},
		delegationID,
	)
	return found, err
}

// WakeTurns implements transition.Rows.
func (t *txn) WakeTurns(h *transition.Head, rootID, workID parley.ID) (turns []parley.ID, err error) {
	err = t.each(
		`SELECT return_turn_id FROM delegations INDEXED BY delegations_root
 WHERE root_id = ?1 AND from_session_id = ?2 AND parent_id IS ?3 AND return_turn_id IS NOT NULL AND heard_at IS NULL
 UNION ALL SELECT turn_id FROM delegations INDEXED BY delegations_root
 WHERE root_id = ?1 AND to_session_id = ?2 AND work_id IS ?3 AND kind IN ('report', 'briefing')
  AND turn_id IS NOT NULL AND heard_at IS NULL`,
		func(r *row) error {
			turns = append(turns, r.id())
			return nil
		},
		rootID,
		h.ID,
		workID,
	)
	return turns, err
}

// InsertDelegations implements transition.Writer.
func (w changes) InsertDelegations(_ *transition.Head, delegations []*parley.Delegation) error {
	for _, d := range delegations {
		if _, err := w.exec(
			"INSERT INTO delegations ("+insertDelegationColumns+") VALUES ("+insertDelegationPlaces+")",
			insertDelegationArgs(w.args[:0], d)...); err != nil {
			return err
		}
	}
	return nil
}

// MoveDelegations implements transition.Writer. One writer at a time means that each is still in the state that it was
// read in.
func (w changes) MoveDelegations(_ *transition.Head, moved []transition.MovedDelegation) error {
	for _, d := range moved {
		if _, err := w.exec(
			"UPDATE delegations SET "+updateDelegationSet+" WHERE id = ?",
			append(updateDelegationArgs(w.args[:0], d.Delegation), d.ID)...); err != nil {
			return err
		}
	}
	return nil
}

// HearDelegations implements transition.Writer. A turn's are found among those of its root, of which there are few: the
// session may have sent any number.
func (w changes) HearDelegations(h *transition.Head, heard []transition.Heard) error {
	const (
		ofTurn = "UPDATE delegations INDEXED BY delegations_root SET heard_at = ?1 WHERE root_id = ?4 " +
			"AND heard_at IS NULL AND (from_session_id = ?2 AND return_turn_id = ?3 " +
			"OR to_session_id = ?2 AND turn_id = ?3 AND kind IN ('report', 'briefing'))"
		ofAnswer = "UPDATE delegations INDEXED BY delegations_return SET heard_at = ?1 WHERE from_session_id = ?2 " +
			"AND return_message_id = ?3 AND heard_at IS NULL"
		ofReport = "UPDATE delegations INDEXED BY delegations_message SET heard_at = ?1 WHERE to_session_id = ?2 " +
			"AND message_id = ?3 AND heard_at IS NULL AND kind IN ('report', 'briefing')"
	)
	for _, one := range heard {
		if one.MessageID.IsZero() {
			if _, err := w.exec(ofTurn, h.Changes.At, h.ID, one.TurnID, one.RootID); err != nil {
				return err
			}
			continue
		}
		for _, statement := range []string{ofAnswer, ofReport} {
			if _, err := w.exec(statement, h.Changes.At, h.ID, one.MessageID); err != nil {
				return err
			}
		}
	}
	return nil
}

// OpenDelegations implements transition.Doer.
func (d doer) OpenDelegations(
	_, subjectID parley.ID,
	until parley.Time,
	limit int,
) (ids []parley.ID, err error) {
	const open = "(status IN ('sent', 'running') OR status = 'delivered' AND kind IN ('task', 'question')) AND " +
		"(?3 = 0 OR created_at <= ?3)"
	err = d.each(
		`SELECT id FROM delegations WHERE from_agent_id = ?1 AND `+open+`
 UNION SELECT id FROM delegations WHERE to_agent_id = ?1 AND `+open+`
 UNION SELECT id FROM delegations WHERE from_session_id = ?1 AND `+open+`
 UNION SELECT id FROM delegations WHERE to_session_id = ?1 AND `+open+` LIMIT ?2`,
		func(r *row) error {
			ids = append(ids, r.id())
			return nil
		},
		subjectID,
		limit,
		int64(until),
	)
	return ids, err
}

// AskedBelow implements transition.Doer.
func (d doer) AskedBelow(_, delegationID parley.ID, limit int) (ids []parley.ID, err error) {
	err = d.each(
		"SELECT id FROM delegations WHERE parent_id = ? AND kind IN ('task', 'question') "+
			"AND status IN ('sent', 'delivered', 'running') LIMIT ?",
		func(r *row) error {
			ids = append(ids, r.id())
			return nil
		},
		delegationID,
		limit,
	)
	return ids, err
}
