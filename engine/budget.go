package engine

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// SessionBudget is what a session with its tool sessions, and its agent, may spend and have spent. A tool session shows
// its root's.
type SessionBudget struct {
	SessionID parley.ID      `json:"session_id" doc:"The root of a tool session's tree."`
	AgentID   parley.ID      `json:"agent_id"`
	Limits    parley.Limits  `json:"limits" doc:"In effect: the session's own, else its agent's, without the daily ones."`
	Session   Spending       `json:"session"`
	Agent     *Spending      `json:"agent" doc:"Over all of the agent's sessions; null unless the agent's tokens or money are limited."`
	Chain     *ChainSpending `json:"chain" doc:"Of a background session: the chain that its latest turn works for; null unless chains are limited."`
}

// ChainSpending is what was spent of the budget of a chain: by the turn of the message that began it, and by the turns
// of all agents that worked for it. Reserved is held by calls under way.
type ChainSpending struct {
	RootID         parley.ID     `json:"root_id" doc:"The message that began the chain."`
	ChainTokens    *int64        `json:"chain_tokens" doc:"The limit, of the session where it began or of that session's agent."`
	ChainCost      *parley.Money `json:"chain_cost" doc:"The limit, of the session where it began or of that session's agent."`
	Tokens         int64         `json:"tokens"`
	Cost           parley.Money  `json:"cost"`
	ReservedTokens int64         `json:"reserved_tokens"`
	ReservedCost   parley.Money  `json:"reserved_cost"`
}

// Spending is what was spent of a budget. Reserved is held by calls under way.
type Spending struct {
	DailyTokens    *int64        `json:"daily_tokens" doc:"The limit per UTC day."`
	DailyCost      *parley.Money `json:"daily_cost" doc:"The limit per UTC day."`
	Tokens         int64         `json:"tokens" doc:"Of the whole record; for an agent, since its budget began."`
	Cost           parley.Money  `json:"cost"`
	TodayTokens    int64         `json:"today_tokens"`
	TodayCost      parley.Money  `json:"today_cost"`
	ReservedTokens int64         `json:"reserved_tokens"`
	ReservedCost   parley.Money  `json:"reserved_cost"`
	DayEndsAt      parley.Time   `json:"day_ends_at"`
}

// Budget reads what a session may spend and has spent.
func (e *Engine) Budget(ctx context.Context, principal parley.Principal, id parley.ID) (_ SessionBudget, err error) {
	ctx, call, err := e.enter(ctx, principal, "getBudget", ReadSessions, of(id))
	if err != nil {
		return SessionBudget{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	session, err := e.store.Session(ctx, scope, id)
	if err == nil && !session.RootID.IsZero() && session.RootID != id {
		session, err = e.store.Session(ctx, scope, session.RootID)
	}
	if err != nil {
		return SessionBudget{}, err
	}
	budgets, err := e.store.Budgets(ctx, scope.WorkspaceID, []store.BudgetSubject{
		{ID: session.ID, Scope: parley.BudgetOfSession}, {ID: session.AgentID, Scope: parley.BudgetOfAgent}})
	if err != nil {
		return SessionBudget{}, err
	}
	answer := SessionBudget{SessionID: session.ID, AgentID: session.AgentID}
	if session.Limits != nil {
		answer.Limits = *session.Limits
	}
	for i := range budgets {
		spending := spendingOf(&budgets[i])
		if budgets[i].Scope == parley.BudgetOfAgent {
			answer.Limits = answer.Limits.Over(budgets[i].Limits)
			if budgets[i].Limits.Budgeted() {
				answer.Agent = &spending
			}
			continue
		}
		if !budgets[i].Made { // nothing limits it: use its own statistics
			spending.Tokens, spending.Cost = session.Statistics.InputTokens+session.Statistics.OutputTokens,
				session.Statistics.Cost
		}
		answer.Session = spending
	}
	if session.InBackground() {
		answer.Chain, err = e.chainOf(ctx, scope, id)
	}
	return answer, err
}

// chainOf reads the budget of the chain that a session's latest turn works for; nil if it has none.
func (e *Engine) chainOf(ctx context.Context, scope store.Scope, sessionID parley.ID) (*ChainSpending, error) {
	turns, err := e.store.Turns(ctx, scope, sessionID, store.TurnQuery{Limit: 1})
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	rootID, err := e.store.Chain(ctx, scope.WorkspaceID, turns[0].ID)
	if err != nil || rootID.IsZero() {
		return nil, err
	}
	return e.chainBudget(ctx, scope.WorkspaceID, rootID)
}

// chainBudget reads the budget of a chain; nil if nothing limits it, or the session where it began is gone.
func (e *Engine) chainBudget(ctx context.Context, workspaceID, rootID parley.ID) (*ChainSpending, error) {
	subject := store.BudgetSubject{ID: rootID, Scope: parley.BudgetOfChain}
	budgets, err := e.store.Budgets(ctx, workspaceID, []store.BudgetSubject{subject})
	if err != nil || len(budgets) == 0 || !budgets[0].Limits.Chained() {
		return nil, err
	}
	b := &budgets[0]
	return &ChainSpending{
		RootID:         rootID,
		ChainTokens:    b.Limits.ChainTokens,
		ChainCost:      b.Limits.ChainCost,
		Tokens:         b.Tokens,
		Cost:           b.Cost,
		ReservedTokens: b.ReservedTokens,
		ReservedCost:   b.ReservedCost,
	}, nil
}

func spendingOf(b *store.Budget) Spending {
	return Spending{
		DailyTokens:    b.Limits.DailyTokens,
		DailyCost:      b.Limits.DailyCost,
		Tokens:         b.Tokens,
		Cost:           b.Cost,
		TodayTokens:    b.DayTokens,
		TodayCost:      b.DayCost,
		ReservedTokens: b.ReservedTokens,
		ReservedCost:   b.ReservedCost,
		DayEndsAt:      parley.TimeOf(time.Now().Add(b.DayLeft)),
	}
}
