package sqlite

import (
	"context"

	"parley"
)

// WarnLimit implements parley.BudgetStore.
func (s *Store) WarnLimit(ctx context.Context, fence parley.Fence, warning parley.LimitWarning) error {
	return s.write(ctx, func(tx *txn) error { return tx.core.WarnLimit(fence, warning) })
}
