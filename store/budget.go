package store

import (
	"context"
	"time"

	"example.org/parley"
)

// Budgets bound what calls may spend. Every root session, every agent and every chain of delegations with a limit on
// tokens or money has one budget row, made on first use. The transaction that opens a call reserves the call's estimate
// there with one conditional update; when the call ends, its actual usage replaces the estimate. So a tree of
// concurrent sessions cannot exceed its limit on any number of machines. A call that does not fit parks its turn.

// BudgetSubject identifies the owner of a budget.
type BudgetSubject struct {
	ID    parley.ID // of a session, of an agent, or of the message that began a chain
	Scope parley.BudgetScope
}

// Budget is what an agent, a session with its tool sessions, or a chain has spent and may spend.
type Budget struct {
	BudgetSubject
	AgentID  parley.ID     // of a session, or of the session where a chain began: its agent
	Limits   parley.Limits // the current ones; for an agent, those of its current version; for a chain, those in effect
	Made     bool          // false: no row exists yet, and the fields below are 0
	Revision int64         // raised by every change of the limits

	Tokens, DayTokens, ReservedTokens int64
	Cost, DayCost, ReservedCost       parley.Money
	Warned                            int64         // bits of the limits already warned about
	DayLeft                           time.Duration // of the UTC day, by the database's clock
}

// Charge is a budget that a call is charged to, with its limits.
type Charge struct {
	Subject     parley.ID
	Revision    int64 // of the budget when Limits were read
	Watched     bool  // nothing is charged; only the limits are checked
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

// Reservation is what a call reserves before it begins.
type Reservation struct {
	parley.Reserved
	Charges []Charge // by subject, so two calls cannot deadlock
}

// Refusal says why a turn cannot continue now, and when it can without intervention.
type Refusal struct {
	Reservation
	Reason   parley.WaitReason // budget or rate_limit
	Limit    parley.Limit      // "" for rate_limit and for an unknown price
	Sentence string            // for people: which limit, and what to do
	// whether freeing a budget cannot help: the turn's own limit, or an unknown price
	Certain bool
	After   time.Duration  // until the next automatic attempt; 0: only when something changes
	Session *parley.Limits // the session's own limits, as read
	Model   parley.ModelID // of the session, as read
}

// Budgets keeps what turns may spend, and how often somebody may ask.
type Budgets interface {
	// Budgets reads what turns may spend and have spent; it leaves out subjects that do not exist.
	Budgets(ctx context.Context, workspaceID parley.ID, subjects []BudgetSubject) ([]Budget, error)
	// Chain returns the message that began the chain for which a turn works, if the chain's tokens or money are
	// limited; zero otherwise. A person's or a schedule's message in a background session begins one; the turns of
	// tool sessions below work for their root's turn. The limits are those of the session where it began, else of that
	// session's agent.
	Chain(ctx context.Context, workspaceID, turnID parley.ID) (rootID parley.ID, err error)
	// MakeBudgets creates missing budgets from the spending in the record. It does not count calls that are open at
	// that moment.
	MakeBudgets(ctx context.Context, workspaceID parley.ID, subjects []BudgetSubject) error
	// WarnLimit tells the session's watchers that a turn approaches a limit: limit.warning. With a subject it warns
	// once, until the subject's limits change or, for a daily limit, the day ends; CodeConflict if it warned already.
	WarnLimit(ctx context.Context, fence Fence, warning parley.LimitWarning, subject parley.ID) error
	// ParkRefused parks a refused turn. CodeMore if the reason for the refusal no longer holds; then the caller tries
	// again. A turn with a cancel request is cancelled instead. The turn resumes when a call on one of its budgets
	// leaves room, when a limit changes, or after Refusal.After.
	ParkRefused(ctx context.Context, fence Fence, refusal Refusal) (parley.Turn, error)
	// TakeRate counts a request of a subject (a principal, a session) in a bucket that holds perMinute requests and
	// refills evenly. It returns 0 if the request is admitted; otherwise it returns how long to wait and counts
	// nothing.
	TakeRate(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (wait time.Duration, err error)
	// RateWait returns what TakeRate would return now, without counting.
	RateWait(ctx context.Context, workspaceID, subject parley.ID, perMinute int) (wait time.Duration, err error)
}

// Charged returns what to charge when a call ends: its usage; nothing if the provider refused it before sending
// anything; otherwise its estimate, and without one all that was reserved.
func (s *CallSettled) Charged(reserved parley.Reserved) (used parley.Reserved, estimated bool) {
	zero := parley.Money(0)
	switch {
	case s.Usage.InputTokens != nil && s.Usage.OutputTokens != nil:
		used = parley.Reserved{Tokens: *s.Usage.InputTokens + *s.Usage.OutputTokens, Cost: s.Cost}
	case !s.Uncounted():
		return parley.Reserved{Cost: &zero}, false
	case s.Estimate == nil:
		return reserved, true
	default:
		estimated = true
		used = parley.Reserved{Tokens: s.Estimate.InputTokens + s.Estimate.OutputTokens, Cost: s.Cost}
	}
	if used.Cost == nil {
		used.Cost = reserved.Cost
	}
	return used, estimated
}
