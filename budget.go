package parley

// What calls may spend. A limit on tokens or money has a budget: one row per
// root session and per agent that is limited so, made when it is first needed.
// Before a call its estimate is reserved there, by one conditional update, in the
// transaction that opens the call; when the call ends, what it used takes the
// estimate's place. So a tree of sessions that run at once cannot spend more than
// its limit, on any number of machines. A call that does not fit parks its turn.

// Reserved is the estimate that a call holds while it is open, and keeps when
// nobody knows what it used.
type Reserved struct {
	Tokens int64  `json:"tokens"`
	Cost   *Money `json:"cost"` // null while the price is unknown
}

// WarnedBit is a limit's bit in Budget.Warned; 0 for a limit without a budget.
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
	}
	return 0
}

// DailyWarned are the bits that end with the day.
const DailyWarned = 4 | 8
