package store

import (
	"context"

	"example.org/parley"
)

// UsageQuery asks for the usage of calls that began in a span of time.
type UsageQuery struct {
	Group parley.UsageGroup
	Daily bool        // one sum per day of each group, last day first
	From  parley.Time // inclusive
	To    parley.Time // exclusive
	// only sessions of one of these agents and projects, and only these sessions; none: all
	AgentIDs, ProjectIDs, SessionIDs []parley.ID
	Limit                            int
}

// Usage sums up the usage of calls.
type Usage interface {
	// Usage sums up the calls of the sessions that a scope may see: days from the last one, otherwise by cost, then by
	// tokens, both descending.
	Usage(ctx context.Context, scope Scope, query UsageQuery) ([]parley.UsageSum, error)
}
