package parley

import (
	"fmt"
	"time"
)

// Limit names one of the limits that an agent or a session may set: a field of Limits.
type Limit string

// The limits. limit.warning reports that WarnShare of one is used. Reaching the limit of steps, tool calls or seconds
// fails the turn with ClassLimit; a call that tokens or money do not allow parks the turn, which waits for budget. A
// chain of delegations whose budget is used up fails its turns too: nobody would be told of one that waits.
const (
	LimitSteps         Limit = "max_steps"
	LimitToolCalls     Limit = "max_tool_calls"
	LimitTokens        Limit = "max_tokens"
	LimitCost          Limit = "max_cost"
	LimitSeconds       Limit = "max_seconds"
	LimitSessionTokens Limit = "session_tokens"
	LimitSessionCost   Limit = "session_cost"
	LimitDailyTokens   Limit = "daily_tokens"
	LimitDailyCost     Limit = "daily_cost"
	LimitChainTokens   Limit = "chain_tokens"
	LimitChainCost     Limit = "chain_cost"
)

// BudgetLimits lists the limits on tokens and money: a call that exceeds one does not begin.
func BudgetLimits() []Limit {
	return []Limit{
		LimitTokens, LimitCost, LimitSessionTokens, LimitSessionCost, LimitDailyTokens, LimitDailyCost,
		LimitChainTokens, LimitChainCost,
	}
}

// WarnShare is the used part of a limit at which a warning is given.
const WarnShare = 0.8

// Limits bound what turns may use. All are optional; nil means "not set here". They are set on an agent and on a
// session; if both set a field, the session's applies, except that the daily limits count separately: an agent's over
// all of its sessions, a session's over its own tree. The agent's current version provides them, whichever version a
// turn runs: they bound it from outside.
type Limits struct {
	MaxSteps          *int   `json:"max_steps,omitempty" minimum:"1" maximum:"10000" doc:"Model calls with their tools per turn; default 50. At the limit the turn fails as limit and can be continued."`
	MaxToolCalls      *int   `json:"max_tool_calls,omitempty" minimum:"1" maximum:"100000" doc:"Tool calls per turn. At the limit the turn fails as limit and can be continued."`
	MaxTokens         *int64 `json:"max_tokens,omitempty" minimum:"1" maximum:"1000000000000" doc:"Tokens per turn, input and output. A call that could exceed it parks the turn, which waits for budget."`
	MaxCost           *Money `json:"max_cost,omitempty" minimum:"0" doc:"US dollars per turn. A call that could exceed it parks the turn, which waits for budget."`
	MaxSeconds        *int   `json:"max_seconds,omitempty" minimum:"1" maximum:"604800" doc:"Seconds that a turn may run, without waiting time; default 3600. At the limit its model call or tool is stopped, the turn fails as limit and can be continued."`
	SessionTokens     *int64 `json:"session_tokens,omitempty" minimum:"1" maximum:"1000000000000" doc:"Tokens for the session's whole record, with its tool sessions."`
	SessionCost       *Money `json:"session_cost,omitempty" minimum:"0" doc:"US dollars for the session's whole record, with its tool sessions."`
	DailyTokens       *int64 `json:"daily_tokens,omitempty" minimum:"1" maximum:"1000000000000" doc:"Tokens per UTC day: for all sessions of an agent, or for one session with its tool sessions."`
	DailyCost         *Money `json:"daily_cost,omitempty" minimum:"0" doc:"US dollars per UTC day: for all sessions of an agent, or for one session with its tool sessions."`
	ChainTokens       *int64 `json:"chain_tokens,omitempty" minimum:"1" maximum:"1000000000000" doc:"Tokens for everything that one message in an agent's background session begins: its turn, and the turns of all agents that work for it by delegations. A turn that could exceed it fails as limit."`
	ChainCost         *Money `json:"chain_cost,omitempty" minimum:"0" doc:"US dollars for everything that one message in an agent's background session begins, as chain_tokens."`
	RequestsPerMinute *int   `json:"requests_per_minute,omitempty" minimum:"1" maximum:"1000000" doc:"Messages that ask the agent for something, per minute and session. Further ones are answered 429."`
}

// The bounds of limits.
const (
	MaxLimitSteps     = 10_000
	MaxLimitToolCalls = 100_000
	MaxLimitTokens    = 1_000_000_000_000
	MaxLimitCost      = Money(1_000_000 * 1e9)
	MaxLimitSeconds   = 7 * 24 * 60 * 60
	MaxLimitPerMinute = 1_000_000
)

