package store

import (
	"context"
	"time"

	"example.org/parley"
)

// What calls may spend. A limit on tokens or money has a budget: one row per
// root session and per agent that is limited so, made when it is first needed.
// Before a call its estimate is reserved there, by one conditional update, in the
// transaction that opens the call; when the call ends, what it used takes the
// estimate's place. So a tree of sessions that run at once cannot spend more than
// its limit, on any number of machines. A call that does not fit parks its turn.

// BudgetSubject is what has a budget.
type BudgetSubject struct {
	ID    parley.ID // of a session or of an agent
	Scope parley.BudgetScope
}

// Budget is what a session with its tool sessions, or an agent, has spent of
// what it may.
type Budget struct {
	BudgetSubject
	AgentID  parley.ID     // of a session: its agent
	Limits   parley.Limits // as they are set on it now, on an agent in its current version
	Made     bool          // false: there is no row yet, and what follows is 0
	Revision int64         // raised by every change of the limits

	Tokens, DayTokens, ReservedTokens int64
	Cost, DayCost, ReservedCost       parley.Money
	Warned                            int64         // bits of the limits that were warned of
	DayLeft                           time.Duration // of the UTC day, by the database's clock
}

// Charge is a budget that a call is charged to, with the limits that hold there.
type Charge struct {
	Subject     parley.ID
	Revision    int64 // of the budget that Limits were read with
	Watched     bool  // nothing is charged: only its limits count, for others
	Tokens      *int64
	Cost        *parley.Money
	DailyTokens *int64
	DailyCost   *parley.Money
}

// Fits reports whether a budget has room for an estimate under the charge's limits.
func (c *Charge) Fits(b *Budget, estimate parley.Reserved) bool {
	var cost parley.Money
	if estimate.Cost != nil {
		cost = *estimate.Cost
	}
	return c.Watched ||
		(c.Tokens == nil || b.Tokens+b.ReservedTokens+estimate.Tokens <= *c.Tokens) &&
			(c.DailyTokens == nil || b.DayTokens+b.ReservedTokens+estimate.Tokens <= *c.DailyTokens) &&
			(c.Cost == nil || b.Cost+b.ReservedCost+cost <= *c.Cost) &&
			(c.DailyCost == nil || b.DayCost+b.ReservedCost+cost <= *c.DailyCost)
}

// Reservation is what a call wants to be sure of before it begins.
type Reservation struct {
	parley.Reserved
	Charges []Charge // by subject, so that no two calls wait for each other
}

// Refusal is why a turn cannot go on now, and when it can without anybody's help.
type Refusal struct {
	Reservation
	Reason   parley.WaitReason // budget or rate_limit
	Limit    parley.Limit      // "" for rate_limit and for an unknown price
	Sentence string            // for people: which limit, and what to do
	// it does not depend on the budgets' room: the turn's own limit, or a price that nobody knows
	Certain bool
	After   time.Duration  // until it is tried again by itself; 0: when something changes
	Session *parley.Limits // the session's own limits, as they were read
	Model   parley.ModelID // of the session, as it was read
}

// Budgets keeps what turns may spend, and how often somebody may ask.
type Budgets interface {
	// Budgets reads the limits and budgets of subjects, in their order. A subject
	// that is not there is left out.
	Budgets(ctx context.Context, workspaceID parley.ID, subjects []BudgetSubject) ([]Budget, error)
	// MakeBudgets makes those that are not there from what the record says was spent.
	// Calls that are open just then are not counted.
	MakeBudgets(ctx context.Context, workspaceID parley.ID, subjects []BudgetSubject) error
	// WarnLimit tells the session's watchers that a turn comes near a limit:
	// limit.warning. With a subject it does so once, until its limits change or,
	// for a daily one, the day is over: CodeConflict when it did before.
	WarnLimit(ctx context.Context, fence Fence, warning parley.LimitWarning, subject parley.ID) error
	// ParkRefused makes a turn wait that was refused. CodeMore when what it was
	// refused for holds no more: then it is to be tried again. A turn that was asked
	// to stop is cancelled instead. It goes on when a call that shared one of its
	// budgets has left room, when a limit is changed, or after Refusal.After.
	ParkRefused(ctx context.Context, fence Fence, refusal Refusal) (parley.Turn, error)
	// TakeRate counts a request of a subject (a principal, a session) if fewer than
	// perMinute came before it: at most so many at once, and one more for each part of
	// a minute. 0 means it is admitted; else it is how long to wait, and nothing was
	// counted.
	TakeRate(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (wait time.Duration, err error)
	// RateWait is what TakeRate would answer now; nothing is counted.
	RateWait(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (wait time.Duration, err error)
}

// Charged is what a call's end is charged with: its usage, nothing when the
// provider refused it before anything came, else its estimate.
func (s *CallSettled) Charged(estimate parley.Reserved) (used parley.Reserved, estimated bool) {
	zero := parley.Money(0)
	switch {
	case s.Usage.InputTokens != nil && s.Usage.OutputTokens != nil:
		used = parley.Reserved{Tokens: *s.Usage.InputTokens + *s.Usage.OutputTokens, Cost: s.Cost}
		if used.Cost == nil {
			used.Cost = estimate.Cost
		}
		return used, false
	case s.Outcome == parley.CallFailed && s.FirstTokenMS == nil:
		return parley.Reserved{Cost: &zero}, false
	}
	return estimate, true
}
