package postgres

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
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (store.Decided, error) {
		return a.tx.DecideApproval(scope, id, decision, claimBy)
	})
}

// UseApprovals implements store.Approvals.
func (s *Store) UseApprovals(ctx context.Context, fence store.Fence, uses []store.ApprovalUse) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.UseApprovals(fence, uses) })
}

// AskTool implements store.Approvals.
func (s *Store) AskTool(ctx context.Context, fence store.Fence, ask store.Ask) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.AskTool(fence, ask) })
}

// Approval implements store.Approvals.
func (s *Store) Approval(ctx context.Context, scope store.Scope, id parley.ID) (parley.Approval, error) {
	var l filter
	l.must("a.workspace_id = "+here+" AND a.id = ?", id)
	l.visible(scope)
	return one(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"approval",
		scanApproval,
		"SELECT "+approvalColumns+" FROM parley.approvals a JOIN parley.sessions s ON s.workspace_id = a.workspace_id "+
			"AND s.id = a.session_id WHERE "+l.where.String(),
		l.args...)
}

// Approvals implements store.Approvals.
func (s *Store) Approvals(
	ctx context.Context,
	scope store.Scope,
	query store.ApprovalQuery,
) (approvals []parley.Approval, err error) {
	text, rows, args := approvalsQuery(scope, query)
	if query.SessionID.IsZero() {
		return page(ctx, s, ordered(scope.WorkspaceID), scanApproval, text, rows, args...)
	}
	err = s.page(ctx, scope, query.SessionID, func(b *batch) {
		approvals = []parley.Approval{}
		b.inOrder = false // two short runs, merged
		b.read(text, listed(rows, &approvals, scanApproval), args...)
	})
	return approvals, err
}

// approvalsQuery builds the list query. A session's own approvals and those of the tool sessions below it are separate
// runs over two indexes.
func approvalsQuery(scope store.Scope, q store.ApprovalQuery) (text string, rows int, args []arg) {
	var l filter
	word, after := direction(q.Ascending)
	order := " ORDER BY a.created_at " + word + ", a.id " + word
	limit, rows := limited(q.Limit)
	part := func(term string, values ...arg) string {
		terms := filter{args: l.args}
		terms.must("a.workspace_id = " + here)
		terms.visible(scope)
		if term != "" {
			terms.must(term, values...)
		}
		if q.State != "" {
			terms.must("a.state = '" + string(q.State) + "'") // literal: a partial index serves
		}
		if !q.AgentID.IsZero() {
			terms.must("a.agent_id = ?", q.AgentID)
		}
		if !q.AfterID.IsZero() {
			terms.must("(a.created_at, a.id) "+after+" (?, ?)", int64(q.AfterCreated), q.AfterID)
		}
		l.args = terms.args
		return "SELECT " + approvalColumns +
			" FROM parley.approvals a JOIN parley.sessions s ON s.workspace_id = a.workspace_id " +
			"AND s.id = a.session_id " +
			"WHERE " +
			terms.where.String() + order + limit
	}
	if q.SessionID.IsZero() {
		return part(""), rows, l.args
	}
	own, below := part(
		"a.session_id = ?",
		q.SessionID,
	), part(
		"a.root_id = ? AND a.session_id <> a.root_id",
		q.SessionID,
	)
	return "SELECT * FROM ((" + own + ") UNION ALL (" + below + ")) a" + order + limit, rows, l.args
}

func scanApproval(r *row) (parley.Approval, error) {
	approval := transition.ApprovalRow{Approval: &parley.Approval{}}
	if err := fillApproval(r, &approval); err != nil {
		return *approval.Approval, err
	}
	return approval.Whole()
}

// SessionOfApproval implements transition.Rows.
func (a *attempt) SessionOfApproval(workspaceID, approvalID parley.ID) (parley.ID, error) {
	return a.id("SELECT session_id FROM parley.approvals WHERE workspace_id = $1 AND id = $2", workspaceID, approvalID)
}

