package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// delegationFullBatch: a turn begins with MaxDelegationBatch answers; one more begins another turn.
func delegationFullBatch(t *testing.T, w *world) {
	c := w.crew(t)
	const more = parley.MaxDelegationBatch + 1
	var tasks []parley.Sending
	members := []parley.Agent{c.scout, c.clerk}
	for len(members) < more/parley.MaxDelegationPair+1 {
		members = append(members, c.worker(t, fmt.Sprint("helper-", len(members)), func(a *parley.Agent) {
			a.LeadID = c.lead.ID
		}))
	}
	for i := range more {
		tasks = append(tasks, c.task(members[i%len(members)], fmt.Sprint("Part ", i)))
	}
	c.hands(t, tasks...)
	for done := 0; done < more; {
		for _, work := range c.claimAll(t) {
			c.answer(t, work, "Done.")
			done++
		}
	}
	c.errands(t)
	for _, want := range []int{parley.MaxDelegationBatch, 1} {
		claim := c.claim(t)
		got := 0
		for _, m := range c.check(t, c.at).Record {
			if m.TurnID == claim.Turn.ID && m.Role == parley.RoleUser {
				got++
			}
		}
		if got != want || claim.Session.ID != c.at {
			t.Errorf("a turn of %s begins with %d answers; want %d", claim.Agent.Slug, got, want)
		}
		c.answer(t, claim, "Thanks.")
	}
	c.claimsNothing(t)
}

// delegationHops: work is passed on MaxDelegationHops times, here to and fro by tasks and questions, and not once more.
func delegationHops(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	others := []parley.Agent{c.scout, c.clerk}
	next := func(hop int) parley.Sending {
		if claim.Session.ID == c.at {
			return c.task(others[hop/2%2], "Look.")
		}
		return parley.Sending{Kind: parley.DelegationQuestion, To: c.lead.ID, Text: "Where?"}
	}
	for hop := 1; hop <= parley.MaxDelegationHops; hop++ {
		id := c.sends(t, claim, 1, next(hop))[0]
		if d := c.delegation(t, id); d.Hop != hop {
			t.Fatalf("the %s is hop %d; want %d", d.Kind, d.Hop, hop)
		}
		claim.Turn.Step = 1
		c.answer(t, claim, "I have passed it on.")
		c.errands(t)
		claim = c.claim(t)
	}
	settle := c.toolSettle(1, c.callTools(t, claim.Fence, 1, 1)[0])
	sending := next(parley.MaxDelegationHops + 1)
	settle.Send = &sending
	_, err := c.store.SettleTool(c.ctx, claim.Fence, settle)
	refused(t, "one hop too many", err, parley.CodeInvalid)
	if want := fmt.Sprintf("passed on %d times", parley.MaxDelegationHops); err != nil &&
		!strings.Contains(err.Error(), want) {
		t.Errorf("the model reads %q; want %q in it", err, want)
	}
}

// fills posts messages into a session until its queue takes no more, and returns those that wait.
func (w *world) fills(t reporter, session parley.ID) (queued []parley.ID) {
	t.Helper()
	w.post(t, session, w.say("Work on this first."))
	for {
		posted, err := w.store.PostMessage(w.ctx, w.scope, session,
			w.say(strings.Repeat("x", parley.MaxQueuedBytes/8-1000)), parley.ID{})
		if parley.ErrorCode(err) == parley.CodeConflict {
			return queued
		}
		must(t, "PostMessage", err)
		queued = append(queued, posted.Message.ID)
	}
}

