package engine

import (
	"context"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// UsageList selects usage. The zero value selects the last 30 days, by day.
type UsageList struct {
	Group      parley.UsageGroup
	From, To   parley.Time // [from, to); zero: up to now, from 30 days before the end
	Agents     []string    // ids or slugs; none: all
	ProjectIDs []parley.ID
	SessionIDs []parley.ID
	Daily      bool // each group by day
	Limit      int  // rows; 0: 100
}

// UsageReport is the usage of model calls over a span of time.
type UsageReport struct {
	Group parley.UsageGroup `json:"group"`
	From  parley.Time       `json:"from"`
	To    parley.Time       `json:"to"`
	Total parley.UsageSum   `json:"total" doc:"The total, including the rows that the limit leaves out."`
	Data  []parley.UsageSum `json:"data" doc:"The latest day first; within a day, or without days, the most expensive first, then those with the most tokens."`
	Next  *string           `json:"next" doc:"Always null: ask for a shorter time, or one agent, to see other rows."`
}

// Usage sums up the calls of the sessions that the principal may read, and of dry runs in them; also the principal's
// own dry runs of sessions that were never made.
func (e *Engine) Usage(ctx context.Context, principal parley.Principal, list UsageList) (_ UsageReport, err error) {
	ctx, call, err := e.enter(ctx, principal, "getUsage", ReadSessions)
	if err != nil {
		return UsageReport{}, err
	}
	defer call.end(ctx, &err)
	scope := call.Scope
	switch list.Group {
	case "":
		list.Group = parley.UsageByDay
	case parley.UsageByAgent, parley.UsageByModel, parley.UsageBySession, parley.UsageByDay, parley.UsageByPurpose:
	default:
		return UsageReport{}, parley.InvalidField(
			"group",
			"%q is not one of agent, model, session, day, purpose",
			parley.Clip(string(list.Group), 32),
		)
	}
	if list.Limit < 0 || list.Limit > parley.MaxPage {
		return UsageReport{}, parley.InvalidField("limit", "must lie between 1 and %d", parley.MaxPage)
	}
	if list.To == 0 {
		list.To = parley.TimeOf(time.Now()) + 1 // include calls that began just now
	}
	if list.From == 0 {
		list.From = parley.TimeOf(list.To.Std().Add(-parley.DefaultUsageSpan))
	}
	if span := list.To.Std().Sub(list.From.Std()); span <= 0 || span > parley.MaxUsageSpan {
		return UsageReport{}, parley.InvalidField(
			"created_from",
			"must lie before created_to, at most %d days",
			int(parley.MaxUsageSpan.Hours())/24,
		)
	}
	for name, ids := range map[string][]parley.ID{"project": list.ProjectIDs, "session": list.SessionIDs} {
		if err := checkCount(name, len(ids)); err != nil {
			return UsageReport{}, err
		}
	}
	query := store.UsageQuery{
		From: list.From, To: list.To, ProjectIDs: list.ProjectIDs, SessionIDs: list.SessionIDs,
	}
	if query.AgentIDs, err = e.agentIDs(ctx, scope, list.Agents); err != nil {
		return UsageReport{}, err
	}
	report := UsageReport{Group: list.Group, From: list.From, To: list.To}
	total, err := e.store.Usage(ctx, scope, query)
	if err != nil {
		return UsageReport{}, err
	}
	if len(total) > 0 {
		report.Total = total[0]
	}
	query.Group, query.Daily, query.Limit = list.Group, list.Daily, list.Limit
	sums, err := e.store.Usage(ctx, scope, query)
	report.Data = orEmpty(sums)
	return report, err
}
