package sqlite

import (
	"context"
	"encoding/json"
	"slices"

	"parley"
)

// The transitions: package transition says what each does, txn reads and writes.

// EnsureSession implements parley.TurnStore.
func (s *Store) EnsureSession(ctx context.Context, scope parley.Scope, session parley.NewSession, claimBy parley.ID) (parley.Opened, error) {
	return transact(ctx, s, func(tx *txn) (parley.Opened, error) { return tx.core.EnsureSession(scope, session, claimBy) })
}

// PostMessage implements parley.TurnStore.
func (s *Store) PostMessage(ctx context.Context, scope parley.Scope, sessionID parley.ID, message parley.NewMessage, claimBy parley.ID) (parley.Posted, error) {
	return transact(ctx, s, func(tx *txn) (parley.Posted, error) { return tx.core.PostMessage(scope, sessionID, message, claimBy) })
}

// EditQueued implements parley.TurnStore.
func (s *Store) EditQueued(ctx context.Context, scope parley.Scope, author, messageID parley.ID, content json.RawMessage) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.EditQueued(scope, author, messageID, content) })
}

// RemoveQueued implements parley.TurnStore.
func (s *Store) RemoveQueued(ctx context.Context, scope parley.Scope, messageID parley.ID) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.RemoveQueued(scope, messageID) })
}

// Claim implements parley.TurnStore.
func (s *Store) Claim(ctx context.Context, processID parley.ID, n int, occupancy parley.Occupancy) ([]parley.Claim, error) {
	return transact(ctx, s, func(tx *txn) ([]parley.Claim, error) { return tx.core.Claim(processID, n, occupancy, candidates{tx}) })
}

// RecoverTurn implements parley.TurnStore.
func (s *Store) RecoverTurn(ctx context.Context, fence parley.Fence) (parley.TurnState, error) {
	return transact(ctx, s, func(tx *txn) (parley.TurnState, error) { return tx.core.RecoverTurn(fence) })
}

// PendingSteers implements parley.TurnStore.
func (s *Store) PendingSteers(ctx context.Context, fence parley.Fence) ([]parley.Message, error) {
	return transact(ctx, s, func(tx *txn) ([]parley.Message, error) { return tx.core.PendingSteers(fence) })
}

// BeginStep implements parley.TurnStore.
func (s *Store) BeginStep(ctx context.Context, fence parley.Fence, begin parley.StepBegin) (parley.StepBegun, error) {
	return transact(ctx, s, func(tx *txn) (parley.StepBegun, error) { return tx.core.BeginStep(fence, begin) })
}

// NoteProgress implements parley.TurnStore.
func (s *Store) NoteProgress(ctx context.Context, fence parley.Fence, note parley.ProgressNote) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.NoteProgress(fence, note) })
}

// RetryCall implements parley.TurnStore.
func (s *Store) RetryCall(ctx context.Context, fence parley.Fence, step int, failed parley.CallSettled, notice parley.RetryNotice) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.RetryCall(fence, step, failed, notice) })
}

// BeginCall implements parley.TurnStore.
func (s *Store) BeginCall(ctx context.Context, fence parley.Fence, begin parley.StepBegin) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.BeginCall(fence, begin) })
}

// OpenBlock implements parley.TurnStore.
func (s *Store) OpenBlock(ctx context.Context, fence parley.Fence, open parley.BlockOpen) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.OpenBlock(fence, open) })
}

// AppendVersions implements parley.TurnStore.
func (s *Store) AppendVersions(ctx context.Context, versions []parley.FencedVersion) (parley.Appended, error) {
	return transact(ctx, s, func(tx *txn) (appended parley.Appended, err error) {
		for i := range versions {
			fence, v := versions[i].Fence, &versions[i].Version
			if slices.Contains(appended.Fenced, fence) {
				continue
			}
			if _, err := tx.core.Holds(fence); parley.ErrorCode(err) == parley.CodeFenced {
				appended.Fenced = append(appended.Fenced, fence)
				continue
			} else if err != nil {
				return parley.Appended{}, err
			}
			// A flush that comes behind the settle adds nothing: the message has its text.
			if _, err := tx.exec(`INSERT INTO versions (message_id, n, kind, offset, "end", chunks, text, created_at) SELECT id, ?, ?, ?, ?, ?, ?, ?
 FROM messages WHERE id = ? AND session_id = ? AND status = 'streaming' ON CONFLICT DO NOTHING`,
				v.N, string(v.Kind), v.Offset, v.End, v.Chunks, v.Text, tx.now, v.MessageID, fence.SessionID); err != nil {
				return parley.Appended{}, err
			}
		}
		return appended, nil
	})
}

