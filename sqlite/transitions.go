package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"example.org/parley"
	"example.org/parley/store"
)

// Transitions: package transition defines them, txn reads and writes.

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
		func(tx *txn) (store.Opened, error) { return tx.core.EnsureSession(scope, session, claimBy) },
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
		func(tx *txn) (store.Posted, error) { return tx.core.PostMessage(scope, sessionID, message, claimBy) },
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
		func(tx *txn) (parley.Message, error) { return tx.core.EditQueued(scope, author, messageID, content) },
	)
}

// RemoveQueued implements store.Turns.
func (s *Store) RemoveQueued(ctx context.Context, scope store.Scope, messageID parley.ID) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.RemoveQueued(scope, messageID) })
}

// Claim implements store.Turns.
func (s *Store) Claim(
	ctx context.Context,
	processID parley.ID,
	n int,
	occupancy store.Occupancy,
) ([]store.Claim, error) {
	return transact(
		ctx,
		s,
		func(tx *txn) ([]store.Claim, error) { return tx.core.Claim(processID, n, occupancy, candidates{tx}) },
	)
}

// RecoverTurn implements store.Turns.
func (s *Store) RecoverTurn(ctx context.Context, fence store.Fence) (store.TurnState, error) {
	return transact(ctx, s, func(tx *txn) (store.TurnState, error) { return tx.core.RecoverTurn(fence) })
}

// PendingSteers implements store.Turns.
func (s *Store) PendingSteers(ctx context.Context, fence store.Fence) ([]parley.Message, error) {
	return transact(ctx, s, func(tx *txn) ([]parley.Message, error) { return tx.core.PendingSteers(fence) })
}

// BeginStep implements store.Turns.
func (s *Store) BeginStep(ctx context.Context, fence store.Fence, begin store.StepBegin) (store.StepBegun, error) {
	return transact(ctx, s, func(tx *txn) (store.StepBegun, error) { return tx.core.BeginStep(fence, begin) })
}

// NoteProgress implements store.Turns.
func (s *Store) NoteProgress(ctx context.Context, fence store.Fence, note store.ProgressNote) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.NoteProgress(fence, note) })
}

// RetryCall implements store.Turns.
func (s *Store) RetryCall(
	ctx context.Context,
	fence store.Fence,
	step int,
	failed store.CallSettled,
	notice store.RetryNotice,
) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.RetryCall(fence, step, failed, notice) })
}

// BeginCall implements store.Turns.
func (s *Store) BeginCall(ctx context.Context, fence store.Fence, begin store.StepBegin) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.BeginCall(fence, begin) })
}

// OpenBlock implements store.Turns.
func (s *Store) OpenBlock(ctx context.Context, fence store.Fence, open store.BlockOpen) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.OpenBlock(fence, open) })
}

// AppendVersions implements store.Turns.
func (s *Store) AppendVersions(ctx context.Context, versions []store.FencedVersion) (store.Appended, error) {
	return transact(ctx, s, func(tx *txn) (appended store.Appended, err error) {
		for i := range versions {
			fence, v := versions[i].Fence, &versions[i].Version
			if slices.Contains(appended.Fenced, fence) {
				continue
			}
			if _, err := tx.core.Holds(fence); parley.ErrorCode(err) == parley.CodeFenced {
				appended.Fenced = append(appended.Fenced, fence)
				continue
			} else if err != nil {
				return store.Appended{}, err
			}
			// A flush after the settle adds nothing: the message has its text.
			if _, err := tx.exec(
				`INSERT INTO versions (message_id, n, kind, offset, "end", chunks, text, created_at)
					SELECT id, ?, ?, ?, ?, ?, ?, ?
 FROM messages WHERE id = ? AND session_id = ? AND status = 'streaming' ON CONFLICT DO NOTHING`,
				v.N,
				string(v.Kind),
				v.Offset,
				v.End,
				v.Chunks,
				v.Text,
				tx.now,
				v.MessageID,
				fence.SessionID,
			); err != nil {
				return store.Appended{}, err
			}
		}
		return appended, nil
	})
}

