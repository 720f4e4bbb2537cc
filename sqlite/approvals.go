package sqlite

import (
	"context"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// DecideApproval implements store.Approvals.
func (s *Store) DecideApproval(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	decision parley.Decision,
	claimBy parley.ID,
) (store.Decided, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) (store.Decided, error) { return tx.core.DecideApproval(scope, id, decision, claimBy) },
	)
}

// UseApprovals implements store.Approvals.
func (s *Store) UseApprovals(ctx context.Context, fence store.Fence, uses []store.ApprovalUse) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.UseApprovals(fence, uses) })
}

// AskTool implements store.Approvals.
func (s *Store) AskTool(ctx context.Context, fence store.Fence, ask store.Ask) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.AskTool(fence, ask) })
}

// Approval implements store.Approvals.
func (s *Store) Approval(ctx context.Context, scope store.Scope, id parley.ID) (approval parley.Approval, err error) {
	var l list
	l.must("a.id = ?", id)
	l.visible(scope)
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			"SELECT "+approvalColumns+" FROM approvals a JOIN sessions s ON s.id = a.session_id WHERE "+
				l.where.String(),
			func(r *row) (err error) {
				approval, err = scanApproval(r)
				return err
			},
			l.args...)
		if err == nil && !found {
			err = transition.NotFound("approval")
		}
		return err
	})
	return approval, err
}

// Approvals implements store.Approvals.
func (s *Store) Approvals(
	ctx context.Context,
	scope store.Scope,
	query store.ApprovalQuery,
) (approvals []parley.Approval, err error) {
	text, args := approvalsQuery(scope, query)
	err = s.read(ctx, func(c *conn) error {
		if !query.SessionID.IsZero() {
			if _, err := locate(c, scope, query.SessionID); err != nil {
				return err
			}
		}
		approvals = []parley.Approval{}
		return eachListed(c, &approvals, scanApproval, text, args...)
	})
	return approvals, err
}

// approvalsQuery builds the list query; the narrowest filter names the index. A session's own approvals and those below
// it are separate runs over two indexes.
func approvalsQuery(scope store.Scope, q store.ApprovalQuery) (string, []arg) {
	word, after := direction(q.Ascending)
	order := " ORDER BY a.created_at " + word + ", a.id " + word + " LIMIT ?"
	if q.SessionID.IsZero() {
		text, args := approvalsPart(scope, q, after, "", "")
		return text + order, append(args, limited(q.Limit))
	}
	own, args := approvalsPart(scope, q, after, "approvals_session", "a.session_id = ?")
	below, more := approvalsPart(scope, q, after, "approvals_root", "a.root_id = ? AND a.session_id <> a.root_id")
	return "SELECT * FROM (" + own + " UNION ALL " + below + ") a" + order, append(
		append(args, more...),
		limited(q.Limit),
	)
}

func approvalsPart(scope store.Scope, q store.ApprovalQuery, after, index, term string) (string, []arg) {
	var l list
	l.visible(scope)
	if term != "" {
		l.by(index, term, q.SessionID)
	}
	if q.State == parley.ApprovalPending {
		l.by("approvals_pending", "a.workspace_id = ? AND a.state = 'pending'", scope.WorkspaceID)
	} else if q.State != "" {
		l.must("a.state = ?", string(q.State))
	}
	if !q.AgentID.IsZero() {
		l.by("approvals_agent", "a.workspace_id = ? AND a.agent_id = ?", scope.WorkspaceID, q.AgentID)
	}
	l.must("a.workspace_id = ?", scope.WorkspaceID)
	if !q.AfterID.IsZero() {
		l.must("(a.created_at, a.id) "+after+" (?, ?)", int64(q.AfterCreated), q.AfterID[:])
	}
	return "SELECT " + approvalColumns + " FROM approvals a" + l.indexed("approvals_recent") +
		"CROSS JOIN sessions s ON s.id = a.session_id WHERE " + l.where.String(), l.args
}