// MarshalJSON writes null for absent fields.
func (l Limits) MarshalJSON() ([]byte, error) {
	return EncodeJSON(struct {
		MaxSteps          *int   `json:"max_steps"`
		MaxToolCalls      *int   `json:"max_tool_calls"`
		MaxTokens         *int64 `json:"max_tokens"`
		MaxCost           *Money `json:"max_cost"`
		MaxSeconds        *int   `json:"max_seconds"`
		SessionTokens     *int64 `json:"session_tokens"`
		SessionCost       *Money `json:"session_cost"`
		DailyTokens       *int64 `json:"daily_tokens"`
		DailyCost         *Money `json:"daily_cost"`
		ChainTokens       *int64 `json:"chain_tokens"`
		ChainCost         *Money `json:"chain_cost"`
		RequestsPerMinute *int   `json:"requests_per_minute"`
	}(l))
}

// IsZero reports whether nothing is set.
func (l Limits) IsZero() bool { return l == Limits{} }

// Over returns l with gaps filled from the wider scope, except the daily limits: they count separately for each scope.
func (l Limits) Over(wider Limits) Limits {
	fill(&l.MaxSteps, wider.MaxSteps)
	fill(&l.MaxToolCalls, wider.MaxToolCalls)
	fill(&l.MaxTokens, wider.MaxTokens)
	fill(&l.MaxCost, wider.MaxCost)
	fill(&l.MaxSeconds, wider.MaxSeconds)
	fill(&l.SessionTokens, wider.SessionTokens)
	fill(&l.SessionCost, wider.SessionCost)
	fill(&l.ChainTokens, wider.ChainTokens)
	fill(&l.ChainCost, wider.ChainCost)
	fill(&l.RequestsPerMinute, wider.RequestsPerMinute)
	return l
}

// Fill returns l with all gaps filled, including the daily limits: it joins two sets of one scope.
func (l Limits) Fill(wider Limits) Limits {
	l = l.Over(wider)
	fill(&l.DailyTokens, wider.DailyTokens)
	fill(&l.DailyCost, wider.DailyCost)
	return l
}

func fill[T any](field **T, wider *T) {
	if *field == nil {
		*field = wider
	}
}

// Budgeted reports whether tokens or money are limited, other than those of chains.
func (l Limits) Budgeted() bool {
	return l.MaxTokens != nil || l.SessionTokens != nil || l.DailyTokens != nil || l.Priced()
}

// Priced reports whether money is limited, other than that of chains.
func (l Limits) Priced() bool { return l.MaxCost != nil || l.SessionCost != nil || l.DailyCost != nil }

// Chained reports whether tokens or money of chains are limited: of everything that a message in a background session
// begins.
func (l Limits) Chained() bool { return l.ChainTokens != nil || l.ChainCost != nil }

// Steps returns how many steps a turn may take.
func (l Limits) Steps() int {
	if l.MaxSteps == nil {
		return DefaultMaxSteps
	}
	return *l.MaxSteps
}

// Time returns how long a turn may run.
func (l Limits) Time() time.Duration {
	if l.MaxSeconds == nil {
		return DefaultMaxSeconds * time.Second
	}
	return time.Duration(*l.MaxSeconds) * time.Second
}

// Validate reports the field that breaks a rule.
func (l Limits) Validate() error {
	for _, field := range []struct {
		name  Limit
		value *int
		most  int
	}{
		{LimitSteps, l.MaxSteps, MaxLimitSteps}, {LimitToolCalls, l.MaxToolCalls, MaxLimitToolCalls},
		{LimitSeconds, l.MaxSeconds, MaxLimitSeconds}, {"requests_per_minute", l.RequestsPerMinute, MaxLimitPerMinute},
	} {
		if field.value != nil && (*field.value < 1 || *field.value > field.most) {
			return InvalidField(
				"limits."+string(field.name),
				"must lie between 1 and %d; null for no limit",
				field.most,
			)
		}
	}
	for _, field := range []struct {
		name  Limit
		value *int64
	}{
		{LimitTokens, l.MaxTokens}, {LimitSessionTokens, l.SessionTokens}, {LimitDailyTokens, l.DailyTokens},
		{LimitChainTokens, l.ChainTokens},
	} {
		if field.value != nil && (*field.value < 1 || *field.value > MaxLimitTokens) {
			return InvalidField(
				"limits."+string(field.name),
				"must lie between 1 and %d tokens; null for no limit",
				int64(MaxLimitTokens),
			)
		}
	}
	for _, field := range []struct {
		name  Limit
		value *Money
	}{
		{LimitCost, l.MaxCost}, {LimitSessionCost, l.SessionCost}, {LimitDailyCost, l.DailyCost},
		{LimitChainCost, l.ChainCost},
	} {
		if field.value != nil && (*field.value < 0 || *field.value > MaxLimitCost) {
			return InvalidField(
				"limits."+string(field.name),
				"must lie between 0 and %s US dollars; null for no limit",
				MaxLimitCost,
			)
		}
	}
	return nil
}