// SettleStep implements store.Turns.
func (s *Store) SettleStep(ctx context.Context, fence store.Fence, settle store.StepSettle) (store.StepSettled, error) {
	return transactEnd(
		ctx,
		s,
		settle.End,
		func(tx *txn) (store.StepSettled, error) { return tx.core.SettleStep(fence, settle) },
	)
}

// SettleTool implements store.Turns.
func (s *Store) SettleTool(ctx context.Context, fence store.Fence, settle store.ToolSettle) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.SettleTool(fence, settle) })
}

// ParkTurn implements store.Turns.
func (s *Store) ParkTurn(ctx context.Context, fence store.Fence, reason parley.WaitReason) (parley.Turn, error) {
	return transact(ctx, s, func(tx *txn) (parley.Turn, error) { return tx.core.ParkTurn(fence, reason) })
}

// FinishTurn implements store.Turns.
func (s *Store) FinishTurn(ctx context.Context, fence store.Fence, end store.TurnEnd) (store.StepSettled, error) {
	return transactEnd(ctx, s, &end, func(tx *txn) (store.StepSettled, error) { return tx.core.FinishTurn(fence, end) })
}

// ReleaseTurn implements store.Turns.
func (s *Store) ReleaseTurn(ctx context.Context, fence store.Fence) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.ReleaseTurn(fence) })
}

// RequestCancel implements store.Turns.
func (s *Store) RequestCancel(
	ctx context.Context,
	scope store.Scope,
	sessionID, turnID parley.ID,
	alsoQueued bool,
) (store.Cancelled, error) {
	return transactUrgent(ctx, s, func(tx *txn) (store.Cancelled, error) {
		return tx.core.RequestCancel(scope, sessionID, turnID, alsoQueued)
	})
}

// TakeCancel implements store.Turns.
func (s *Store) TakeCancel(
	ctx context.Context,
	scope store.Scope,
	sessionID, turnID parley.ID,
) (store.Cancelled, error) {
	return transactUrgent(
		ctx,
		s,
		func(tx *txn) (store.Cancelled, error) { return tx.core.TakeCancel(scope, sessionID, turnID) },
	)
}

// DeleteSession implements store.Turns.
func (s *Store) DeleteSession(ctx context.Context, scope store.Scope, sessionID parley.ID) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.DeleteSession(scope, sessionID) })
}

// UpdateSession implements store.Sessions.
func (s *Store) UpdateSession(
	ctx context.Context,
	scope store.Scope,
	id parley.ID,
	change store.SessionChange,
) (parley.Session, error) {
	return transact(ctx, s, func(tx *txn) (parley.Session, error) { return tx.core.UpdateSession(scope, id, change) })
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
		func(tx *txn) (store.Opened, error) { return tx.core.BackgroundSession(scope, agentID, most) },
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
		func(tx *txn) (parley.Message, error) { return tx.core.MarkMessage(scope, sessionID, id, change) },
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
	return s.write(ctx, func(tx *txn) error { return tx.core.SetClientSession(scope, principalID, client, sessionID) })
}

// Fork implements store.History.
func (s *Store) Fork(
	ctx context.Context,
	scope store.Scope,
	fork store.NewFork,
	claimBy parley.ID,
) (store.Opened, error) {
	return transact(ctx, s, func(tx *txn) (store.Opened, error) { return tx.core.Fork(scope, fork, claimBy) })
}

// ImportSession implements store.Imports.
func (s *Store) ImportSession(
	ctx context.Context,
	scope store.Scope,
	wanted store.NewImport,
) (store.Imported, error) {
	return transact(ctx, s, func(tx *txn) (store.Imported, error) { return tx.core.ImportSession(scope, wanted) })
}

// PlanImport implements store.Imports.
func (s *Store) PlanImport(ctx context.Context, scope store.Scope, wanted store.NewImport) (store.Imported, error) {
	return transact(ctx, s, func(tx *txn) (store.Imported, error) { return tx.core.PlanImport(scope, wanted) })
}