func scanApproval(r *row) (parley.Approval, error) {
	approval := transition.ApprovalRow{Approval: &parley.Approval{}}
	if err := fillApproval(r, &approval); err != nil {
		return *approval.Approval, err
	}
	return approval.Whole()
}

// SessionOfApproval implements transition.Rows.
func (t *txn) SessionOfApproval(workspaceID, approvalID parley.ID) (parley.ID, error) {
	return t.id("SELECT session_id FROM approvals WHERE id = ? AND workspace_id = ?", approvalID, workspaceID)
}

// Approval implements transition.Rows.
func (t *txn) Approval(workspaceID, approvalID parley.ID) (*parley.Approval, error) {
	found, err := t.approvals("a.id = ? AND a.workspace_id = ?", approvalID, workspaceID)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// TurnApprovals implements transition.Rows.
func (t *txn) TurnApprovals(_ *transition.Head, turnID parley.ID) ([]parley.Approval, error) {
	return t.approvals("a.turn_id = ? ORDER BY a.created_at, a.id", turnID)
}

func (t *txn) approvals(where string, args ...arg) (found []parley.Approval, err error) {
	err = t.each("SELECT "+approvalColumns+" FROM approvals a WHERE "+where, func(r *row) error {
		approval, err := scanApproval(r)
		found = append(found, approval)
		return err
	}, args...)
	return found, err
}

// InsertApprovals implements transition.Writer.
func (w changes) InsertApprovals(_ *transition.Head, approvals []*parley.Approval) error {
	for _, a := range approvals {
		row, err := transition.RowOf(a)
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"INSERT INTO approvals ("+insertApprovalColumns+") VALUES ("+insertApprovalPlaces+")",
			insertApprovalArgs(nil, &row)...); err != nil {
			return err
		}
	}
	return nil
}

// UpdateApprovals implements transition.Writer.
func (w changes) UpdateApprovals(_ *transition.Head, approvals []*parley.Approval) error {
	for _, a := range approvals {
		row, err := transition.RowOf(a)
		if err != nil {
			return err
		}
		if _, err := w.exec(
			"UPDATE approvals SET "+updateApprovalSet+" WHERE id = ?",
			append(updateApprovalArgs(nil, &row), a.ID)...); err != nil {
			return err
		}
	}
	return nil
}

// Accepted implements transition.Rows.
func (t *txn) Accepted(h *transition.Head) (accepted *parley.Accepted, err error) {
	_, err = t.one("SELECT accepted FROM sessions WHERE id = ?", func(r *row) (err error) {
		accepted, err = scanAccepted(r)
		return err
	}, h.ID)
	return accepted, err
}

func scanAccepted(r *row) (*parley.Accepted, error) { return transition.ReadAccepted(r.text()) }

// Accepted implements store.Sessions.
func (s *Store) Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (accepted parley.Accepted, err error) {
	err = s.read(ctx, func(c *conn) error {
		found, err := c.one(
			`SELECT s.accepted, s.agent_id, a.version_before FROM sessions s JOIN agents a ON a.id = s.agent_id
 WHERE s.id = ? AND s.workspace_id = ?`,
			func(r *row) error {
				kept, err := scanAccepted(r)
				accepted = transition.AcceptedBefore(kept, r.id(), r.int())
				return err
			},
			sessionID,
			workspaceID,
		)
		if err == nil && !found {
			err = transition.NotFound("session")
		}
		return err
	})
	return accepted, err
}

// expire ends approvals whose deadline has passed.
func (t *txn) expire(limit int) (int, error) {
	type due struct{ session, approval parley.ID }
	var found []due
	if err := t.each(
		"SELECT session_id, id FROM approvals INDEXED BY approvals_due WHERE state = 'pending' AND expires_at <= ? "+
			"ORDER BY expires_at LIMIT ?",
		func(r *row) error {
			found = append(found, due{r.id(), r.id()})
			return nil
		},
		t.now,
		limit,
	); err != nil {
		return 0, err
	}
	for _, one := range found {
		if _, err := t.core.ExpireApproval(one.session, one.approval); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}
