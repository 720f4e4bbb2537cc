package main

import (
	"bytes"
	"strings"
	"testing"

	"example.org/parley"
)

// TestATeamSaysWhomItWaitsFor: each member's row names those who owe it an answer, once, and when it runs next.
func TestATeamSaysWhomItWaitsFor(t *testing.T) {
	t.Parallel()
	lead := parley.Agent{ID: parley.NewID(), Slug: "lead"}
	scout := parley.Agent{ID: parley.NewID(), Slug: "scout", LeadID: lead.ID}
	at := parley.NewID()
	sent := func(to, person parley.ID) parley.TeamDelegation {
		return parley.TeamDelegation{
			Kind: parley.DelegationTask, ToAgentID: to, ToPrincipalID: person, FromSessionID: at,
		}
	}
	team := parley.NewTeam([]parley.Agent{lead, scout}, &parley.TeamWork{
		Sessions: []parley.TeamSession{{AgentID: lead.ID, SessionID: at, Status: parley.SessionCompleted}},
		Delegations: []parley.TeamDelegation{
			sent(scout.ID, parley.ID{}), sent(scout.ID, parley.ID{}), sent(lead.ID, parley.NewID()),
		},
		NextRuns: map[parley.ID]parley.Time{scout.ID: 1_700_000_000_000},
	})
	var out bytes.Buffer
	if err := printTeam(terminal{out: &out}, &team); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[1], "  scout, owner  ") { // each once
		t.Errorf("the lead's row does not say that it waits for the scout and the owner: %s", lines[1])
	}
	if !strings.Contains(lines[2], "2023-11-14") {
		t.Errorf("the scout's row does not say when it runs next: %s", lines[2])
	}
}
