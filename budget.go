package parley

// Reserved is the estimate that a call holds while it is open, and keeps if its usage stays unknown.
type Reserved struct {
	Tokens int64  `json:"tokens"`
	Cost   *Money `json:"cost"` // null while the price is unknown
}

// WarnedBit returns a limit's bit in Budget.Warned; 0 for a limit without a budget.
func (l Limit) WarnedBit() int64 {
	switch l {
	case LimitSessionTokens:
		return 1
	case LimitSessionCost:
		return 2
	case LimitDailyTokens:
		return 4
	case LimitDailyCost:
		return 8
	case LimitChainTokens:
		return 16
	case LimitChainCost:
		return 32
	}
	return 0
}

// DailyWarned are the bits that are reset each day.
const DailyWarned = 4 | 8
