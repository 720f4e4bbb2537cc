package store

import (
	"context"

	"example.org/parley"
)

// DryRun is what the model calls of a dry run used. Their contents are nobody's record.
type DryRun struct {
	SessionID parley.ID // zero: of a session that was not made
	RootID    parley.ID // of the session's tree; zero as above
	AgentID   parley.ID
	OwnerID   parley.ID     // who asked for it
	Calls     []parley.Call // ended ones
}

// DryRuns counts what dry runs cost.
type DryRuns interface {
	// CountDryRun adds a dry run's calls to the usage of its workspace, and charges the budgets of its session, of the
	// session's root and of its agent, where they exist, in one transaction. The calls of a session that was deleted
	// meanwhile count as those of none.
	CountDryRun(ctx context.Context, workspaceID parley.ID, run DryRun) error
}

// Charge returns the budgets to charge with a dry run, and what to charge them with.
func (r *DryRun) Charge() (subjects []parley.ID, used parley.Reserved) {
	for _, id := range []parley.ID{r.SessionID, r.RootID, r.AgentID} {
		if !id.IsZero() && (len(subjects) == 0 || subjects[len(subjects)-1] != id) {
			subjects = append(subjects, id)
		}
	}
	var cost parley.Money
	for i := range r.Calls {
		c := &r.Calls[i]
		ended := CallSettled{
			Outcome: c.Outcome, Usage: c.Usage, Cost: c.Cost, FirstTokenMS: c.FirstTokenMS, Estimate: c.Estimate,
		}
		one, _ := ended.Charged(parley.ValueOf(c.Reserved))
		used.Tokens += one.Tokens
		cost += parley.ValueOf(one.Cost)
	}
	used.Cost = &cost
	return subjects, used
}
