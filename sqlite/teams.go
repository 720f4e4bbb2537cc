package sqlite

import (
	"strings"

	"example.org/parley"
	"example.org/parley/internal/transition"
)

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