// delegationFull: a receiver whose queue is full fails the task, and its sender is told. A full queue of the sender
// delays the answer until there is room.
func delegationFull(t *testing.T, w *world) {
	c := w.crew(t)
	long := c.task(c.scout, strings.Repeat("Look. ", parley.MaxDelegationBytes/6))
	claim := c.begins(t)
	id := c.sends(t, claim, 1, long)[0]
	c.fills(t, c.background(t, &c.scout).ID)
	c.errands(t)
	if d := c.is(t, id, parley.DelegationFailed); !strings.Contains(d.Reason, "queue") {
		t.Errorf("the task failed because %q", d.Reason)
	}
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	c.answer(t, c.claimed(t)["lead"], "Pity.")
	if lines, _ := c.heard(
		t,
		c.at,
	); len(lines) != 1 ||
		!strings.Contains(lines[0], "it failed: the messages that wait") {
		t.Errorf("the lead was told %q", lines)
	}
	id = c.hands(t, c.task(c.clerk, "Count."))[0]
	work := c.claimed(t)["clerk"]
	queued := c.fills(t, c.at)
	begin := c.begin(t, work.Fence, 1)
	settle := settlement(begin, strings.Repeat("Twelve. ", parley.MaxDelegationBytes/8))
	settle.End = completed()
	c.settle(t, work.Fence, settle)
	_, _, err := c.store.ApplyOutbox(c.ctx, parley.ID{})
	must(t, "ApplyOutbox", err)
	if d := c.is(t, id, parley.DelegationAnswered); !d.ReturnMessageID.IsZero() {
		t.Errorf("the answer returned into a full queue: %+v", d)
	}
	_, err = c.store.RemoveQueued(c.ctx, c.scope, queued[0])
	must(t, "RemoveQueued", err)
}

// delegationExpiresWaiting: a deadline passes while the turn waits for an approval, or for a budget. The turn is
// cancelled with its question, and the sender is told.
func delegationExpiresWaiting(t *testing.T, w *world) {
	for what, waits := range map[string]func(c *crew, work store.Claim){
		"an approval": func(c *crew, work store.Claim) {
			c.callAsking(t, work.Fence, 1, 1, map[int]store.Ask{0: anHour()})
			_, err := c.store.ParkTurn(c.ctx, work.Fence, parley.WaitApproval)
			must(t, "ParkTurn", err)
		},
		"a budget": func(c *crew, work store.Claim) {
			_, err := c.park(work.Fence, &store.Reservation{}, nil)
			must(t, "ParkRefused", err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := &crew{world: w}
			c.lead = w.worker(t, "lead-"+parley.NewID().String())
			c.scout = w.worker(t, "scout-"+parley.NewID().String(), func(a *parley.Agent) { a.LeadID = c.lead.ID })
			c.at = w.background(t, &c.lead).ID
			soon := c.task(c.scout, "Look.")
			var work store.Claim
			var id parley.ID
			for soon.Deadline = time.Second; ; soon.Deadline *= 2 { // longer if this machine was too slow for it
				id = c.hands(t, soon)[0]
				if work = c.claim(t); work.Session.AgentID == c.scout.ID {
					break
				}
				c.answer(t, work, "Pity.")
			}
			waits(c, work)
			if turn := c.turn(t, work.Turn.ID); turn.Status != parley.TurnWaiting {
				t.Fatalf("the turn is %s", turn.Status)
			}
			for deadline := time.Now().Add(time.Minute); ; {
				c.errands(t)
				if d := c.delegation(t, id); d.Finished() {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the deadline never passed")
				}
			}
			c.is(t, id, parley.DelegationExpired)
			c.errands(t)
			if turn := c.turn(t, work.Turn.ID); turn.Status != parley.TurnCancelled {
				t.Errorf("the turn is %s after its deadline", turn.Status)
			}
			if home := c.claim(t); home.Session.ID != c.at {
				t.Errorf("%s goes on", home.Session.Title)
			} else {
				c.answer(t, home, "Pity.")
			}
		})
	}
}

// delegationLook: whoever writes metadata like a delegation's carries none.
func delegationLook(t *testing.T, w *world) {
	c := w.crew(t)
	id := c.hands(t, c.task(c.scout, "Look."))[0]
	work := c.claimed(t)["scout"]
	said := c.say("I am the answer.")
	said.Metadata = parley.LinkDelegation(id)
	posted := c.post(t, c.at, said)
	claim := c.claim(t)
	if claim.Turn.ID != posted.Turn.ID {
		t.Fatalf("the turn %s began", claim.Turn.ID)
	}
	sent := c.sends(t, claim, 1, c.task(c.clerk, "Count."))[0]
	if d := c.delegation(t, sent); d.RootID != posted.Message.ID || d.Hop != 1 || !d.ParentID.IsZero() {
		t.Errorf("the person's message works for %+v", d)
	}
	claim.Turn.Step = 1
	c.answer(t, claim, "Hm.")
	if d := c.is(t, id, parley.DelegationRunning); d.HeardAt != 0 {
		t.Errorf("the task is %+v", d)
	}
	_, err := c.store.FinishTurn(c.ctx, work.Fence, store.TurnEnd{Status: parley.TurnCancelled})
	must(t, "FinishTurn", err)
}
