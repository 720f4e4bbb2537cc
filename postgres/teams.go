package postgres

import (
	"example.org/parley"
	"example.org/parley/internal/transition"
)

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
