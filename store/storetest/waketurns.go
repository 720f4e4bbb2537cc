package storetest

import (
	"fmt"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testWakeTurns(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"TheFirstAnswerIsRemoved":        delegationFirstRemoved,
		"TheFirstAnswerOfTheNextTurn":    delegationNextRemoved,
		"TheFirstAnswerIsSteered":        delegationFirstSteered,
		"TheFirstAnswerIsSentNow":        delegationFirstSent,
		"ALongQueueBeforeATurnThatStops": delegationLongQueue,
	})
}

// meanwhile has answers of the scout and the clerk wait in one turn behind a person's, which runs; it returns that and
// the queue.
func (c *crew) meanwhile(t reporter) (store.Claim, []parley.Message) {
	t.Helper()
	c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	c.post(t, c.at, c.say("Meanwhile."))
	work := c.claimed(t)
	c.answer(t, work["scout"], "All quiet.")
	c.errands(t)
	c.answer(t, work["clerk"], "Twelve.")
	c.errands(t)
	queue := c.check(t, c.at).Queue
	if len(queue) != 2 || queue[0].TurnID != queue[1].TurnID {
		t.Fatalf("the queue is %+v", queue)
	}
	return work["lead"], queue
}

const countAnswer = `Answer to your task to clerk (clerk), "Count.": | Twelve.`

// delegationFirstRemoved: who removes the first answer of those that wait for a turn loses no other.
func delegationFirstRemoved(t *testing.T, w *world) {
	c := w.crew(t)
	running, queue := c.meanwhile(t)
	_, err := c.store.RemoveQueued(c.ctx, c.scope, queue[0].ID)
	must(t, "RemoveQueued", err)
	c.check(t, c.at)
	c.answer(t, running, "Yes?")
	c.answer(t, c.claim(t), "Done.")
	c.hears(t, c.at, countAnswer)
	c.claimsNothing(t)
	c.check(t, c.at)
}

// delegationNextRemoved: the same while the turn is the next one to be claimed.
func delegationNextRemoved(t *testing.T, w *world) {
	c := w.crew(t)
	running, queue := c.meanwhile(t)
	c.answer(t, running, "Yes?")
	_, err := c.store.RemoveQueued(c.ctx, c.scope, queue[0].ID)
	must(t, "RemoveQueued", err)
	c.check(t, c.at)
	c.answer(t, c.claim(t), "Done.")
	c.hears(t, c.at, countAnswer)
	c.claimsNothing(t)
	c.check(t, c.at)
}

// delegationFirstSteered: an answer that is sent into the running turn leaves the others to their own.
func delegationFirstSteered(t *testing.T, w *world) {
	c := w.crew(t)
	running, queue := c.meanwhile(t)
	_, err := c.store.SendQueued(c.ctx, c.scope, queue[0].ID, parley.DuringSteer, parley.ID{})
	must(t, "SendQueued", err)
	c.check(t, c.at)
	_, err = c.store.FinishTurn(c.ctx, running.Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
	c.check(t, c.at)
	for range 2 { // the steer had no step to enter, so it begins a turn
		c.answer(t, c.claim(t), "Done.")
	}
	c.hears(t, c.at, lookAnswer, countAnswer)
	c.claimsNothing(t)
	c.check(t, c.at)
}

// delegationFirstSent: an answer that is sent at once brings the others of its turn with it.
func delegationFirstSent(t *testing.T, w *world) {
	c := w.crew(t)
	running, queue := c.meanwhile(t)
	_, err := c.store.SendQueued(c.ctx, c.scope, queue[0].ID, parley.DuringInterrupt, parley.ID{})
	must(t, "SendQueued", err)
	_, err = c.store.FinishTurn(c.ctx, running.Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
	c.answer(t, c.claim(t), "Done.")
	c.hears(t, c.at, lookAnswer, countAnswer)
	c.claimsNothing(t)
	c.check(t, c.at)
}

// delegationLongQueue: a turn that has not been claimed stops whatever waits behind it: by a cancel, a removal, a
// message that interrupts, and the end of what it works for.
func delegationLongQueue(t *testing.T, w *world) {
	c := w.crew(t)
	for name, stop := range map[string]func(turn parley.Turn, d parley.Delegation) error{
		"cancel": func(turn parley.Turn, _ parley.Delegation) error {
			_, err := c.store.RequestCancel(c.ctx, c.scope, turn.SessionID, turn.ID, false)
			return err
		},
		"remove": func(turn parley.Turn, _ parley.Delegation) error {
			_, err := c.store.RemoveQueued(c.ctx, c.scope, turn.TriggerMessageID)
			return err
		},
		"interrupt": func(turn parley.Turn, _ parley.Delegation) error {
			_, err := c.store.PostMessage(c.ctx, c.scope, turn.SessionID,
				c.say("Stop.", during(parley.DuringInterrupt)), parley.ID{})
			return err
		},
		"end": func(_ parley.Turn, d parley.Delegation) error {
			_, err := c.store.CancelDelegation(c.ctx, c.scope, d.ID)
			return err
		},
	} {
		member := c.worker(t, name, lead(c.lead.ID))
		session := c.background(t, &member)
		c.post(t, session.ID, c.say("First."))
		first := c.claim(t)
		id := c.hands(t, c.task(member, "Look."))[0]
		for i := range 70 {
			c.post(t, session.ID, c.say(fmt.Sprintf("More %d.", i)))
		}
		c.answer(t, first, "Done.")
		d := c.is(t, id, parley.DelegationDelivered)
		must(t, name, stop(c.turn(t, d.TurnID), d))
		c.errands(t)
		if turn := c.turn(t, d.TurnID); turn.Status != parley.TurnCancelled {
			t.Errorf("%s: the turn is %s", name, turn.Status)
		}
		c.is(t, id, parley.DelegationCancelled)
		if lines, _ := c.heard(t, session.ID); name != "remove" && !strings.HasPrefix(strings.Join(lines, ""), "Task") {
			t.Errorf("%s: the record has %q", name, lines)
		}
		c.check(t, session.ID)
		must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, session.ID))
		c.answer(t, c.claim(t), "Pity.")
	}
}
