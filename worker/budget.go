package worker

import (
	"fmt"
	"sort"
	"time"

	"example.org/parley"
	"example.org/parley/prompt"
	"example.org/parley/runner"
	"example.org/parley/store"
)

// outputEstimate is the assumed length of an answer, in tokens, that neither max_tokens nor the model bounds.
const outputEstimate = prompt.DefaultReserve

// capped reports whether a limit on tokens or money may apply to the turn. Only the store knows the limits of a tool
// session's root, and of a chain.
func (b *budgets) capped() (bool, error) {
	if err := b.findChain(); err != nil {
		return false, err
	}
	return b.limits.inEffect.Budgeted() || b.limits.ofAgent.Budgeted() || b.inTree() || !b.chain.IsZero(), nil
}

// findChain finds, once, the limited chain that the turn works for. Only background sessions and the tool sessions
// below them do, and those are in background mode.
func (b *budgets) findChain() (err error) {
	if b.sought || b.claim.Session.Mode != parley.ModeBackground || b.fence.TurnID.IsZero() {
		return nil
	}
	if b.chain, err = b.w.store.Chain(b.writes, b.fence.WorkspaceID, b.fence.TurnID); err == nil {
		b.sought = true
	}
	return err
}

func (b *budgets) inTree() bool {
	s := &b.claim.Session
	return !s.RootID.IsZero() && s.RootID != s.ID
}

// scopes are the budgets that a turn's calls are charged to. Pointers to deleted subjects are nil.
type scopes struct {
	session, agent, root, rootAgent, chain *store.Budget
	limits, rootLimits                     parley.Limits // in effect
}

// priced reports whether a limit on money applies.
func (s *scopes) priced() bool {
	return s.limits.Priced() || s.rootLimits.Priced() || s.agent != nil && s.agent.Limits.Priced() ||
		s.chain != nil && s.chain.Limits.ChainCost != nil
}

// readScopes reads the limits and budgets in force, and creates missing budgets. It returns nil if nothing is limited.
func (b *budgets) readScopes() (*scopes, error) {
	for {
		s, err := b.lookAtScopes()
		if err != nil {
			return nil, err
		}
		var missing []store.BudgetSubject
		limited := false
		for _, one := range []struct {
			budget *store.Budget
			limits parley.Limits
		}{{s.session, s.limits}, {s.root, s.rootLimits}, {s.agent, limitsOf(s.agent)},
			{s.rootAgent, limitsOf(s.rootAgent)}} {
			if one.budget == nil || !one.limits.Budgeted() {
				continue
			}
			limited = true
			if !one.budget.Made {
				missing = append(missing, one.budget.BudgetSubject)
			}
		}
		if s.chain != nil {
			limited = true
			if !s.chain.Made {
				missing = append(missing, s.chain.BudgetSubject)
			}
		}
		switch {
		case !limited:
			return nil, nil
		case len(missing) == 0:
			return s, nil
		}
		if err := b.w.store.MakeBudgets(b.writes, b.fence.WorkspaceID, missing); err != nil {
			return nil, err
		}
	}
}

func limitsOf(b *store.Budget) parley.Limits {
	if b == nil {
		return parley.Limits{}
	}
	return b.Limits
}

// lookAtScopes reads them once and updates the turn's own limits.
func (b *budgets) lookAtScopes() (*scopes, error) {
	session := &b.claim.Session
	subjects := []store.BudgetSubject{
		{ID: session.ID, Scope: parley.BudgetOfSession},
		{ID: session.AgentID, Scope: parley.BudgetOfAgent},
	}
	if b.inTree() {
		subjects = append(subjects, store.BudgetSubject{ID: session.RootID, Scope: parley.BudgetOfSession})
	}
	if !b.chain.IsZero() {
		subjects = append(subjects, store.BudgetSubject{ID: b.chain, Scope: parley.BudgetOfChain})
	}
	found, err := b.w.store.Budgets(b.writes, b.fence.WorkspaceID, subjects)
	if err != nil {
		return nil, err
	}
	s := &scopes{}
	for i := range found {
		switch found[i].ID {
		case session.ID:
			s.session = &found[i]
		case session.AgentID:
			s.agent = &found[i]
		case b.chain:
			if found[i].Limits.Chained() { // else its limits were lifted
				s.chain = &found[i]
			}
		default:
			s.root = &found[i]
		}
	}
	if s.session == nil {
		return nil, parley.Errorf(parley.CodeFenced, "the session is gone")
	}
	if own := s.session.Limits; own.IsZero() {
		session.Limits = nil
	} else {
		session.Limits = &own
	}
	b.limits.set(limitsOf(s.agent))
	s.limits = b.limits.inEffect
	if s.root == nil {
		return s, nil
	}
	s.rootAgent = s.agent
	if s.root.AgentID != session.AgentID {
		others, err := b.w.store.Budgets(
			b.writes,
			b.fence.WorkspaceID,
			[]store.BudgetSubject{{ID: s.root.AgentID, Scope: parley.BudgetOfAgent}},
		)
		if err != nil {
			return nil, err
		}
		s.rootAgent = nil
		if len(others) > 0 {
			s.rootAgent = &others[0]
		}
	}
	s.rootLimits = s.root.Limits.Over(limitsOf(s.rootAgent))
	return s, nil
}

