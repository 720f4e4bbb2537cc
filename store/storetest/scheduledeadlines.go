package storetest

import (
	"slices"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

const alreadyOver = "-1s" // a deadline that has passed once the message is posted

func over(s *parley.Schedule) { s.Deadline = alreadyOver }

// stopped applies errands until a turn is cancelled, and requires the alert about it.
func (w *world) stopped(t reporter, session, turnID, trigger parley.ID) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		w.errands(t)
		if status := w.turn(t, turnID).Status; status == parley.TurnCancelled {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("after its deadline the turn is %s", status)
		}
	}
	items := w.alerts(t)
	if i := slices.IndexFunc(items, func(item parley.InboxItem) bool {
		return item.Title == "A scheduled run passed its deadline: daily"
	}); i < 0 || items[i].SessionID != session || items[i].MessageID != trigger || items[i].ReadAt != 0 {
		t.Errorf("the alerts are %+v", items)
	}
	w.check(t, session)
}

// scheduleRunExpires: a turn of a schedule is stopped at its deadline, whatever it waits for, and its owner is told.
func scheduleRunExpires(t *testing.T, w *world) {
	for what, waits := range map[string]func(t *testing.T, w *world, claim store.Claim){
		"for an approval": func(t *testing.T, w *world, claim store.Claim) {
			w.callAsking(t, claim.Fence, 1, 1, map[int]store.Ask{0: anHour()})
			_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitApproval)
			must(t, "ParkTurn", err)
		},
		"for a budget": func(t *testing.T, w *world, claim store.Claim) {
			_, err := w.park(claim.Fence, &store.Reservation{}, nil)
			must(t, "ParkRefused", err)
		},
		"for a process that does not settle it": func(*testing.T, *world, store.Claim) {},
	} {
		t.Run(what, func(t *testing.T) {
			w := w.neighbour(t, parley.NewID().String())
			agent := w.worker(t, "digger")
			run := w.due(t, w.schedule(t, agent.ID, over).ID)
			claim := w.claim(t)
			if claim.Turn.ID != run.TurnID {
				t.Fatalf("turn %s runs, want %s", claim.Turn.ID, run.TurnID)
			}
			waits(t, w, claim)
			w.stopped(t, run.SessionID, run.TurnID, run.MessageID)
		})
	}
}

// scheduleRunExpiresQueued: so is one that waits behind other work, which goes on.
func scheduleRunExpiresQueued(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	session := w.background(t, &agent).ID
	w.post(t, session, w.say("something else"))
	claim := w.claim(t)
	run := w.due(t, w.schedule(t, agent.ID, over).ID)
	w.stopped(t, session, run.TurnID, run.MessageID)
	w.answer(t, claim, "something else is done")
	if claims := w.claimAll(t); len(claims) != 0 {
		t.Errorf("more is to do: %+v", claims)
	}
}

// scheduleRunContinues: a turn that goes on with a run, because an answer came, has the same deadline from then on.
func scheduleRunContinues(t *testing.T, w *world) {
	c := w.crew(t)
	run := c.due(t, c.schedule(t, c.lead.ID, over).ID)
	claim := c.claim(t)
	c.sends(t, claim, 1, c.task(c.scout, "Look."))
	claim.Turn.Step = 1
	c.answer(t, claim, "They are at work.")
	c.errands(t)
	c.answer(t, c.claimed(t)["scout"], "It is green.")
	if items := c.alerts(t); len(items) != 0 {
		t.Fatalf("a run that ended in time raised an alert: %+v", items)
	}
	var home store.Claim
	for home.Turn.ID.IsZero() { // as soon as it is there: its deadline has passed
		_, _, err := c.store.ApplyOutbox(c.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
		home = c.claimed(t)["lead"]
	}
	if home.Session.ID != run.SessionID || home.Turn.ID == run.TurnID {
		t.Fatalf("turn %s goes on in %s", home.Turn.ID, home.Session.ID)
	}
	c.stopped(t, run.SessionID, home.Turn.ID, home.Trigger.ID)
}

// scheduleRunInTime: what ended before its deadline, or has time left, is left alone.
func scheduleRunInTime(t *testing.T, w *world) {
	agent := w.worker(t, "digger")
	made := w.schedule(
		t,
		agent.ID,
		func(s *parley.Schedule) { s.Deadline, s.Overlap = alreadyOver, parley.OverlapQueue },
	)
	w.due(t, made.ID)
	w.answer(t, w.claim(t), "done")
	w.errands(t)
	made = w.scheduleState(t, made.ID)
	made.Deadline = ""
	_, err := w.store.UpdateSchedule(w.ctx, made)
	must(t, "UpdateSchedule", err)
	run := w.due(t, made.ID)
	claim := w.claim(t)
	w.errands(t)
	w.answer(t, claim, "done too")
	if turn := w.turn(t, run.TurnID); turn.Status != parley.TurnCompleted {
		t.Errorf("with a day left, the turn is %s", turn.Status)
	}
	if items := w.alerts(t); len(items) != 0 {
		t.Errorf("runs that ended in time raised %+v", items)
	}
}
