package parley

import "context"

// AgentQuery lists agents by slug.
type AgentQuery struct {
	Status     AgentStatus
	Tag        string
	OwnerID    ID // zero: any
	Descending bool
	AfterSlug  string
	Limit      int
}

// AgentStore keeps agents and their versions.
type AgentStore interface {
	// CreateAgent stores version 1. CodeConflict when the slug is taken. The bool
	// reports an idempotent repeat.
	CreateAgent(ctx context.Context, agent Agent, idempotency Idempotency) (Agent, bool, error)
	// UpdateAgent stores the agent as a new version, if agent.Version is still the
	// current one (CodeConflict otherwise), and returns it.
	UpdateAgent(ctx context.Context, agent Agent) (Agent, error)
	// Agent finds by id or by slug.
	Agent(ctx context.Context, workspaceID ID, idOrSlug string) (Agent, error)
	// AgentVersion finds an earlier version.
	AgentVersion(ctx context.Context, workspaceID, agentID ID, version int) (Agent, error)
	// AgentVersionBy finds the latest version up to one that a principal made, with
	// what it accepted then.
	AgentVersionBy(ctx context.Context, workspaceID, agentID, principalID ID, through int) (Agent, error)
	Agents(ctx context.Context, workspaceID ID, query AgentQuery) ([]Agent, error)
}

// ProjectQuery lists projects, last access first.
type ProjectQuery struct {
	Ascending   bool
	AfterAccess Time
	AfterID     ID
	Limit       int
}

// ProjectStore keeps projects.
type ProjectStore interface {
	// ChooseProject adds the project, or refreshes the one with this path; the
	// bool reports that it is new.
	ChooseProject(ctx context.Context, project Project) (Project, bool, error)
	Project(ctx context.Context, workspaceID, id ID) (Project, error)
	Projects(ctx context.Context, workspaceID ID, query ProjectQuery) ([]Project, error)
	// DeleteProject removes it at once; its sessions are detached, or with cascade
	// deleted, by the outbox. CodeForbidden while sessions of others than the scope's
	// viewer use it.
	DeleteProject(ctx context.Context, scope Scope, id ID, cascade bool) error
}
