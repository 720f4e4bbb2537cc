package store

import (
	"context"

	"example.org/parley"
)

// AgentQuery lists agents by slug.
type AgentQuery struct {
	Status     parley.AgentStatus
	Tag        string
	OwnerID    parley.ID // zero: any
	Descending bool
	AfterSlug  string
	Limit      int
}

// Agents keeps agents and their versions.
type Agents interface {
	// CreateAgent stores version 1. CodeConflict when the slug is taken. The bool
	// reports an idempotent repeat.
	CreateAgent(ctx context.Context, agent parley.Agent, idempotency Idempotency) (parley.Agent, bool, error)
	// UpdateAgent stores the agent as a new version, if agent.Version is still the
	// current one (CodeConflict otherwise), and returns it.
	UpdateAgent(ctx context.Context, agent parley.Agent) (parley.Agent, error)
	// Agent finds by id or by slug.
	Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error)
	// AgentVersion finds an earlier version.
	AgentVersion(ctx context.Context, workspaceID, agentID parley.ID, version int) (parley.Agent, error)
	// AgentVersionBy finds the latest version up to one that a principal made, with
	// what it accepted then.
	AgentVersionBy(ctx context.Context, workspaceID, agentID, principalID parley.ID, through int) (parley.Agent, error)
	Agents(ctx context.Context, workspaceID parley.ID, query AgentQuery) ([]parley.Agent, error)
}

// ProjectQuery lists projects, last access first.
type ProjectQuery struct {
	Ascending   bool
	AfterAccess parley.Time
	AfterID     parley.ID
	Limit       int
}

// Projects keeps projects.
type Projects interface {
	// ChooseProject adds the project, or refreshes the one with this path; the
	// bool reports that it is new.
	ChooseProject(ctx context.Context, project parley.Project) (parley.Project, bool, error)
	Project(ctx context.Context, workspaceID, id parley.ID) (parley.Project, error)
	Projects(ctx context.Context, workspaceID parley.ID, query ProjectQuery) ([]parley.Project, error)
	// DeleteProject removes it at once; its sessions are detached, or with cascade
	// deleted, by the outbox. CodeForbidden while sessions of others than the scope's
	// viewer use it.
	DeleteProject(ctx context.Context, scope Scope, id parley.ID, cascade bool) error
}
