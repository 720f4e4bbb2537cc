package engine

import (
	"cmp"
	"context"

	"example.org/parley"
	"example.org/parley/store"
)

// BackgroundSession returns the session in which an agent does its own work. If there is none yet, the agent's owner
// and admins get a new one; for others it does not exist.
func (e *Engine) BackgroundSession(
	ctx context.Context,
	principal parley.Principal,
	agentIDOrSlug string,
) (_ parley.Session, err error) {
	ctx, call, err := e.enter(ctx, principal, "getBackgroundSession", ReadSessions)
	if err != nil {
		return parley.Session{}, err
	}
	defer call.end(ctx, &err)
	agent, err := e.agent(ctx, call.Scope, agentIDOrSlug)
	if err != nil {
		return parley.Session{}, err
	}
	session, err := e.store.SessionByKey(ctx, call.Scope, parley.BackgroundKey(agent.ID, agent.OwnerID))
	if parley.ErrorCode(err) != parley.CodeNotFound {
		call.about(of(session.ID))
		return session, err
	}
	if ownsAgent(principal, WriteAgents, &agent) != nil || ReachOf(principal.Role, OpenSessions) == ReachNone {
		return parley.Session{}, err
	}
	quota := e.sessionsQuota(principal)
	opened, err := e.store.BackgroundSession(ctx, call.Scope, agent.ID, quota.Workspace)
	if err == nil {
		call.about(of(opened.Session.ID))
	}
	return opened.Session, err
}

// ForegroundSession returns the session in which the principal talks with an agent, and makes it the first time. Any
// number of first requests at once get the same. The bool reports whether it is new.
func (e *Engine) ForegroundSession(
	ctx context.Context,
	principal parley.Principal,
	agentIDOrSlug string,
) (_ parley.Session, created bool, err error) {
	ctx, call, err := e.enter(ctx, principal, "ensureForegroundSession", OpenSessions)
	if err != nil {
		return parley.Session{}, false, err
	}
	defer call.end(ctx, &err)
	agent, err := e.agent(ctx, call.Scope, agentIDOrSlug)
	if err != nil {
		return parley.Session{}, false, err
	}
	session, err := e.newSession(ctx, call.Scope, principal, SessionInput{
		AgentID: agent.ID.String(), Visibility: parley.VisibilityPrivate,
		derivedKey: parley.ForegroundKey(agent.ID, principal.ID),
	})
	if err != nil {
		return parley.Session{}, false, err
	}
	opened, err := e.store.EnsureSession(ctx, call.Scope, store.NewSession{
		Session: session, Quota: e.sessionsQuota(principal),
	}, parley.ID{})
	call.opened(&opened, err)
	return opened.Session, opened.Created, err
}

// TeamList selects teams, by their leads' slugs ascending by default.
type TeamList struct {
	Paging
	Owners []string // principals' ids, or OwnerMe
}

// Teams lists the agents that lead others and have no lead themselves.
func (e *Engine) Teams(
	ctx context.Context,
	principal parley.Principal,
	list TeamList,
) (_ Page[parley.TeamLead], err error) {
	ctx, call, err := e.enter(ctx, principal, "listTeams", ReadAgents)
	if err != nil {
		return Page[parley.TeamLead]{}, err
	}
	defer call.end(ctx, &err)
	owners, err := ownersOf(principal, list.Owners)
	if err != nil {
		return Page[parley.TeamLead]{}, err
	}
	from, order, limit, err := list.start("teams", Ascending)
	if err != nil {
		return Page[parley.TeamLead]{}, err
	}
	queries := apart([]store.AgentQuery{{
		Status: parley.AgentActive, Leads: true, Descending: order == Descending, AfterSlug: from.Slug,
		Limit: limit + 1,
	}}, owners, func(q *store.AgentQuery, id parley.ID) { q.OwnerID = id })
	workspaceID := call.Scope.WorkspaceID
	leads, err := joined(union[parley.Agent]{
		limit: limit + 1, size: sizeOf[parley.Agent],
		compare: func(a, b *parley.Agent) int { return directed(order, cmp.Compare(a.Slug, b.Slug)) },
	}, queries, func(query store.AgentQuery) ([]parley.Agent, error) { return e.store.Agents(ctx, workspaceID, query) })
	if err != nil {
		return Page[parley.TeamLead]{}, err
	}
	ids := make([]parley.ID, len(leads))
	for i := range leads {
		ids[i] = leads[i].ID
	}
	sizes, err := e.store.TeamSizes(ctx, workspaceID, ids)
	if err != nil {
		return Page[parley.TeamLead]{}, err
	}
	rows := make([]parley.TeamLead, len(leads))
	for i := range leads {
		rows[i] = parley.TeamLeadOf(&leads[i], sizes[leads[i].ID])
	}
	return pageOf(rows, limit, func(last parley.TeamLead) cursor {
		return cursor{List: "teams", Order: order, Slug: last.Slug}
	}), nil
}

