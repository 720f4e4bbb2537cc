package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for range 2 { // the first time this process is not known to apply the outbox; the second fills the caches
		talks.asks(at, task)
		talks.must(talks.answers(talks.errand(below), 1, "All quiet."))
		talks.must(talks.answers(talks.errand(at), 1, "Thanks."))
	}
	const (
		seen    = "enter, SELECT processes, SELECT ready, SELECT ready, SELECT ready"
		locks   = "enter, SELECT set_config, SELECT heads"
		entered = "enter, SELECT processes, UPDATE heads, INSERT events, UPDATE turns, "
		begin   = "enter, UPDATE heads, INSERT events, INSERT messages, UPDATE turns, INSERT calls"
		finish  = "enter, UPDATE heads, UPDATE sessions, INSERT events, UPDATE messages, UPDATE versions, " +
			"UPDATE turns, UPDATE calls"
		handed = "enter, SELECT processes, UPDATE heads, UPDATE sessions, INSERT events, INSERT messages, " +
			"INSERT turns, "
		posted = "enter, SELECT agents, UPDATE heads, UPDATE sessions, INSERT events, INSERT messages, INSERT turns, "
		told   = "enter, SELECT knowledge_blocks"
	)
	var work store.Fence
	for _, part := range []struct {
		does string
		run  func()
		want []string
	}{
		{"the lead's turn", func() { talks.asks(at, task) }, []string{
			told,
			posted + "INSERT ready",
			seen, locks, entered + "DELETE ready",
			begin,
			"enter, UPDATE heads, INSERT events, INSERT messages",
			"enter, UPDATE heads, INSERT events, UPDATE messages, UPDATE messages, UPDATE versions, UPDATE turns, " +
				"UPDATE calls",
			"enter, SELECT agents, UPDATE heads, INSERT events, INSERT messages, SELECT pg_advisory_xact_lock, " +
				"INSERT delegations, INSERT outbox",
			begin, finish,
		}},
		{"the delivery", func() { work = talks.errand(below) }, []string{
			told, handed + "UPDATE delegations, DELETE outbox",
		}},
		{"the scout's turn", func() { talks.must(talks.answers(work, 1, "All quiet.")) }, []string{
			begin, finish + ", UPDATE delegations, INSERT outbox",
		}},
		{"the way back", func() { work = talks.errand(at) }, []string{
			told, "enter, SELECT messages", // the root: a schedule's gives the turn a deadline
			handed + "UPDATE delegations, UPDATE delegations, DELETE outbox",
		}},
		{"the turn that reads the answer", func() { talks.must(talks.answers(work, 1, "Thanks.")) }, []string{
			begin, finish,
		}},
	} {
		sent.forget()
		part.run()
		if diff := cmp.Diff(part.want, sent.all); diff != "" {
			t.Errorf("%s (- want, + is):\n%s", part.does, diff)
		}
	}
}

// asks has an agent send something in a turn that a person's message begins.
func (t *talker) asks(sessionID parley.ID, send *parley.Sending) {
	t.tb.Helper()
	_, err := t.store.PostMessage(t.tb.Context(), t.scope, sessionID, t.said("hello"), t.process)
	t.must(err)
	t.must(t.callsTool(t.claims(sessionID), send))
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

// errand applies an errand, which begins the turn of a session.
func (t *talker) errand(sessionID parley.ID) store.Fence {
	t.tb.Helper()
	claim := t.apply(t.process)
	if claim == nil || claim.Fence.SessionID != sessionID {
		t.tb.Fatalf("claimed: %+v", claim)
	}
	return claim.Fence
}

// apply applies an errand.
func (t *talker) apply(claimBy parley.ID) *store.Claim {
	t.tb.Helper()
	claim, _, err := t.store.ApplyOutbox(t.tb.Context(), claimBy)
	t.must(err)
	return claim
}

func (t *talker) must(err error) {
	t.tb.Helper()
	if err != nil {
		t.tb.Fatal(err)
	}
}
