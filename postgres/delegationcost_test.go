package postgres

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

// TestStatementsOfDelegations counts what a delegation and its answer cost beside the three turns that they are: the
// messages between the sessions, and what the turns send, begin with and end.
func TestStatementsOfDelegations(t *testing.T) {
	t.Parallel()
	var sent roundTrips
	db, url := opened(t)
	traced(t, db, url, &sent)
	talks := newTalker(t, db, 0)
	lead := talks.agent("lead", parley.ID{})
	scout := talks.agent("scout", lead.ID)
	at, below := talks.background(lead.ID), talks.background(scout.ID)
	task := &parley.Sending{Kind: parley.DelegationTask, To: scout.ID, Text: "Look."}
	for range 2 { // the first round fills the caches
		sent.forget()
		if _, err := db.PostMessage(t.Context(), talks.scope, at, talks.said("hello"), talks.process); err != nil {
			t.Fatal(err)
		}
		talks.must(talks.callsTool(talks.claims(at), task))
		talks.errand()
		talks.must(talks.answers(talks.claims(below), 1, "All quiet."))
		talks.errand()
		talks.must(talks.answers(talks.claims(at), 1, "Thanks."))
	}
	for _, one := range sent.all {
		t.Log(one)
	}
}

// agent makes an agent that draws no knowledge.
func (t *talker) agent(slug string, leadID parley.ID) parley.Agent {
	agent, _, err := t.store.CreateAgent(t.tb.Context(), parley.Agent{
		ID: parley.NewID(), WorkspaceID: t.scope.WorkspaceID, Slug: slug, Name: slug, LeadID: leadID,
		Runtime: parley.StandardRuntime, Status: parley.AgentActive, Version: 1, Tags: []string{},
		OwnerID: t.owner.ID, OwnerName: t.owner.Name, ChangedByID: t.owner.ID,
		Settings: parley.Settings{DrawKnowledge: new(false)},
	}, store.Idempotency{})
	t.must(err)
	return agent
}

// background returns the background session of an agent.
func (t *talker) background(agentID parley.ID) parley.ID {
	opened, err := t.store.BackgroundSession(t.tb.Context(), t.scope, agentID, 0)
	t.must(err)
	return opened.Session.ID
}

// claims claims the turn of a session, which must be the only one.
func (t *talker) claims(sessionID parley.ID) store.Fence {
	t.tb.Helper()
	claims, err := t.store.Claim(t.tb.Context(), t.process, 2, store.Occupancy{Slots: 16})
	t.must(err)
	if len(claims) != 1 || claims[0].Fence.SessionID != sessionID {
		t.tb.Fatalf("claimed: %+v", claims)
	}
	return claims[0].Fence
}

// errand applies an errand.
func (t *talker) errand() {
	_, err := t.store.ApplyOutbox(t.tb.Context())
	t.must(err)
}

func (t *talker) must(err error) {
	t.tb.Helper()
	if err != nil {
		t.tb.Fatal(err)
	}
}
