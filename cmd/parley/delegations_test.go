package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.org/parley"
)

// TestTeamsAndTheirDelegations: a team, what it hands over, and stopping that, at the command line.
func TestTeamsAndTheirDelegations(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	shows := func(out string, wanted ...string) {
		t.Helper()
		flat := strings.Join(strings.Fields(out), " ")
		for _, want := range wanted {
			if !strings.Contains(flat, want) {
				t.Errorf("%q is missing in:\n%s", want, out)
			}
		}
	}
	read := func(into any, args ...string) {
		t.Helper()
		if err := json.Unmarshal([]byte(d.say(append(args, "--json")...)), into); err != nil {
			t.Fatal(err)
		}
	}
	var lead parley.Agent
	read(&lead, "agents", "create", "Editor", "--model", "sim/script", "--limits", `{"chain_tokens":100000}`)
	d.say("agents", "create", "Researcher", "--lead", lead.ID.String(), "--model", "sim/lorem-600-1000")
	shows(d.say("team", "list"), "editor Editor", "2")
	session, err := d.client.BackgroundSession(t.Context(), "editor")
	if err != nil {
		t.Fatal(err)
	}
	d.say("chat", "--session", session.ID.String(),
		`[[{"tool_call":{"name":"delegate_to_agent","arguments":{"agent":"researcher","task":"Look.\nEverywhere."}}}],`+
			`[{"text":"It is at work."}]]`)
	shows(
		d.say("team", "show", "editor"),
		"editor Editor completed",
		"researcher Researcher",
		"2 members of Local owner",
	)
	var listed struct{ Data []parley.Delegation }
	read(&listed, "delegations", "list", "--agent", "editor")
	if len(listed.Data) != 1 || listed.Data[0].Kind != parley.DelegationTask {
		t.Fatalf("the editor's delegations are %+v", listed.Data)
	}
	id := listed.Data[0].ID.String()
	shows(d.say("delegations", "list"), "task", "editor researcher Look.")
	shows(d.say("delegations", "show", id), id+" task,", "from "+lead.ID.String(), "expires", "Look. Everywhere.",
		"CHAIN TOKENS OF COST OF", listed.Data[0].RootID.String(), "100000")
	shows(d.say("limits", session.ID.String()), "CHAIN TOKENS OF COST OF", "100000", "chain tokens 100000")
	for range 2 { // a cancelled one stays cancelled
		shows(d.say("delegations", "cancel", id), "task, cancelled", "ended")
	}
	if out := d.say("delegations", "list", "--status", "running"); strings.Contains(out, "Look.") {
		t.Errorf("a cancelled task is listed as running:\n%s", out)
	}
	d.say("chat", "--session", session.ID.String(),
		`[[{"tool_call":{"name":"request_input","arguments":{"question":"Which field?"}}}],[{"text":"I have asked."}]]`)
	shows(d.say("delegations", "list", "--kind", "question"), "editor a person Which field?")
	var asked struct{ Data []parley.Delegation }
	read(&asked, "delegations", "list", "--kind", "question")
	shows(d.say("delegations", "show", asked.Data[0].ID.String()), "to a person", "Which field?")
	d.expect(1, "not-an-id", "delegations", "show", "not-an-id")
	d.expect(1, "delegation", "delegations", "cancel", parley.NewID().String())
	d.expect(1, "status", "delegations", "list", "--status", "lost")
	d.expect(1, "agent", "team", "show", "nobody")
}
