package store

import (
	"context"

	"example.org/parley"
)

// Teams opens the sessions in which agents do their own work, and reads who works below whom.
type Teams interface {
	// BackgroundSession returns the background session of an agent, and makes it if there is none; Created says which.
	// Any number of callers at once get the same. CodeNotFound if the agent does not exist, or if the scope may not see
	// the session. To make one, CodeArchived for an archived agent, and CodeConflict for one without an owner, if the
	// workspace has most sessions (0: unlimited), or if its owner may have no more.
	BackgroundSession(ctx context.Context, scope Scope, agentID parley.ID, most int64) (Opened, error)
	// TeamOf reads an active agent and the active agents below it, level by level, by slug within one. It is empty for
	// any other agent. It ends at MaxTeamDepth levels and MaxTeamMembers agents. Together these may hold hundreds of
	// megabytes: keep, which may be called again for the same agent, drops what is not needed of each as soon as it has
	// been read.
	TeamOf(ctx context.Context, workspaceID, leadID parley.ID, keep func(*parley.Agent)) ([]parley.Agent, error)
	// TeamSizes counts the agents of the teams of leads, as TeamOf would read them.
	TeamSizes(ctx context.Context, workspaceID parley.ID, leadIDs []parley.ID) (map[parley.ID]int, error)
	// TeamSessions reads the background sessions of agents, as far as the scope may see them.
	TeamSessions(ctx context.Context, scope Scope, agents []parley.Agent) ([]parley.TeamSession, error)
	// TeamDelegations reads the open delegations that background sessions have sent, at most MaxTeamWaits of each, its
	// newest first.
	TeamDelegations(ctx context.Context, workspaceID parley.ID, sessionIDs []parley.ID) ([]parley.TeamDelegation, error)
	// NextRuns reads when the schedules of agents are due next; agents without a time are absent.
	NextRuns(ctx context.Context, workspaceID parley.ID, agentIDs []parley.ID) (map[parley.ID]parley.Time, error)
}
