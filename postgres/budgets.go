package postgres

import (
	"context"

	"parley"
)

// WarnLimit implements parley.BudgetStore.
func (s *Store) WarnLimit(ctx context.Context, fence parley.Fence, warning parley.LimitWarning) error {
	return alone(ctx, s, fence.WorkspaceID, func(a *attempt) error { return a.tx.WarnLimit(fence, warning) })
}
