package dryrun

import (
	"context"
	"math"

	"example.org/parley"
	"example.org/parley/store"
)

// A dry run writes no summaries: what it is too long for, it fails on, and says so.

// RequestCompaction answers with one that rests for good.
func (m *Memory) RequestCompaction(
	_ context.Context,
	scope store.Scope,
	sessionID, _ parley.ID,
	reason parley.CompactionReason,
) (parley.Compaction, error) {
	return parley.Compaction{
		WorkspaceID: scope.WorkspaceID,
		SessionID:   sessionID,
		State:       parley.CompactionFailed,
		Reason:      reason,
		RestsUntil:  math.MaxInt64,
	}, nil
}

// ClaimCompactions finds none.
func (*Memory) ClaimCompactions(context.Context, parley.ID, []parley.ID, int) ([]store.CompactionClaim, error) {
	return nil, nil
}

// BeginCompaction is of claims that are never given.
func (*Memory) BeginCompaction(context.Context, store.CompactionFence, store.CompactionBegin) error {
	return errNoClaim
}

// SettleCompaction is of claims that are never given.
func (*Memory) SettleCompaction(
	context.Context,
	store.CompactionFence,
	store.CompactionSettle,
) (parley.Compaction, error) {
	return parley.Compaction{}, errNoClaim
}

// ReleaseCompaction is of claims that are never given.
func (*Memory) ReleaseCompaction(context.Context, store.CompactionFence) error { return errNoClaim }

// EnterSummary finds none that waits.
func (*Memory) EnterSummary(context.Context, store.Fence) (*parley.Message, error) { return nil, nil }

// Compaction finds none.
func (*Memory) Compaction(_ context.Context, scope store.Scope, sessionID parley.ID) (parley.Compaction, error) {
	return parley.Compaction{WorkspaceID: scope.WorkspaceID, SessionID: sessionID, State: parley.CompactionNone}, nil
}

var errNoClaim = parley.Errorf(parley.CodeFenced, "a dry run claims no compaction")
