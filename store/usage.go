package store

import (
	"context"

	"example.org/parley"
)

// UsageQuery asks what the calls to models took that began in a span of time.
type UsageQuery struct {
	Group   parley.UsageGroup
	Daily   bool        // a sum for each of the group's days, the last day first
	From    parley.Time // inclusive
	To      parley.Time // exclusive
	AgentID parley.ID   // of this agent's sessions alone; zero: of all
	Limit   int
}

// Usage sums up what calls took.
type Usage interface {
	// Usage sums up the calls of the sessions that a scope shows: days from the last
	// one, else the dearest first, then those with the most tokens.
	Usage(ctx context.Context, scope Scope, query UsageQuery) ([]parley.UsageSum, error)
}