// Approval implements transition.Rows.
func (a *attempt) Approval(workspaceID, approvalID parley.ID) (*parley.Approval, error) {
	return first(
		a,
		scanApproval,
		"SELECT "+approvalColumns+" FROM parley.approvals a WHERE a.workspace_id = $1 AND a.id = $2",
		workspaceID,
		approvalID,
	)
}

// TurnApprovals implements transition.Rows.
func (a *attempt) TurnApprovals(h *transition.Head, turnID parley.ID) ([]parley.Approval, error) {
	return rowsOf(
		a,
		scanApproval,
		"SELECT "+approvalColumns+" FROM parley.approvals a WHERE a.workspace_id = $1 AND a.turn_id = $2 "+
			"ORDER BY a.created_at, a.id",
		h.WorkspaceID,
		turnID,
	)
}

// InsertApprovals implements transition.Writer.
func (w *changes) InsertApprovals(_ *transition.Head, approvals []*parley.Approval) error {
	for _, a := range approvals {
		row, err := transition.RowOf(a)
		if err != nil {
			return err
		}
		w.write(
			"INSERT INTO parley.approvals ("+insertApprovalColumns+") VALUES ("+insertApprovalPlaces+")",
			insertApprovalArgs(nil, &row)...)
	}
	return nil
}

// UpdateApprovals implements transition.Writer.
func (w *changes) UpdateApprovals(h *transition.Head, approvals []*parley.Approval) error {
	for _, a := range approvals {
		row, err := transition.RowOf(a)
		if err != nil {
			return err
		}
		w.write(
			"UPDATE parley.approvals SET "+updateApprovalSet+" WHERE workspace_id = $1 AND id = $2",
			updateApprovalArgs([]arg{h.WorkspaceID, a.ID}, &row)...)
	}
	return nil
}

// Accepted implements transition.Rows.
func (a *attempt) Accepted(h *transition.Head) (*parley.Accepted, error) {
	kept, err := first(
		a,
		scanAccepted,
		"SELECT accepted FROM parley.sessions WHERE workspace_id = $1 AND id = $2",
		h.WorkspaceID,
		h.ID,
	)
	if err != nil || kept == nil {
		return nil, err
	}
	return *kept, nil
}

func scanAccepted(r *row) (*parley.Accepted, error) { return transition.ReadAccepted(r.text()) }

// Accepted implements store.Sessions.
func (s *Store) Accepted(ctx context.Context, workspaceID, sessionID parley.ID) (parley.Accepted, error) {
	return one(ctx, s, tenant(workspaceID), "session", func(r *row) (parley.Accepted, error) {
		kept, err := scanAccepted(r)
		return transition.AcceptedBefore(kept, r.id(), r.int()), err
	}, `SELECT s.accepted, s.agent_id, a.version_before FROM parley.sessions s
		JOIN parley.agents a ON a.workspace_id = s.workspace_id AND a.id = s.agent_id
 WHERE s.workspace_id = $1 AND s.id = $2`, workspaceID, sessionID)
}

// overdue finds approvals whose deadline has passed.
const overdue = `SELECT session_id, workspace_id, id FROM parley.approvals
	WHERE state = 'pending' AND expires_at <= (SELECT parley.now_ms()) ORDER BY expires_at LIMIT $1`

// expire ends overdue approvals, one transition each.
func (s *Store) expire(ctx context.Context) (int, error) {
	type due struct{ session, workspace, approval parley.ID }
	total := 0
	for {
		var found []due
		err := s.read(ctx, func() *batch {
			found = nil
			b := system()
			b.read(overdue, func(r *row) error {
				found = append(found, due{r.id(), r.id(), r.id()})
				return nil
			}, sweepBatch)
			return b
		})
		if err != nil {
			return total, err
		}
		done := 0
		for _, one := range found {
			touched, err := transact(
				ctx,
				s,
				one.workspace,
				func(a *attempt) (bool, error) { return a.tx.ExpireApproval(one.session, one.approval) },
			)
			if err != nil {
				return total + done, err
			}
			if touched {
				done++
			}
		}
		if total += done; len(found) < sweepBatch || done == 0 {
			return total, nil
		}
	}
}