// LimitsPatch changes limits one by one; null lifts a limit.
type LimitsPatch struct {
	MaxSteps          Change[*int]   `json:"max_steps,omitzero"`
	MaxToolCalls      Change[*int]   `json:"max_tool_calls,omitzero"`
	MaxTokens         Change[*int64] `json:"max_tokens,omitzero"`
	MaxCost           Change[*Money] `json:"max_cost,omitzero"`
	MaxSeconds        Change[*int]   `json:"max_seconds,omitzero"`
	SessionTokens     Change[*int64] `json:"session_tokens,omitzero"`
	SessionCost       Change[*Money] `json:"session_cost,omitzero"`
	DailyTokens       Change[*int64] `json:"daily_tokens,omitzero"`
	DailyCost         Change[*Money] `json:"daily_cost,omitzero"`
	ChainTokens       Change[*int64] `json:"chain_tokens,omitzero"`
	ChainCost         Change[*Money] `json:"chain_cost,omitzero"`
	RequestsPerMinute Change[*int]   `json:"requests_per_minute,omitzero"`
}

// Over applies the patch to limits; a nil patch lifts them all.
func (p *LimitsPatch) Over(l Limits) Limits {
	if p == nil {
		return Limits{}
	}
	p.MaxSteps.over(&l.MaxSteps)
	p.MaxToolCalls.over(&l.MaxToolCalls)
	p.MaxTokens.over(&l.MaxTokens)
	p.MaxCost.over(&l.MaxCost)
	p.MaxSeconds.over(&l.MaxSeconds)
	p.SessionTokens.over(&l.SessionTokens)
	p.SessionCost.over(&l.SessionCost)
	p.DailyTokens.over(&l.DailyTokens)
	p.DailyCost.over(&l.DailyCost)
	p.ChainTokens.over(&l.ChainTokens)
	p.ChainCost.over(&l.ChainCost)
	p.RequestsPerMinute.over(&l.RequestsPerMinute)
	return l
}

// LimitWarning is the data of limit.warning, without the turn: Spent of Of are used, in tokens, steps, tool calls,
// seconds or US dollars.
type LimitWarning struct {
	Limit Limit
	Scope BudgetScope // whose limit it is: a turn's, a session's, an agent's or a chain's
	Spent int64       // in nanodollars for limits on money
	Of    int64
}

// Money reports whether the amounts are nanodollars.
func (w LimitWarning) Money() bool {
	switch w.Limit {
	case LimitCost, LimitSessionCost, LimitDailyCost, LimitChainCost:
		return true
	}
	return false
}

// Share returns the used part of the limit.
func (w LimitWarning) Share() float64 {
	if w.Of <= 0 {
		return 1
	}
	return float64(w.Spent) / float64(w.Of)
}

// RateLimited refuses a request that comes too early.
func RateLimited(whose string, perMinute int, wait time.Duration) error {
	wait = max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
	return &Error{
		Code:       CodeRateLimited,
		RetryAfter: wait,
		Message: fmt.Sprintf(
			"%s takes %d requests per minute; wait %s and send it again, or ask an admin to raise requests_per_minute",
			whose,
			perMinute,
			wait,
		),
	}
}

// TooManySignIns refuses a sign-in that comes too early.
func TooManySignIns(wait time.Duration) error {
	wait = max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
	return &Error{
		Code:       CodeRateLimited,
		RetryAfter: wait,
		Message: fmt.Sprintf(
			"One key may sign in at most %d times per minute; wait %s and try again",
			SignInsPerMinute,
			wait,
		),
	}
}

// TooManyWrongKeys refuses a wrong key from an address that has sent many.
func TooManyWrongKeys(wait time.Duration) error {
	wait = max(time.Second, (wait + time.Second - 1).Truncate(time.Second))
	return &Error{
		Code:       CodeRateLimited,
		RetryAfter: wait,
		Message: fmt.Sprintf(
			"This key is wrong, and so were many others from this address; wait %s before the next attempt. A valid "+
				"key is accepted immediately.",
			wait,
		),
	}
}

// TooManyStreams refuses a stream beyond the number that a caller may have open.
func TooManyStreams(who string, most int, wait time.Duration) error {
	return &Error{
		Code:       CodeRateLimited,
		RetryAfter: wait,
		Message: fmt.Sprintf(
			"%s as many streams open as this server allows (%d); end one, or wait %s and try again. "+
				"One stream of GET /v1/events follows many sessions.",
			who,
			most,
			wait,
		),
	}
}

// BudgetScope is what a limit applies to.
type BudgetScope string

// The scopes.
const (
	BudgetOfTurn    BudgetScope = "turn"
	BudgetOfSession BudgetScope = "session" // with its tool sessions
	BudgetOfAgent   BudgetScope = "agent"   // all of its sessions
	BudgetOfChain   BudgetScope = "chain"   // all that a message in a background session begins
)
