package dryrun

import (
	"context"
	"math"

	"example.org/parley"
	"example.org/parley/store"
)

// A dry run writes no summaries: if the conversation is too long, it fails and says so.

// RequestCompaction returns a compaction that rests forever.
func (m *Memory) RequestCompaction(
	_ context.Context,
	scope store.Scope,
	sessionID parley.ID,
	wanted store.NewCompaction,
) (parley.Compaction, error) {
	return parley.Compaction{
		WorkspaceID: scope.WorkspaceID,
		SessionID:   sessionID,
		State:       parley.CompactionFailed,
		Reason:      wanted.Reason,
		RestsUntil:  math.MaxInt64,
	}, nil
}

// ClaimCompactions finds none.
func (*Memory) ClaimCompactions(
	context.Context,
	parley.ID,
	[]parley.ID,
	store.Occupancy,
) ([]store.CompactionClaim, error) {
	return nil, nil
}

// BeginCompaction always fails: no compaction is ever claimed.
func (*Memory) BeginCompaction(context.Context, store.CompactionFence, store.CompactionBegin) error {
	return errNoClaim
}

// SettleCompaction always fails: no compaction is ever claimed.
func (*Memory) SettleCompaction(
	context.Context,
	store.CompactionFence,
	store.CompactionSettle,
) (parley.Compaction, error) {
	return parley.Compaction{}, errNoClaim
}

// ReleaseCompaction always fails: no compaction is ever claimed.
func (*Memory) ReleaseCompaction(context.Context, store.CompactionFence) error { return errNoClaim }

// EnterSummary finds no waiting summary.
func (*Memory) EnterSummary(context.Context, store.Fence) (*parley.Message, error) { return nil, nil }

// Compaction finds none.
func (*Memory) Compaction(_ context.Context, scope store.Scope, sessionID parley.ID) (parley.Compaction, error) {
	return parley.Compaction{WorkspaceID: scope.WorkspaceID, SessionID: sessionID, State: parley.CompactionNone}, nil
}

var errNoClaim = parley.Errorf(parley.CodeFenced, "a dry run claims no compaction")
