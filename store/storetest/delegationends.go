package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testTeamEnds(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"AQuestionsConversationIsDeleted": endConversation,
		"TheSessionOfAFormerOwner":        endFormerOwner,
		"TheSendersSessionIsArchived":     endArchivedSession,
		"TheSendersSessionIsDeleted":      endDeletedSession,
		"AnAgentThatAskedIsArchived":      endArchivedAgent,
		"AMemberThatComesBack":            endComesBack,
		"AMemberThatLeavesBeforeDelivery": endUndelivered,
	})
}

// endConversation: nobody can answer a question whose conversation the person deleted, so the agent is told.
func endConversation(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, asks("Which field?"))[0]
	must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, c.item(t).SessionID))
	c.errands(t)
	c.is(t, id, parley.DelegationCancelled)
	c.answer(t, c.claim(t), "Then not.")
	c.hears(t, c.at, `No answer to your question to the person you work for, "Which field?": it was cancelled: the `+
		"conversation with the question was deleted.")
}

// endFormerOwner: from the session that stays with an agent's earlier owner nothing reaches the team of the new one,
// and what was asked there ends.
func endFormerOwner(t *testing.T, w *world) {
	former, err := w.store.CreateKey(w.ctx, newKey("default", "former", parley.RoleMember))
	must(t, "CreateKey", err)
	agent := w.worker(t, "wanderer", owned(former.PrincipalID))
	at := w.background(t, &agent).ID
	w.post(t, at, w.say("Off you go."))
	claim := w.claim(t)
	asked := w.sends(t, claim, 1, asks("Which field?"))[0]
	w.errands(t)
	must(t, "UpdateAgent", w.becomes(owned(w.owner.ID), agent))
	agent = w.agentNow(t, agent.ID)
	member := w.led(t, "member", &agent)
	for step, sending := range []parley.Sending{
		{Kind: parley.DelegationTask, To: member.ID, Text: "Tell me everything."},
		briefing("the harvest"),
	} {
		settle := w.toolSettle(2+step, w.callTools(t, claim.Fence, 2+step, 1)[0])
		settle.Send = &sending
		_, err := w.store.SettleTool(w.ctx, claim.Fence, settle)
		refused(t, "a "+string(sending.Kind)+" from the former owner's session", err, parley.CodeInvalid)
		settle.Send = nil
		_, err = w.store.SettleTool(w.ctx, claim.Fence, settle)
		must(t, "SettleTool", err)
	}
	w.errands(t)
	w.is(t, asked, parley.DelegationCancelled)
	claim.Turn.Step = 3
	w.answer(t, claim, "Well.")
	w.claimsNothing(t)
}

// endArchivedSession: what a session waits for ends when its owner archives it, and the work for it stops.
func endArchivedSession(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	archived := true
	_, err := c.store.UpdateSession(c.ctx, c.scope, c.at, store.SessionChange{Archived: &archived})
	must(t, "UpdateSession", err)
	c.errands(t)
	if d := c.is(t, id, parley.DelegationCancelled); c.turn(t, d.TurnID).Status != parley.TurnCancelled {
		t.Errorf("the work goes on: %+v", c.turn(t, d.TurnID))
	}
	c.claimsNothing(t)
	c.hears(t, c.at)
}

// endDeletedSession: the work for a deleted session stops, and its receiver can still read what it was.
func endDeletedSession(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, c.at))
	c.drainOutbox(t)
	d := c.is(t, id, parley.DelegationCancelled)
	if turn := c.turn(t, d.TurnID); turn.Status != parley.TurnCancelled {
		t.Errorf("the work goes on: %+v", turn)
	}
	c.claimsNothing(t)
	must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, d.ToSessionID))
	c.drainOutbox(t)
	_, err := c.store.Delegation(c.ctx, c.scope, id)
	refused(t, "Delegation without sessions", err, parley.CodeNotFound)
}

// endArchivedAgent: an archived agent waits for no answer, and none wakes it.
func endArchivedAgent(t *testing.T, w *world) {
	solo := w.worker(t, "solo")
	at := w.background(t, &solo).ID
	w.post(t, at, w.say("Off you go."))
	claim := w.claim(t)
	id := w.sends(t, claim, 1, asks("Which field?"))[0]
	claim.Turn.Step = 1
	w.answer(t, claim, "I have asked.")
	w.errands(t)
	must(t, "UpdateAgent", w.becomes(archived, solo))
	w.errands(t)
	w.is(t, id, parley.DelegationCancelled)
	if item := w.item(t); item.ClosedAt == 0 {
		t.Errorf("the item is %+v", item)
	}
	w.claimsNothing(t)
}

// endComesBack: only what was open when a member left ends, not what it gets once it is back.
func endComesBack(t *testing.T, w *world) {
	c := w.crew(t)
	before := c.hands(t, c.task(c.scout, "Look."))[0]
	must(t, "UpdateAgent", c.becomes(lead(c.clerk.ID), c.scout))
	must(t, "UpdateAgent", c.becomes(lead(c.lead.ID), c.agentNow(t, c.scout.ID)))
	back := c.agentNow(t, c.scout.ID).UpdatedAt
	for c.post(t, c.session(t), c.say("Later.", alone)).Message.CreatedAt <= back { //nolint:revive // time passes
	}
	c.post(t, c.at, c.say("Off you go."))
	claim := c.claimed(t)["lead"]
	after := c.sends(t, claim, 1, c.task(c.scout, "Look again."))[0]
	c.errands(t)
	c.is(t, before, parley.DelegationCancelled)
	c.is(t, after, parley.DelegationDelivered)
}

// endUndelivered: nothing is delivered to an agent that has left the team since it was sent.
func endUndelivered(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	id := c.sends(t, claim, 1, c.task(c.scout, "Look."))[0]
	must(t, "UpdateAgent", c.becomes(lead(parley.ID{}), c.scout))
	c.errands(t)
	if d := c.is(t, id, parley.DelegationCancelled); d.Reason != "an agent left the team" {
		t.Errorf("the task failed because %q", d.Reason)
	}
	c.hears(t, c.background(t, &c.scout).ID)
}
