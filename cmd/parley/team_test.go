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

// TestTheExampleTeamOnTheCommandLine: it is made once, shown with its members below their lead, and says what to do.
func TestTheExampleTeamOnTheCommandLine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for range 2 { // the second time it is only shown
		out := d.say("team", "example")
		for _, says := range []string{
			"\nexample-editor ", "\n  example-scout ", "parley agents task example-editor", "parley inbox list",
		} {
			if !strings.Contains(out, says) {
				t.Errorf("%q is missing in\n%s", says, out)
			}
		}
	}
	if out := d.say("team", "list"); strings.Count(out, "example-") != 1 {
		t.Errorf("the teams are\n%s", out)
	}
	if out := d.say("schedules", "list"); strings.Count(out, "\n") != 2 { // the titles and one
		t.Errorf("the schedules are\n%s", out)
	}
}
