package postgres

import (
	"context"
	"encoding/json"

	"example.org/parley"
	"example.org/parley/store"
)

// Transitions: package transition defines them, attempt reads and writes.

// EnsureSession implements store.Turns.
func (s *Store) EnsureSession(
	ctx context.Context,
	scope store.Scope,
	session store.NewSession,
	claimBy parley.ID,
) (store.Opened, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Opened, error) { return a.tx.EnsureSession(scope, session, claimBy) },
	)
}

// PostMessage implements store.Turns.
func (s *Store) PostMessage(
	ctx context.Context,
	scope store.Scope,
	sessionID parley.ID,
	message store.NewMessage,
	claimBy parley.ID,
) (store.Posted, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Posted, error) { return a.tx.PostMessage(scope, sessionID, message, claimBy) },
	)
}

// EditQueued implements store.Turns.
func (s *Store) EditQueued(
	ctx context.Context,
	scope store.Scope,
	author, messageID parley.ID,
	content json.RawMessage,
) (parley.Message, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (parley.Message, error) { return a.tx.EditQueued(scope, author, messageID, content) },
	)
}

// RemoveQueued implements store.Turns.
func (s *Store) RemoveQueued(ctx context.Context, scope store.Scope, messageID parley.ID) (parley.Message, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (parley.Message, error) { return a.tx.RemoveQueued(scope, messageID) },
	)
}

// RecoverTurn implements store.Turns.
func (s *Store) RecoverTurn(ctx context.Context, fence store.Fence) (store.TurnState, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (store.TurnState, error) { return a.tx.RecoverTurn(fence) },
	)
}

// PendingSteers implements store.Turns.
func (s *Store) PendingSteers(ctx context.Context, fence store.Fence) ([]parley.Message, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) ([]parley.Message, error) { return a.tx.PendingSteers(fence) },
	)
}

// BeginStep implements store.Turns.
func (s *Store) BeginStep(ctx context.Context, fence store.Fence, begin store.StepBegin) (store.StepBegun, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (store.StepBegun, error) { return a.tx.BeginStep(fence, begin) },
	)
}

// NoteProgress implements store.Turns.
func (s *Store) NoteProgress(ctx context.Context, fence store.Fence, note store.ProgressNote) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.NoteProgress(fence, note) })
}

// RetryCall implements store.Turns.
func (s *Store) RetryCall(
	ctx context.Context,
	fence store.Fence,
	step int,
	failed store.CallSettled,
	notice store.RetryNotice,
) error {
	return alone(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) error { return a.tx.RetryCall(fence, step, failed, notice) },
	)
}

// BeginCall implements store.Turns.
func (s *Store) BeginCall(ctx context.Context, fence store.Fence, begin store.StepBegin) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.BeginCall(fence, begin) })
}

// OpenBlock implements store.Turns.
func (s *Store) OpenBlock(ctx context.Context, fence store.Fence, open store.BlockOpen) (parley.Message, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (parley.Message, error) { return a.tx.OpenBlock(fence, open) },
	)
}

// SettleStep implements store.Turns.
func (s *Store) SettleStep(ctx context.Context, fence store.Fence, settle store.StepSettle) (store.StepSettled, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (store.StepSettled, error) { return a.tx.SettleStep(fence, settle) },
	)
}

// SettleTool implements store.Turns.
func (s *Store) SettleTool(ctx context.Context, fence store.Fence, settle store.ToolSettle) (parley.Message, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (parley.Message, error) { return a.tx.SettleTool(fence, settle) },
	)
}

// ParkTurn implements store.Turns.
func (s *Store) ParkTurn(ctx context.Context, fence store.Fence, reason parley.WaitReason) (parley.Turn, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (parley.Turn, error) { return a.tx.ParkTurn(fence, reason) },
	)
}

// FinishTurn implements store.Turns.
func (s *Store) FinishTurn(ctx context.Context, fence store.Fence, end store.TurnEnd) (store.StepSettled, error) {
	return transact(
		ctx,
		s,
		fence.WorkspaceID,
		func(a *attempt) (store.StepSettled, error) { return a.tx.FinishTurn(fence, end) },
	)
}

// ReleaseTurn implements store.Turns.
func (s *Store) ReleaseTurn(ctx context.Context, fence store.Fence) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.ReleaseTurn(fence) })
}

// RequestCancel implements store.Turns.
func (s *Store) RequestCancel(
	ctx context.Context,
	scope store.Scope,
	sessionID, turnID parley.ID,
	alsoQueued bool,
) (store.Cancelled, error) {
	return transact(ctx, s, scope.WorkspaceID, func(a *attempt) (store.Cancelled, error) {
		return a.tx.RequestCancel(scope, sessionID, turnID, alsoQueued)
	})
}

// TakeCancel implements store.Turns.
func (s *Store) TakeCancel(
	ctx context.Context,
	scope store.Scope,
	sessionID, turnID parley.ID,
) (store.Cancelled, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Cancelled, error) { return a.tx.TakeCancel(scope, sessionID, turnID) },
	)
}