// SettleStep implements parley.TurnStore.
func (s *Store) SettleStep(ctx context.Context, fence parley.Fence, settle parley.StepSettle) (parley.StepSettled, error) {
	return transactEnd(ctx, s, settle.End, func(tx *txn) (parley.StepSettled, error) { return tx.core.SettleStep(fence, settle) })
}

// SettleTool implements parley.TurnStore.
func (s *Store) SettleTool(ctx context.Context, fence parley.Fence, settle parley.ToolSettle) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.SettleTool(fence, settle) })
}

// ParkTurn implements parley.TurnStore.
func (s *Store) ParkTurn(ctx context.Context, fence parley.Fence, reason parley.WaitReason) (parley.Turn, error) {
	return transact(ctx, s, func(tx *txn) (parley.Turn, error) { return tx.core.ParkTurn(fence, reason) })
}

// FinishTurn implements parley.TurnStore.
func (s *Store) FinishTurn(ctx context.Context, fence parley.Fence, end parley.TurnEnd) (parley.StepSettled, error) {
	return transactEnd(ctx, s, &end, func(tx *txn) (parley.StepSettled, error) { return tx.core.FinishTurn(fence, end) })
}

// ReleaseTurn implements parley.TurnStore.
func (s *Store) ReleaseTurn(ctx context.Context, fence parley.Fence) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.ReleaseTurn(fence) })
}

// RequestCancel implements parley.TurnStore.
func (s *Store) RequestCancel(ctx context.Context, scope parley.Scope, sessionID, turnID parley.ID, alsoQueued bool) (parley.Cancelled, error) {
	return transactUrgent(ctx, s, func(tx *txn) (parley.Cancelled, error) {
		return tx.core.RequestCancel(scope, sessionID, turnID, alsoQueued)
	})
}

// TakeCancel implements parley.TurnStore.
func (s *Store) TakeCancel(ctx context.Context, scope parley.Scope, sessionID, turnID parley.ID) (parley.Cancelled, error) {
	return transactUrgent(ctx, s, func(tx *txn) (parley.Cancelled, error) { return tx.core.TakeCancel(scope, sessionID, turnID) })
}

// DeleteSession implements parley.TurnStore.
func (s *Store) DeleteSession(ctx context.Context, scope parley.Scope, sessionID parley.ID) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.DeleteSession(scope, sessionID) })
}

// UpdateSession applies a change. It is not activity: updated_at stays, and the
// feed alone tells of it.
func (s *Store) UpdateSession(ctx context.Context, scope parley.Scope, id parley.ID, change parley.SessionChange) (parley.Session, error) {
	return transact(ctx, s, func(tx *txn) (parley.Session, error) { return tx.core.UpdateSession(scope, id, change) })
}

// MarkMessage changes a message's marks. Marks that are as they were leave no
// event.
func (s *Store) MarkMessage(ctx context.Context, scope parley.Scope, sessionID, id parley.ID, change parley.MarksChange) (parley.Message, error) {
	return transact(ctx, s, func(tx *txn) (parley.Message, error) { return tx.core.MarkMessage(scope, sessionID, id, change) })
}

// SetClientSession notes which session a client has open, instead of the one
// before.
func (s *Store) SetClientSession(ctx context.Context, scope parley.Scope, principalID parley.ID, client string, sessionID parley.ID) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.SetClientSession(scope, principalID, client, sessionID) })
}

// Fork implements parley.HistoryStore.
func (s *Store) Fork(ctx context.Context, scope parley.Scope, fork parley.NewFork, claimBy parley.ID) (parley.Opened, error) {
	return transact(ctx, s, func(tx *txn) (parley.Opened, error) { return tx.core.Fork(scope, fork, claimBy) })
}
