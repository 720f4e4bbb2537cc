package store

import (
	"context"

	"example.org/parley"
)

// Teams opens the sessions in which agents do their own work.
type Teams interface {
	// BackgroundSession returns the background session of an agent, and makes it if there is none; Created says which.
	// Any number of callers at once get the same. CodeNotFound if the agent does not exist, or if the scope may not see
	// the session. To make one, CodeArchived for an archived agent, and CodeConflict for one without an owner, if the
	// workspace has most sessions (0: unlimited), or if its owner may have no more.
	BackgroundSession(ctx context.Context, scope Scope, agentID parley.ID, most int64) (Opened, error)
}