// charges returns what a call is charged to, by subject.
func (s *scopes) charges() (charges []store.Charge) {
	if s.limits.Budgeted() {
		own := s.session.Limits
		charges = append(
			charges,
			store.Charge{Subject: s.session.ID, Revision: s.session.Revision, Tokens: s.limits.SessionTokens,
				Cost: s.limits.SessionCost, DailyTokens: own.DailyTokens, DailyCost: own.DailyCost},
		)
	}
	if s.rootLimits.Budgeted() {
		own := s.root.Limits
		charges = append(
			charges,
			store.Charge{Subject: s.root.ID, Revision: s.root.Revision, Tokens: s.rootLimits.SessionTokens,
				Cost: s.rootLimits.SessionCost, DailyTokens: own.DailyTokens, DailyCost: own.DailyCost},
		)
	}
	if s.agent != nil && s.agent.Limits.Budgeted() {
		charges = append(charges, store.Charge{Subject: s.agent.ID, Revision: s.agent.Revision,
			DailyTokens: s.agent.Limits.DailyTokens, DailyCost: s.agent.Limits.DailyCost})
	}
	if s.rootAgent != nil && s.rootAgent != s.agent && s.rootAgent.Limits.Budgeted() {
		charges = append(charges, store.Charge{Subject: s.rootAgent.ID, Revision: s.rootAgent.Revision, Watched: true})
	}
	if s.chain != nil {
		charges = append(charges, store.Charge{Subject: s.chain.ID, Revision: s.chain.Revision,
			Tokens: s.chain.Limits.ChainTokens, Cost: s.chain.Limits.ChainCost})
	}
	sort.Slice(charges, func(i, j int) bool { return charges[i].Subject.Compare(charges[j].Subject) < 0 })
	return charges
}

// of returns the budget of a charge.
func (s *scopes) of(charge *store.Charge) *store.Budget {
	for _, b := range []*store.Budget{s.session, s.root, s.agent, s.rootAgent, s.chain} {
		if b != nil && b.ID == charge.Subject {
			return b
		}
	}
	return &store.Budget{}
}

// afford checks whether the next call fits into the turn's budgets, and returns what to reserve for it; both results
// are nil if nothing is limited.
func (b *budgets) afford(q *question) (*store.Reservation, *store.Refusal, error) {
	if capped, err := b.capped(); err != nil || !capped {
		return nil, nil, err
	}
	s, err := b.readScopes()
	if err != nil || s == nil {
		return nil, nil, err
	}
	reservation := &store.Reservation{Reserved: b.estimate(q), Charges: s.charges()}
	refusal := &store.Refusal{
		Reservation: *reservation,
		Reason:      parley.WaitBudget,
		Session:     b.claim.Session.Limits,
		Model:       b.claim.Session.Model,
	}
	if reservation.Cost == nil && s.priced() {
		refusal.Certain = true
		refusal.Sentence = fmt.Sprintf(
			"Money is limited here and the price of the model %q is not known. Give its price under models in "+
				"parley.yaml, choose another model, or limit tokens instead.",
			b.settings.Model,
		)
		return nil, refusal, nil
	}
	checks := b.checks(s, reservation)
	for i := range checks {
		if err := b.warnOf(&checks[i]); err != nil {
			return nil, nil, err
		}
	}
	for i := range checks {
		c := &checks[i]
		if c.spent+c.open+c.needs <= c.of {
			continue
		}
		refusal.Limit, refusal.Sentence = c.limit, c.sentence()
		refusal.Certain = c.scope == parley.BudgetOfTurn || c.usesUpChain()
		if c.limit == parley.LimitDailyTokens || c.limit == parley.LimitDailyCost {
			refusal.After = c.dayLeft + time.Second
		}
		return nil, refusal, nil
	}
	return reservation, nil, nil
}

