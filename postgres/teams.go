package postgres

import (
	"context"
	"strconv"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// team walks down from leads, level by level. Without the bound of levels, leads from before they were checked might
// form a circle.
const team = `WITH RECURSIVE team (top, id, depth) AS (
  SELECT id, id, 1 FROM parley.agents WHERE workspace_id = $1 AND id = ANY($2) AND status = 'active'
 UNION ALL
  SELECT t.top, a.id, t.depth + 1 FROM team t
   JOIN parley.agents a ON a.workspace_id = $1 AND a.lead_id = t.id AND a.status = 'active'
  WHERE t.depth < $3)
`

// TeamOf implements store.Teams.
func (s *Store) TeamOf(
	ctx context.Context,
	workspaceID, leadID parley.ID,
	keep func(*parley.Agent),
) ([]parley.Agent, error) {
	return all(
		ctx,
		s,
		tenant(workspaceID),
		func(r *row) (parley.Agent, error) {
			agent, err := scanAgent(r)
			keep(&agent)
			return agent, err
		},
		team+`SELECT a.body FROM team t JOIN parley.agents a ON a.workspace_id = $1 AND a.id = t.id
 ORDER BY t.depth, a.slug LIMIT $4`,
		parley.MaxTeamMembers,
		workspaceID,
		[]parley.ID{leadID},
		parley.MaxTeamDepth,
		parley.MaxTeamMembers,
	)
}

// TeamSizes implements store.Teams.
func (s *Store) TeamSizes(
	ctx context.Context,
	workspaceID parley.ID,
	leadIDs []parley.ID,
) (sizes map[parley.ID]int, err error) {
	if len(leadIDs) == 0 {
		return sizes, nil
	}
	err = s.read(ctx, func() *batch {
		sizes = make(map[parley.ID]int, len(leadIDs))
		b := tenant(workspaceID)
		b.read(team+"SELECT top, count(*) FROM team GROUP BY top", func(r *row) error {
			sizes[r.id()] = r.int()
			return nil
		}, workspaceID, leadIDs, parley.MaxTeamDepth)
		return b
	})
	return sizes, err
}

func teamSessions() string {
	return `SELECT s.id, s.agent_id, s.status, s.wait_reason, h.turn_id, m.content,
 left(d.text, ` + strconv.Itoa(transition.TitleLook) + `), s.updated_at, ` + statisticsColumns + `
 FROM parley.sessions s` + headOfSession + `LEFT JOIN parley.turns t ON t.workspace_id = s.workspace_id
  AND t.id = h.turn_id
 LEFT JOIN parley.messages m ON m.workspace_id = s.workspace_id AND m.id = t.trigger_message_id
 LEFT JOIN parley.delegations d ON d.workspace_id = s.workspace_id AND d.message_id = m.id WHERE `
}

func scanTeamSession(r *row) parley.TeamSession {
	return parley.TeamSession{
		SessionID:  r.id(),
		AgentID:    r.id(),
		Status:     parley.SessionStatus(r.text()),
		WaitReason: parley.WaitReason(r.text()),
		TurnID:     r.id(),
		Doing:      transition.Doing(r.json(), r.text()),
		UpdatedAt:  r.time(),
		Statistics: scanStatistics(r),
	}
}

// TeamSessions implements store.Teams.
func (s *Store) TeamSessions(
	ctx context.Context,
	scope store.Scope,
	agents []parley.Agent,
) ([]parley.TeamSession, error) {
	var l filter
	l.visible(scope)
	l.must("s.key = ANY(?)", transition.BackgroundKeys(agents))
	return all(
		ctx,
		s,
		tenant(scope.WorkspaceID),
		func(r *row) (parley.TeamSession, error) { return scanTeamSession(r), nil },
		teamSessions()+l.where.String(),
		len(agents),
		l.args...)
}

const teamDelegations = `SELECT d.* FROM unnest($2::uuid[]) f (session_id) CROSS JOIN LATERAL (
  SELECT id, kind, status, to_agent_id, to_principal_id, left(text, $3), deadline_at, created_at, from_session_id
   FROM parley.delegations
   WHERE workspace_id = $1 AND from_session_id = f.session_id AND finished_at IS NULL
   ORDER BY created_at DESC, id DESC LIMIT $4) d`

// TeamDelegations implements store.Teams.
func (s *Store) TeamDelegations(
	ctx context.Context,
	workspaceID parley.ID,
	sessionIDs []parley.ID,
) ([]parley.TeamDelegation, error) {
	if len(sessionIDs) == 0 {
		return nil, nil
	}
	return all(
		ctx,
		s,
		tenant(workspaceID),
		func(r *row) (parley.TeamDelegation, error) { return scanTeamDelegation(r), nil },
		teamDelegations,
		len(sessionIDs)*parley.MaxTeamWaits,
		workspaceID,
		sessionIDs,
		transition.TitleLook,
		parley.MaxTeamWaits,
	)
}

func scanTeamDelegation(r *row) parley.TeamDelegation {
	return parley.TeamDelegation{
		ID:            r.id(),
		Kind:          parley.DelegationKind(r.text()),
		Status:        parley.DelegationStatus(r.text()),
		ToAgentID:     r.id(),
		ToPrincipalID: r.id(),
		Title:         parley.DelegationTitle(r.text()),
		DeadlineAt:    r.time(),
		CreatedAt:     r.time(),
		FromSessionID: r.id(),
	}
}

const nextRuns = `SELECT agent_id, min(next_at) FROM parley.schedules
 WHERE workspace_id = $1 AND agent_id = ANY($2) AND next_at IS NOT NULL AND NOT resting
 GROUP BY agent_id`

// NextRuns implements store.Teams.
func (s *Store) NextRuns(
	ctx context.Context,
	workspaceID parley.ID,
	agentIDs []parley.ID,
) (next map[parley.ID]parley.Time, err error) {
	err = s.read(ctx, func() *batch {
		next = make(map[parley.ID]parley.Time, len(agentIDs))
		b := tenant(workspaceID)
		b.read(nextRuns, upTo(len(agentIDs), func(r *row) error {
			next[r.id()] = r.time()
			return nil
		}), workspaceID, agentIDs)
		return b
	})
	return next, err
}

// lockTeams lets one change of a workspace's teams happen at a time: each holds it until its commit.
const lockTeams = "SELECT 1 FROM parley.workspaces WHERE id = $1 FOR NO KEY UPDATE"

const teammates = `WITH RECURSIVE near (id, lead_id) AS (
  SELECT id, lead_id FROM parley.agents WHERE workspace_id = $1 AND id = ANY($2)
 UNION
  SELECT a.id, a.lead_id FROM near n JOIN parley.agents a
   ON a.workspace_id = $1 AND (a.id = n.lead_id OR a.lead_id = n.id AND a.status = 'active'))
 SELECT a.id, a.lead_id, a.owner_id, a.slug, a.status FROM near n
  JOIN parley.agents a ON a.workspace_id = $1 AND a.id = n.id`

// Teammates implements transition.Rows, in an attempt that has a transaction open.
func (a *attempt) Teammates(workspaceID parley.ID, agentIDs []parley.ID) (found []transition.Teammate, err error) {
	err = a.ask(func() *batch {
		found = nil
		b := tenant(workspaceID)
		b.read(lockTeams, func(*row) error { return nil }, workspaceID)
		b.read(teammates, func(r *row) error {
			found = append(found, transition.Teammate{
				ID: r.id(), LeadID: r.id(), OwnerID: r.id(), Slug: r.text(), Status: parley.AgentStatus(r.text()),
			})
			return nil
		}, workspaceID, agentIDs)
		return b
	})
	return found, err
}
