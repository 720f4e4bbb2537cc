package engine

import (
	"strings"
	"testing"

	"example.org/parley"
)

// TestATeamShowsLittleOfItsAgents: reading a team keeps in memory what it shows of its agents, however long their
// prompts are.
func TestATeamShowsLittleOfItsAgents(t *testing.T) {
	t.Parallel()
	agent := parley.Agent{
		ID: parley.NewID(), Slug: "digger", Name: "Digger", Description: "digs", LeadID: parley.NewID(),
		OwnerID: parley.NewID(), OwnerName: "Ada",
	}
	want := agent
	agent.SystemPrompt = new(strings.Repeat("x", 1000))
	agent.Grants = &[]parley.Grant{{Tool: "dig", Effect: parley.GrantAllow}}
	if shown(&agent); agent.SystemPrompt != nil || agent.Grants != nil || agent.ID != want.ID ||
		agent.Slug != want.Slug || agent.Name != want.Name || agent.Description != want.Description ||
		agent.OwnerName != want.OwnerName || agent.LeadID != want.LeadID || agent.OwnerID != want.OwnerID {
		t.Errorf("a team keeps %+v", agent)
	}
}