// usedUp returns the failure of a turn whose call may not be tried again, because a budget was used up meanwhile: by
// other calls, or by the attempts before, if they were paid for.
func (b *budgets) usedUp(q *question) (*parley.Failure, error) {
	_, refusal, err := b.afford(q)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		if over := b.chainOver(refusal); over != nil {
			return over, nil
		}
		return b.limits.atLimit(refusal.Limit, "the budget was used up between two attempts"), nil
	}
	return &parley.Failure{
		Class:    parley.ClassLimit,
		Sentence: b.settings.Retry.Sentence(parley.ClassLimit),
		Detail:   "A budget was used up between two attempts, and has room again. Continue the turn.",
	}, nil
}

// estimate returns the most that a call is expected to use: its request and the longest possible answer.
func (b *budgets) estimate(q *question) parley.Reserved {
	if b.speaker != nil { // its calls are its own: what it tells of them is charged
		return parley.Reserved{Cost: new(parley.Money)}
	}
	output := int64(b.longestAnswer(q))
	input := q.tokens + 1
	return parley.Reserved{Tokens: input + output, Cost: b.info.Price.Most(input, output)}
}

// longestAnswer returns how many tokens an answer may have.
func (b *budgets) longestAnswer(q *question) int {
	switch {
	case q.encoded.Longest > 0:
		return q.encoded.Longest
	case q.call.MaxTokens != nil:
		return *q.call.MaxTokens
	case b.info.MaxOutput > 0:
		return b.info.MaxOutput
	}
	return outputEstimate
}

// check compares one limit with its use, in tokens or nanodollars.
type check struct {
	limit                  parley.Limit
	scope                  parley.BudgetScope
	subject                parley.ID // zero: the turn itself
	warned                 bool
	spent, open, needs, of int64
	dayLeft                time.Duration
}

// checks returns the limits that apply to a call.
func (b *budgets) checks(s *scopes, r *store.Reservation) (checks []check) {
	var cost int64
	if r.Cost != nil {
		cost = int64(*r.Cost)
	}
	add := func(c check, of *int64) {
		if of != nil {
			c.of = *of
			checks = append(checks, c)
		}
	}
	add(
		check{limit: parley.LimitTokens, scope: parley.BudgetOfTurn, spent: b.limits.tokens, needs: r.Tokens},
		s.limits.MaxTokens,
	)
	add(
		check{limit: parley.LimitCost, scope: parley.BudgetOfTurn, spent: int64(b.limits.cost), needs: cost},
		(*int64)(s.limits.MaxCost),
	)
	for i := range r.Charges {
		charge := &r.Charges[i]
		b := s.of(charge)
		c := check{scope: b.Scope, subject: b.ID, dayLeft: b.DayLeft}
		whole, wholeCost := parley.LimitSessionTokens, parley.LimitSessionCost
		if b.Scope == parley.BudgetOfChain {
			whole, wholeCost = parley.LimitChainTokens, parley.LimitChainCost
		}
		c.open, c.needs = b.ReservedTokens, r.Tokens
		c.limit, c.spent = whole, b.Tokens
		add(c.knowing(b), charge.Tokens)
		c.limit, c.spent = parley.LimitDailyTokens, b.DayTokens
		add(c.knowing(b), charge.DailyTokens)
		c.open, c.needs = int64(b.ReservedCost), cost
		c.limit, c.spent = wholeCost, int64(b.Cost)
		add(c.knowing(b), (*int64)(charge.Cost))
		c.limit, c.spent = parley.LimitDailyCost, int64(b.DayCost)
		add(c.knowing(b), (*int64)(charge.DailyCost))
	}
	return checks
}

func (c check) knowing(b *store.Budget) check {
	c.warned = b.Warned&c.limit.WarnedBit() != 0
	return c
}

// usesUpChain reports whether what a chain has spent leaves no room for the call, so that waiting for the calls under
// way would not help.
func (c *check) usesUpChain() bool { return c.scope == parley.BudgetOfChain && c.spent+c.needs > c.of }

func (c *check) warning() parley.LimitWarning {
	return parley.LimitWarning{Limit: c.limit, Scope: c.scope, Spent: c.spent, Of: c.of}
}