// Team reads an agent with everyone below it, and what they do in those of their background sessions that the principal
// may see. It returns CodeNotFound if the agent leads nobody.
func (e *Engine) Team(
	ctx context.Context,
	principal parley.Principal,
	leadIDOrSlug string,
) (_ parley.Team, err error) {
	ctx, call, err := e.enter(ctx, principal, "getTeam", ReadAgents)
	if err != nil {
		return parley.Team{}, err
	}
	defer call.end(ctx, &err)
	lead, err := e.agent(ctx, call.Scope, leadIDOrSlug)
	if err != nil {
		return parley.Team{}, err
	}
	call.about(on(lead.ID))
	agents, err := e.store.TeamOf(ctx, call.Scope.WorkspaceID, lead.ID, shown)
	if err != nil {
		return parley.Team{}, err
	}
	if len(agents) < 2 {
		return parley.Team{}, parley.Errorf(
			parley.CodeNotFound,
			"%q leads no active agent; give one to it with PATCH /v1/agents/… {\"lead_id\": %q}",
			lead.Slug,
			lead.ID,
		)
	}
	work, err := e.teamWork(ctx, call.Scope, agents)
	if err != nil {
		return parley.Team{}, err
	}
	return parley.NewTeam(agents, &work), nil
}

// shown keeps of a team's agent what the team shows of it.
func shown(a *parley.Agent) {
	*a = parley.Agent{
		ID: a.ID, WorkspaceID: a.WorkspaceID, Slug: a.Slug, Name: a.Name, Description: a.Description, Status: a.Status,
		OwnerID: a.OwnerID, OwnerName: a.OwnerName, LeadID: a.LeadID,
	}
}

// teamWork reads what agents do. What a session has sent is read only if the scope may see that session.
func (e *Engine) teamWork(
	ctx context.Context,
	scope store.Scope,
	agents []parley.Agent,
) (work parley.TeamWork, err error) {
	if work.Sessions, err = e.store.TeamSessions(ctx, scope, agents); err != nil {
		return work, err
	}
	sessionIDs := make([]parley.ID, len(work.Sessions))
	for i := range work.Sessions {
		sessionIDs[i] = work.Sessions[i].SessionID
	}
	if work.Delegations, err = e.store.TeamDelegations(ctx, scope.WorkspaceID, sessionIDs); err != nil {
		return work, err
	}
	agentIDs := make([]parley.ID, len(agents))
	for i := range agents {
		agentIDs[i] = agents[i].ID
	}
	work.NextRuns, err = e.store.NextRuns(ctx, scope.WorkspaceID, agentIDs)
	return work, err
}

// ArchiveTeam archives an agent with everyone below it, all or none.
func (e *Engine) ArchiveTeam(
	ctx context.Context,
	principal parley.Principal,
	leadIDOrSlug string,
) (err error) {
	ctx, call, err := e.enter(ctx, principal, "archiveAgent", WriteAgents)
	if err != nil {
		return err
	}
	defer call.end(ctx, &err)
	lead, err := e.agent(ctx, call.Scope, leadIDOrSlug)
	if err != nil {
		return err
	}
	call.about(on(lead.ID))
	if err := ownsAgent(principal, WriteAgents, &lead); err != nil || lead.Status == parley.AgentArchived {
		return err
	}
	e.wholeTeam.Lock()
	defer e.wholeTeam.Unlock()
	for attempt := 1; ; attempt++ {
		agents, err := e.store.TeamOf(ctx, call.Scope.WorkspaceID, lead.ID, func(*parley.Agent) {})
		if err != nil || len(agents) == 0 { // archived meanwhile
			return err
		}
		for i := range agents {
			if agents[i], err = e.archived(ctx, call.Scope, principal, agents[i]); err != nil {
				return err
			}
		}
		_, err = e.store.UpdateAgent(ctx, agents[0], agents[1:]...)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == patchAttempts { // one changed, or came in
			return err
		}
	}
}

// archived returns an agent as its next version, by the principal, archives it.
func (e *Engine) archived(
	ctx context.Context,
	scope store.Scope,
	principal parley.Principal,
	agent parley.Agent,
) (parley.Agent, error) {
	if err := ownsAgent(principal, WriteAgents, &agent); err != nil {
		return agent, err
	}
	after := agent
	after.Status, after.ChangedByID = parley.AgentArchived, principal.ID
	if err := builtinStays(&agent, &after); err != nil {
		return agent, err
	}
	next := after
	next.Version++ // as the store will number it
	var err error
	after.Accepted, err = e.acceptsPatch(ctx, scope, principal, &next, &AgentPatch{})
	return after, err
}
