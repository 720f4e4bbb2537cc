package sqlite

import (
	"context"
	"strconv"
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
	"example.org/parley/store"
)

// team walks down from leads, level by level. Without the bound of levels, leads from before they were checked might
// form a circle.
func team(leads int) string {
	return `WITH RECURSIVE team (top, id, depth) AS (
  SELECT id, id, 1 FROM agents WHERE workspace_id = ? AND id IN (?` + strings.Repeat(", ?", leads-1) + `)
   AND status = 'active'
 UNION ALL
  SELECT t.top, a.id, t.depth + 1 FROM team t JOIN agents a INDEXED BY agents_lead
   ON a.workspace_id = ? AND a.lead_id = t.id AND a.status = 'active'
  WHERE t.depth < ` + strconv.Itoa(parley.MaxTeamDepth) + `)
`
}

// TeamOf implements store.Teams.
func (s *Store) TeamOf(
	ctx context.Context,
	workspaceID, leadID parley.ID,
	keep func(*parley.Agent),
) (agents []parley.Agent, err error) {
	err = s.read(ctx, func(c *conn) error {
		agents = nil
		return c.each(
			team(1)+"SELECT a.body FROM team t JOIN agents a ON a.id = t.id ORDER BY t.depth, a.slug LIMIT ?",
			func(r *row) error {
				agent, err := scanAgent(r)
				keep(&agent)
				agents = append(agents, agent)
				return err
			},
			workspaceID,
			leadID,
			workspaceID,
			parley.MaxTeamMembers,
		)
	})
	return agents, err
}

// TeamSizes implements store.Teams.
func (s *Store) TeamSizes(
	ctx context.Context,
	workspaceID parley.ID,
	leadIDs []parley.ID,
) (sizes map[parley.ID]int, err error) {
	sizes = make(map[parley.ID]int, len(leadIDs))
	if len(leadIDs) == 0 {
		return sizes, nil
	}
	args := []arg{workspaceID}
	for _, id := range leadIDs {
		args = append(args, id)
	}
	err = s.read(ctx, func(c *conn) error {
		return c.each(team(len(leadIDs))+"SELECT top, count(*) FROM team GROUP BY top", func(r *row) error {
			sizes[r.id()] = r.int()
			return nil
		}, append(args, workspaceID)...)
	})
	return sizes, err
}

func teamSessions() string {
	return `SELECT s.id, s.agent_id, s.status, s.wait_reason, h.turn_id, m.content,
 substr(d.text, 1, ` + strconv.Itoa(transition.TitleLook) + `), s.updated_at, ` + statisticsColumns + `
 FROM sessions s JOIN heads h ON h.session_id = s.id LEFT JOIN turns t ON t.id = h.turn_id
 LEFT JOIN messages m ON m.id = t.trigger_message_id LEFT JOIN delegations d ON d.message_id = m.id WHERE `
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
) (sessions []parley.TeamSession, err error) {
	var l list
	l.visible(scope)
	keys := []arg{}
	for _, key := range transition.BackgroundKeys(agents) {
		keys = append(keys, key)
	}
	l.must("s.key IN (?"+strings.Repeat(", ?", len(keys)-1)+")", keys...)
	err = s.read(ctx, func(c *conn) error {
		sessions = nil
		return c.each(teamSessions()+l.where.String(), func(r *row) error {
			sessions = append(sessions, scanTeamSession(r))
			return nil
		}, l.args...)
	})
	return sessions, err
}

const teamDelegations = `SELECT id, kind, status, to_agent_id, to_principal_id, substr(text, 1, ?), deadline_at,
 created_at, from_session_id
 FROM delegations INDEXED BY delegations_open
 WHERE workspace_id = ? AND from_session_id = ? AND finished_at IS NULL ORDER BY created_at DESC, id DESC LIMIT ?`

// TeamDelegations implements store.Teams.
func (s *Store) TeamDelegations(
	ctx context.Context,
	workspaceID parley.ID,
	sessionIDs []parley.ID,
) (found []parley.TeamDelegation, err error) {
	err = s.read(ctx, func(c *conn) error {
		found = nil
		for _, id := range sessionIDs {
			if err := c.each(teamDelegations, func(r *row) error {
				found = append(found, scanTeamDelegation(r))
				return nil
			}, transition.TitleLook, workspaceID, id, parley.MaxTeamWaits); err != nil {
				return err
			}
		}
		return nil
	})
	return found, err
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

// NextRuns implements store.Teams.
func (s *Store) NextRuns(
	ctx context.Context,
	workspaceID parley.ID,
	agentIDs []parley.ID,
) (next map[parley.ID]parley.Time, err error) {
	args := []arg{workspaceID}
	for _, id := range agentIDs {
		args = append(args, id)
	}
	next = make(map[parley.ID]parley.Time, len(agentIDs))
	err = s.read(ctx, func(c *conn) error {
		return c.each(
			"SELECT agent_id, min(next_at) FROM schedules WHERE workspace_id = ? AND agent_id IN (?"+
				strings.Repeat(", ?", len(agentIDs)-1)+") AND next_at IS NOT NULL AND resting = 0 GROUP BY agent_id",
			func(r *row) error {
				next[r.id()] = r.time()
				return nil
			},
			args...)
	})
	return next, err
}

// Teammates implements transition.Rows. The writer is the only one who changes teams, so it need not lock them.
func (t *txn) Teammates(workspaceID parley.ID, agentIDs []parley.ID) (found []transition.Teammate, err error) {
	args := []arg{workspaceID}
	for _, id := range agentIDs {
		args = append(args, id)
	}
	err = t.each(
		`WITH RECURSIVE near (id, lead_id) AS (
  SELECT id, lead_id FROM agents WHERE workspace_id = ? AND id IN (?`+strings.Repeat(", ?", len(agentIDs)-1)+`)
 UNION
  SELECT a.id, a.lead_id FROM near n JOIN agents a
   ON a.workspace_id = ? AND (a.id = n.lead_id OR a.lead_id = n.id AND a.status = 'active'))
 SELECT a.id, a.lead_id, a.owner_id, a.slug, a.status FROM near n JOIN agents a ON a.id = n.id`,
		func(r *row) error {
			found = append(found, transition.Teammate{
				ID: r.id(), LeadID: r.id(), OwnerID: r.id(), Slug: r.text(), Status: parley.AgentStatus(r.text()),
			})
			return nil
		},
		append(args, workspaceID)...)
	return found, err
}
