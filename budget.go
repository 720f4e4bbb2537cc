package parley

import "context"

// BudgetStore keeps what turns may spend.
type BudgetStore interface {
	// WarnLimit tells the session's watchers that a turn comes near a limit:
	// limit.warning.
	WarnLimit(ctx context.Context, fence Fence, warning LimitWarning) error
}
