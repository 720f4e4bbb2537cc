package store

import (
	"cmp"
	"context"

	"example.org/parley"
)

// AgentQuery lists agents by slug.
type AgentQuery struct {
	Status     parley.AgentStatus
	Tag        string
	OwnerID    parley.ID // zero: any
	Leads      bool      // only those at the top of a team: active, with active subordinates and without a lead
	Around     parley.ID // only this agent, its lead, and its subordinates; zero: any. Not together with Tag
	Descending bool
	AfterSlug  string
	Limit      int
}

// AgentVersionQuery lists the versions of an agent by number.
type AgentVersionQuery struct {
	Ascending bool
	After     int // last version of the previous page; 0: from the beginning
	Limit     int
}

// Agents stores agents and their versions.
type Agents interface {
	// CreateAgent stores version 1. CodeConflict if the slug is taken. The bool reports an idempotent repeat. What
	// UpdateAgent says of teams holds for a new agent with a lead too.
	CreateAgent(ctx context.Context, agent parley.Agent, idempotency Idempotency) (parley.Agent, bool, error)
	// UpdateAgent stores the agent as a new version and returns it; others become new versions in the same transaction.
	// CodeConflict unless each has the current Version.
	//
	// The transaction checks what the changes make of the teams. CodeInvalid for a circle of leads, an archived lead, a
	// team of several owners or none, with more than MaxTeamMembers active agents, or deeper than MaxTeamDepth;
	// CodeNotFound if a lead does not exist; CodeConflict for archiving a lead before its subordinates. Two changes at
	// once cannot break a rule together. An agent that enters a team gets its background session, and so does its lead.
	UpdateAgent(ctx context.Context, agent parley.Agent, others ...parley.Agent) (parley.Agent, error)
	// Agent finds an agent by id or slug.
	Agent(ctx context.Context, workspaceID parley.ID, idOrSlug string) (parley.Agent, error)
	// AgentVersion finds an earlier version.
	AgentVersion(ctx context.Context, workspaceID, agentID parley.ID, version int) (parley.Agent, error)
	// AgentVersionBy finds the latest version by a principal, up to the version through, with the tools that the
	// principal accepted then.
	AgentVersionBy(ctx context.Context, workspaceID, agentID, principalID parley.ID, through int) (parley.Agent, error)
	// AgentVersions lists the versions of an agent, the latest first unless the query says otherwise.
	AgentVersions(
		ctx context.Context, workspaceID, agentID parley.ID, query AgentVersionQuery,
	) ([]parley.Agent, error)
	Agents(ctx context.Context, workspaceID parley.ID, query AgentQuery) ([]parley.Agent, error)
}

// ProjectQuery lists projects, most recently used first.
type ProjectQuery struct {
	Ascending   bool
	AfterAccess parley.Time
	AfterID     parley.ID
	Limit       int
}

// ProjectChange is a patch of a project: nil leaves a field unchanged.
type ProjectChange struct {
	Name *string // "": that of the folder
	Icon *string
	// If refuses the change unless the project is as the caller expects; nil: any is. It may be called several times.
	If func(current parley.Project) error
}

// Over applies the change to a project, or refuses it.
func (c *ProjectChange) Over(project parley.Project) (parley.Project, error) {
	if c.If != nil {
		if err := c.If(project); err != nil {
			return parley.Project{}, err
		}
	}
	if c.Name != nil {
		project.Name = cmp.Or(*c.Name, parley.FolderName(project.Path))
	}
	if c.Icon != nil {
		project.Icon = *c.Icon
	}
	return project, nil
}

// Projects stores projects.
type Projects interface {
	// ChooseProject adds the project, or refreshes the existing one with the same path; the bool reports whether it is
	// new.
	ChooseProject(ctx context.Context, project parley.Project) (parley.Project, bool, error)
	Project(ctx context.Context, workspaceID, id parley.ID) (parley.Project, error)
	// UpdateProject changes a project's name and icon, and nothing if they are as the change wants them. CodeForbidden
	// for another name while sessions of anybody but the scope's viewer use it: agents' prompts may tell it.
	UpdateProject(ctx context.Context, scope Scope, id parley.ID, change ProjectChange) (parley.Project, error)
	Projects(ctx context.Context, workspaceID parley.ID, query ProjectQuery) ([]parley.Project, error)
	// DeleteProject removes the project immediately. The outbox detaches its sessions or, with cascade, deletes them.
	// CodeForbidden while sessions of anybody but the scope's viewer use it.
	DeleteProject(ctx context.Context, scope Scope, id parley.ID, cascade bool) error
}
