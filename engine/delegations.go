package engine

import (
	"context"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/store"
)

// DelegationList selects delegations, newest first by default. Several values of a filter are alternatives.
type DelegationList struct {
	Paging
	Statuses   []parley.DelegationStatus
	Kinds      []parley.DelegationKind
	Agents     []string    // ids or slugs of agents that send or receive them
	SessionIDs []parley.ID // background sessions of such agents
	RootID     parley.ID   // the message that began the chain; zero: any
}

// DelegationDetail is a delegation with the budget of its chain.
type DelegationDetail struct {
	parley.Delegation
	DelegationBudget
}

// DelegationBudget is the part of a DelegationDetail beside the delegation.
type DelegationBudget struct {
	Chain *ChainSpending `json:"chain" doc:"What the chain that it belongs to may spend and has spent; null unless the chain is limited."`
}

// MarshalJSON writes both parts as one object.
func (d DelegationDetail) MarshalJSON() ([]byte, error) {
	whole, err := d.Delegation.MarshalJSON()
	if err != nil {
		return nil, err
	}
	rest, err := parley.EncodeJSON(d.DelegationBudget)
	if err != nil {
		return nil, err
	}
	return append(append(whole[:len(whole)-1], ','), rest[1:]...), nil
}

// Delegation reads a delegation, and the budget of its chain.
func (e *Engine) Delegation(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ DelegationDetail, err error) {
	ctx, call, err := e.enter(ctx, principal, "getDelegation", ReadSessions, on(id))
	if err != nil {
		return DelegationDetail{}, err
	}
	defer call.end(ctx, &err)
	found, err := e.store.Delegation(ctx, call.Scope, id)
	if err != nil {
		return DelegationDetail{}, err
	}
	call.about(in(found.SessionID(), id))
	chain, err := e.chainBudget(ctx, call.Scope.WorkspaceID, found.RootID)
	return DelegationDetail{found, DelegationBudget{chain}}, err
}

// Delegations lists the delegations from and to the sessions that the principal sees.
func (e *Engine) Delegations(
	ctx context.Context,
	principal parley.Principal,
	list DelegationList,
) (_ Page[parley.Delegation], err error) {
	ctx, call, err := e.enter(ctx, principal, "listDelegations", ReadSessions)
	if err != nil {
		return Page[parley.Delegation]{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	for _, id := range list.SessionIDs {
		call.about(of(id))
	}
	if err := oneOfEach("status", list.Statuses, parley.DelegationStatuses()); err != nil {
		return Page[parley.Delegation]{}, err
	}
	if err := oneOfEach("kind", list.Kinds, parley.DelegationKinds()); err != nil {
		return Page[parley.Delegation]{}, err
	}
	from, order, limit, err := list.start("delegations", Descending)
	if err != nil {
		return Page[parley.Delegation]{}, err
	}
	agents, err := e.agentIDs(ctx, scope, list.Agents)
	if err != nil {
		return Page[parley.Delegation]{}, err
	}
	queries := []store.DelegationQuery{{
		RootID: list.RootID, Ascending: order == Ascending, AfterCreated: from.At, AfterID: from.ID, Limit: limit + 1,
	}}
	queries = apart(queries, list.SessionIDs, func(q *store.DelegationQuery, id parley.ID) { q.SessionID = id })
	queries = apart(queries, agents, func(q *store.DelegationQuery, id parley.ID) { q.AgentID = id })
	queries = apart(queries, list.Statuses, func(q *store.DelegationQuery, status parley.DelegationStatus) {
		q.Status = status
	})
	queries = apart(queries, list.Kinds, func(q *store.DelegationQuery, kind parley.DelegationKind) { q.Kind = kind })
	rows, err := joined(union[parley.Delegation]{
		limit: limit + 1, size: sizeOf[parley.Delegation],
		compare: byTime(order, func(d *parley.Delegation) (parley.Time, parley.ID) { return d.CreatedAt, d.ID }),
	}, queries, func(query store.DelegationQuery) ([]parley.Delegation, error) {
		return e.store.Delegations(ctx, scope, query)
	})
	if err != nil {
		return Page[parley.Delegation]{}, err
	}
	return largePageOf(rows, limit, func(last parley.Delegation) cursor {
		return cursor{List: "delegations", Order: order, At: last.CreatedAt, ID: last.ID}
	}), nil
}

// oneOfEach refuses values of a filter that are not among those known.
func oneOfEach[T ~string](field string, values, known []T) error {
	for _, value := range values {
		if slices.Contains(known, value) {
			continue
		}
		names := make([]string, len(known))
		for i, one := range known {
			names[i] = string(one)
		}
		return parley.InvalidField(
			field, "%q is not one of %s", parley.Clip(string(value), 32), strings.Join(names, ", "),
		)
	}
	return nil
}

// CancelDelegation cancels an open delegation: its sender is told, the turns that work for it stop, and what was sent
// on for it is cancelled too. A cancelled one is returned as it is; CodeConflict, with the state, if it has ended
// otherwise.
func (e *Engine) CancelDelegation(
	ctx context.Context,
	principal parley.Principal,
	id parley.ID,
) (_ parley.Delegation, err error) {
	ctx, call, err := e.enter(ctx, principal, "cancelDelegation", CancelTurns, on(id))
	if err != nil {
		return parley.Delegation{}, err
	}
	defer call.end(ctx, &err)
	cancelled, err := e.store.CancelDelegation(ctx, call.Scope, id)
	if err == nil {
		call.about(in(cancelled.SessionID(), id))
	}
	return cancelled, err
}