// DeleteSession implements store.Turns.
func (s *Store) DeleteSession(ctx context.Context, scope store.Scope, sessionID parley.ID) error {
	return alone(ctx, s, scope.WorkspaceID, func(a *attempt) error { return a.tx.DeleteSession(scope, sessionID) })
}

// UpdateSession implements store.Sessions.
func (s *Store) UpdateSession(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	change store.SessionChange,
) (parley.Session, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (parley.Session, error) { return a.tx.UpdateSession(scope, id, change) },
	)
}

// BackgroundSession implements store.Teams.
func (s *Store) BackgroundSession(
	ctx context.Context,
	scope store.Scope,
	agentID parley.ID,
	most int64,
) (store.Opened, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Opened, error) { return a.tx.BackgroundSession(scope, agentID, most) },
	)
}

// MarkMessage implements store.Messages.
func (s *Store) MarkMessage(
	ctx context.Context,
	scope store.Scope,
	sessionID, id parley.ID,
	change parley.MarksChange,
) (parley.Message, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (parley.Message, error) { return a.tx.MarkMessage(scope, sessionID, id, change) },
	)
}

// SetClientSession implements store.Clients.
func (s *Store) SetClientSession(
	ctx context.Context,
	scope store.Scope,
	principalID parley.ID,
	client string,
	sessionID parley.ID,
) error {
	return alone(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) error { return a.tx.SetClientSession(scope, principalID, client, sessionID) },
	)
}

// alone is transact for a transition without a result.
func alone(ctx context.Context, s *Store, workspaceID parley.ID, run func(a *attempt) error) error {
	_, err := transact(ctx, s, workspaceID, func(a *attempt) (struct{}, error) { return struct{}{}, run(a) })
	return err
}

// ArchiveFeature implements store.Sessions.
func (s *Store) ArchiveFeature(
	ctx context.Context,
	scope store.Scope,
	feature string,
) (archived, busy []parley.ID, err error) {
	var l filter
	l.visible(scope)
	l.must("s.feature = ? AND s.feature <> '' AND s.archived_at IS NULL", feature)
	ids, err := every(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		"SELECT s.id FROM parley.sessions s WHERE "+l.where.String()+" ORDER BY s.updated_at, s.id",
		l.args...)
	if err != nil {
		return nil, nil, err
	}
	yes, whole := true, store.AuditFrom(ctx)
	for _, id := range ids {
		switch _, err := s.UpdateSession(store.WithAudit(ctx, whole.Of(id)), scope, id,
			store.SessionChange{Archived: &yes}); parley.ErrorCode(
			err,
		) {
		case "":
			whole.Wrote()
			archived = append(archived, id)
		case parley.CodeConflict:
			busy = append(busy, id)
		case parley.CodeNotFound: // deleted meanwhile
		default:
			return archived, busy, err
		}
	}
	return archived, busy, nil
}

// every reads the ids that a query returns.
func every(ctx context.Context, s *Store, as *batch, query string, args ...arg) (ids []parley.ID, err error) {
	err = s.read(ctx, func() *batch {
		ids = nil
		b := *as
		b.read(query, func(r *row) error {
			ids = append(ids, r.id())
			return nil
		}, args...)
		return &b
	})
	return ids, err
}

// ClearClientSession implements store.Clients. A client without an open session is fine.
func (s *Store) ClearClientSession(ctx context.Context, scope store.Scope, principalID parley.ID, client string) error {
	return alone(ctx, s, scope.WorkspaceID, func(a *attempt) error {
		id, err := a.OpenedIn(scope.WorkspaceID, principalID, client)
		if err != nil || id.IsZero() {
			return err
		}
		a.extra = append(
			a.extra,
			statement{
				query: "DELETE FROM parley.clients WHERE workspace_id = $1 AND principal_id = $2 AND client = $3 " +
					"AND session_id = $4",
				args: []arg{scope.WorkspaceID, principalID, client, id},
			},
		)
		return a.tx.Deactivate(id, client)
	})
}

// Fork implements store.History.
func (s *Store) Fork(
	ctx context.Context,
	scope store.Scope,
	fork store.NewFork,
	claimBy parley.ID,
) (store.Opened, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Opened, error) { return a.tx.Fork(scope, fork, claimBy) },
	)
}

// ImportSession implements store.Imports.
func (s *Store) ImportSession(
	ctx context.Context,
	scope store.Scope,
	wanted store.NewImport,
) (store.Imported, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Imported, error) { return a.tx.ImportSession(scope, wanted) },
	)
}

// PlanImport implements store.Imports.
func (s *Store) PlanImport(ctx context.Context, scope store.Scope, wanted store.NewImport) (store.Imported, error) {
	return transact(
		ctx,
		s,
		scope.WorkspaceID,
		func(a *attempt) (store.Imported, error) { return a.tx.PlanImport(scope, wanted) },
	)
}