// warnOf warns that a limit is near. A budget is warned of once, by the first process to notice.
func (b *budgets) warnOf(c *check) error {
	warning := c.warning()
	switch {
	case b.fence.TurnID.IsZero(): // a preview of a session's window: no turn can carry the event
		return nil
	case c.scope == parley.BudgetOfTurn:
		return b.limits.warn(warning)
	case c.warned || warning.Share() < parley.WarnShare:
		return nil
	}
	err := b.persist(func() error { return b.w.store.WarnLimit(b.writes, b.fence, warning, c.subject) })
	if parley.ErrorCode(err) == parley.CodeConflict { // another process was first
		return nil
	}
	return err
}

// sentence says why a call does not fit and what helps.
func (c *check) sentence() string {
	warning := c.warning()
	amount := func(n int64) string {
		if warning.Money() {
			return "$" + parley.Money(n).String()
		}
		return fmt.Sprintf("%d tokens", n)
	}
	whose := map[parley.BudgetScope]string{
		parley.BudgetOfTurn: "This turn", parley.BudgetOfSession: "This session with its tool sessions",
		parley.BudgetOfAgent: "This agent, over all of its sessions,",
		parley.BudgetOfChain: "All work for one message, that of other agents included,",
	}[c.scope]
	when := ""
	if c.dayLeft > 0 && (c.limit == parley.LimitDailyTokens || c.limit == parley.LimitDailyCost) {
		when = " per day (UTC)"
	}
	used := amount(c.spent) + " are used"
	if c.open > 0 {
		used += ", " + amount(c.open) + " are held by calls under way"
	}
	holder := "session or its agent"
	switch c.scope {
	case parley.BudgetOfAgent:
		holder = "agent"
	case parley.BudgetOfChain:
		holder = "session or the agent where it began"
	}
	return fmt.Sprintf(
		"%s may use %s%s: %s, and the next call may need up to %s. Raise limits.%s of the %s, or lower max_tokens, "+
			"which bounds an answer.",
		whose,
		amount(c.of),
		when,
		used,
		amount(c.needs),
		c.limit,
		holder,
	)
}

// chainOver returns the failure of a turn whose chain has used up its budget; nil for any other refusal. Such a turn
// does not wait: those who wait for its answer would never hear of it.
func (b *budgets) chainOver(refusal *store.Refusal) *parley.Failure {
	if !refusal.Certain || refusal.Limit != parley.LimitChainTokens && refusal.Limit != parley.LimitChainCost {
		return nil
	}
	return &parley.Failure{
		Class:    parley.ClassLimit,
		Sentence: b.settings.Retry.Sentence(parley.ClassLimit),
		Detail:   string(refusal.Limit) + ": " + refusal.Sentence,
	}
}

// parkRefused parks a turn that does not fit its budgets. If room has appeared meanwhile, it asks for another try.
func (t *turn) parkRefused(refusal *store.Refusal) (runner.Next, error) {
	err := t.persist(func() error {
		_, err := t.w.store.ParkRefused(t.writes, t.fence, *refusal)
		return err
	})
	if parley.ErrorCode(err) == parley.CodeMore {
		t.position.steers = true
		return runner.AskNext, nil
	}
	return runner.Over, err
}

// charge records what an attempt cost.
func (l *limits) charge(settled *store.CallSettled, reservation *store.Reservation) {
	if reservation == nil {
		return
	}
	used, _ := settled.Charged(reservation.Reserved)
	l.tokens += used.Tokens
	if used.Cost != nil {
		l.cost += *used.Cost
	}
}

// keepPace parks a loop's turn if its session has used up its requests per minute; it returns false if the turn may
// begin.
func (t *turn) keepPace() (waits bool, err error) {
	perMinute := t.limits.inEffect.RequestsPerMinute
	if perMinute == nil || t.claim.Turn.LoopID.IsZero() || t.claim.Turn.Step > 0 {
		return false, nil
	}
	wait, err := t.w.store.TakeRate(t.writes, t.fence.WorkspaceID, t.fence.SessionID, *perMinute)
	if err != nil || wait == 0 {
		return false, err
	}
	_, err = t.parkRefused(&store.Refusal{
		Reason: parley.WaitRateLimit,
		After:  wait,
		Sentence: fmt.Sprintf(
			"This session takes %d requests a minute; its loop goes on in %s.",
			*perMinute,
			wait.Round(time.Second),
		),
	})
	return true, err
}
