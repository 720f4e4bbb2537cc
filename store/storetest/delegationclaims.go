package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

// errand applies one errand for a process that has a place for the turn that it may start.
func (w *world) errand(t reporter, claimBy parley.ID) *store.Claim {
	t.Helper()
	claim, _, err := w.store.ApplyOutbox(w.ctx, claimBy)
	must(t, "ApplyOutbox", err)
	return claim
}

// sendsOn is a lead's turn that sends and ends, without the delivery.
func (c *crew) sendsOn(t reporter, sendings ...parley.Sending) []parley.ID {
	t.Helper()
	claim := c.begins(t)
	ids := c.sends(t, claim, 1, sendings...)
	claim.Turn.Step = 1
	c.answer(t, claim, "They are at work.")
	return ids
}

// delegationClaimed: with a place for it, the transaction that delivers a task or an answer claims the turn that it
// starts, which leaves the same record as a claim afterwards.
func delegationClaimed(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.sendsOn(t, c.task(c.scout, "Look."))[0]
	work := c.errand(t, c.process)
	if work == nil || work.Agent.ID != c.scout.ID || work.Turn.Attempt != 1 ||
		work.Trigger.ID != parley.DelegationMessageID(id) {
		t.Fatalf("the delivery claimed %+v", work)
	}
	d := c.is(t, id, parley.DelegationRunning)
	if d.MessageID != work.Trigger.ID || d.TurnID != work.Fence.TurnID || d.DeliveredAt == 0 {
		t.Errorf("the task is %+v", d)
	}
	c.claimsNothing(t)
	c.check(t, work.Fence.SessionID)
	c.answer(t, *work, "All quiet.")
	c.is(t, id, parley.DelegationAnswered)
	told := c.errand(t, c.process)
	if told == nil || told.Fence.SessionID != c.at || told.Trigger.ID != c.delegation(t, id).ReturnMessageID {
		t.Fatalf("the answer's return claimed %+v", told)
	}
	c.claimsNothing(t)
	c.answer(t, *told, "Done.")
	c.hears(t, c.at, `Answer to your task to scout (scout), "Look.": | All quiet.`)
	c.check(t, c.at)

	later := c.hands(t, c.task(c.clerk, "Count."))[0]
	claimed := c.claimed(t)["clerk"]
	types := func(session parley.ID) (all []parley.EventType) {
		events, err := c.store.Events(c.ctx, c.scope, session, 0, parley.MaxPage)
		must(t, "Events", err)
		for _, e := range events {
			all = append(all, e.Type)
		}
		return all
	}
	c.answer(t, claimed, "Twelve.")
	if diff := cmp.Diff(types(claimed.Fence.SessionID), types(work.Fence.SessionID)); diff != "" {
		t.Errorf("the events of a turn that Claim claims (-) and of one that its delivery claims (+):\n%s", diff)
	}
	c.errands(t)
	c.answer(t, c.claim(t), "Done.")
	if before, after := c.delegation(t, id), c.delegation(t, later); before.HeardAt == 0 || after.HeardAt == 0 {
		t.Errorf("heard: %+v, %+v", before, after)
	}
}

// delegationUnclaimed: a delivery leaves its turn to Claim if the process has no place or no lease, and if another turn
// of the session comes first or has begun to gather answers.
func delegationUnclaimed(t *testing.T, w *world) {
	c := w.crew(t)
	ids := c.sendsOn(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."), c.task(c.clerk, "Sum."))
	for i, claimBy := range []parley.ID{{}, parley.NewID(), c.process} {
		if claim := c.errand(t, claimBy); claim != nil {
			t.Fatalf("the delivery of task %d claimed %+v", i, claim)
		}
		c.is(t, ids[i], parley.DelegationDelivered)
	}
	work := c.claimed(t)
	if len(work) != 2 {
		t.Fatalf("claimed %d turns; want two", len(work))
	}
	c.answer(t, work["scout"], "All quiet.")
	if claim := c.errand(t, parley.ID{}); claim != nil {
		t.Fatalf("the first answer claimed %+v", claim)
	}
	c.answer(t, work["clerk"], "Twelve.")
	if claim := c.errand(t, c.process); claim != nil {
		t.Fatalf("the second answer claimed %+v", claim)
	}
	both := c.claimed(t)
	c.answer(t, both["lead"], "Go on.")
	c.answer(t, both["clerk"], "Thirty.")
	if len(both) != 2 {
		t.Fatalf("claimed %d turns; want two", len(both))
	}
	lines, turns := c.heard(t, c.at)
	if len(lines) != 2 || turns[0] != turns[1] {
		t.Errorf("the lead heard %q in the turns %v; want both in one", lines, turns)
	}
	c.errands(t)
	c.answer(t, c.claim(t), "Done.")
	c.check(t, c.at)
}
