package storetest

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testLoops(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"IterationsAreNoted":            loopNote,
		"IterationsFollowEachOther":     loopIterates,
		"TheConditionEndsIt":            loopMet,
		"AFailureFailsIt":               loopFails,
		"ACancelStopsIt":                loopCancelled,
		"StoppedWhileItRuns":            loopStopped,
		"StoppedBeforeItsTurn":          loopStoppedQueued,
		"MessagesGoBetween":             loopBetween,
		"OneAtATime":                    loopAlone,
		"ARepeatGivesTheFirstLoop":      loopRepeated,
		"ARetryTakesItUpAgain":          loopRetried,
		"TheSessionIsArchivedAtTheEnd":  loopArchives,
		"AnIterationIsNoSteer":          loopNoSteer,
		"ADeadWorkerLosesNoIteration":   loopTakenOver,
		"ListsAndScopes":                loopLists,
		"ItIsPurgedWithItsSession":      loopPurged,
		"AFullQueueTakesTheNextOneToo":  loopFullQueue,
		"AnArchivedSessionStartsNoLoop": loopArchived,
	})
}

func (w *world) newLoop(most int, changes ...func(*store.NewLoop)) store.NewLoop {
	loop := store.NewLoop{
		Loop:    parley.Loop{ID: parley.NewID(), Prompt: "again", Max: most, Author: w.owner.Author()},
		First:   w.say("again"),
		Content: json.RawMessage(`{"text":"again"}`),
	}
	for _, change := range changes {
		change(&loop)
	}
	return loop
}

func (w *world) loop(t reporter, session parley.ID, most int, changes ...func(*store.NewLoop)) parley.Loop {
	t.Helper()
	started, err := w.store.StartLoop(w.ctx, w.scope, session, w.newLoop(most, changes...), parley.ID{})
	must(t, "StartLoop", err)
	return started.Loop
}

func (w *world) loopState(t reporter, id parley.ID) parley.Loop {
	t.Helper()
	loop, err := w.store.Loop(w.ctx, w.scope, id)
	must(t, "Loop", err)
	return loop
}

func (w *world) loopIs(t reporter, id parley.ID, state parley.LoopState, reason string, iteration int) parley.Loop {
	t.Helper()
	loop := w.loopState(t, id)
	if loop.State != state || loop.Reason != reason || loop.Iteration != iteration ||
		(loop.FinishedAt == 0) != (state == parley.LoopRunning) {
		t.Fatalf(
			"the loop is %s (%q) at iteration %d, finished at %q; want %s (%q) at %d",
			loop.State,
			loop.Reason,
			loop.Iteration,
			loop.FinishedAt,
			state,
			reason,
			iteration,
		)
	}
	return loop
}

// iteration claims the next turn, which must be an iteration of the loop.
func (w *world) iteration(t reporter, loop parley.ID, n int) store.Claim {
	t.Helper()
	claim := w.claim(t)
	if claim.Turn.LoopID != loop || claim.Turn.Iteration != n || claim.Trigger.Iteration != n || claim.Loop == nil ||
		claim.Loop.ID != loop ||
		claim.Loop.Iteration != n {
		t.Fatalf("turn %+v runs, of loop %+v; want iteration %d", claim.Turn, claim.Loop, n)
	}
	return claim
}

// met ends an iteration whose answer meets the loop's condition.
func (w *world) met(t reporter, claim store.Claim) {
	t.Helper()
	settle := settlement(w.begin(t, claim.Fence, 1), "done")
	settle.End = &store.TurnEnd{Status: parley.TurnCompleted, Met: true}
	w.settle(t, claim.Fence, settle)
}

func loopIterates(t *testing.T, w *world) {
	session := w.session(t)
	started, err := w.store.StartLoop(w.ctx, w.scope, session, w.newLoop(3), w.process)
	must(t, "StartLoop", err)
	claim := started.Claim
	if claim == nil || claim.Loop == nil || claim.Turn.Iteration != 1 || claim.Trigger.Iteration != 1 ||
		claim.Session.Title != "" {
		t.Fatalf("on an idle session with a free slot the loop starts as %+v", started)
	}
	w.answer(t, *claim, "1")
	for n := 2; n <= 3; n++ {
		w.check(t, session)
		w.loopIs(t, started.Loop.ID, parley.LoopRunning, "", n)
		next := w.iteration(t, started.Loop.ID, n)
		if string(next.Trigger.Content) != `{"text":"again"}` || next.Trigger.Author != w.owner.Author() ||
			next.Trigger.ID == claim.Trigger.ID {
			t.Errorf("iteration %d begins with %+v", n, next.Trigger)
		}
		w.answer(t, next, "ok")
	}
	w.claimsNothing(t)
	loop := w.loopIs(t, started.Loop.ID, parley.LoopExhausted, parley.LoopReasonMax, 3)
	s := w.check(t, session)
	if loop.TurnID != s.Turns[2].ID || len(s.Record) != 6 || s.Session.Status != parley.SessionCompleted {
		t.Errorf(
			"the loop ends with turn %s; the session is %s with %d messages",
			loop.TurnID,
			s.Session.Status,
			len(s.Record),
		)
	}
	var told []string
	for _, event := range s.Events {
		if event.Type == parley.EventLoopProgress {
			var data struct {
				LoopID    parley.ID `json:"loop_id"`
				Iteration int
				Max       int
				State     string
				Reason    *string
			}
			must(t, "reading loop.progress", json.Unmarshal(event.Data, &data))
			if data.LoopID != loop.ID || data.Max != 3 {
				t.Errorf("loop.progress has %s", event.Data)
			}
			told = append(told, string(rune('0'+data.Iteration))+" "+data.State)
		}
	}
	if diff := cmp.Diff([]string{"1 running", "2 running", "3 running", "3 exhausted"}, told); diff != "" {
		t.Errorf("progress (-want +got):\n%s", diff)
	}
}

func loopMet(t *testing.T, w *world) {
	session := w.session(t)
	until := &parley.LoopUntil{Schema: json.RawMessage(`{"type":"object"}`)}
	loop := w.loop(
		t,
		session,
		5,
		func(l *store.NewLoop) { l.Loop.Until, l.Loop.Context = until, parley.LoopContext{Recent: 2} },
	)
	first := w.iteration(t, loop.ID, 1)
	if diff := cmp.Diff(until, first.Loop.Until); diff != "" || first.Loop.Context.Recent != 2 {
		t.Errorf(
			"the claim's loop has context %+v and a different condition (-want +got):\n%s",
			first.Loop.Context,
			diff,
		)
	}
	w.answer(t, first, "no")
	w.met(t, w.iteration(t, loop.ID, 2))
	w.claimsNothing(t)
	w.loopIs(t, loop.ID, parley.LoopCompleted, "schema", 2)
	w.check(t, session)
}

func loopFails(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 5)
	_, err := w.store.FinishTurn(w.ctx, w.iteration(t, loop.ID, 1).Fence, *failed(parley.ClassLimit))
	must(t, "FinishTurn", err)
	w.loopIs(t, loop.ID, parley.LoopFailed, string(parley.ClassLimit), 1)
	w.claimsNothing(t)
	w.check(t, session)
}

func loopCancelled(t *testing.T, w *world) {
	for name, cancel := range map[string]func(parley.ID, store.Claim){
		"taken": func(session parley.ID, claim store.Claim) {
			_, err := w.store.RequestCancel(w.ctx, w.scope, session, parley.ID{}, false)
			must(t, "RequestCancel", err)
			_, err = w.store.TakeCancel(w.ctx, w.scope, session, claim.Turn.ID)
			must(t, "TakeCancel", err)
		},
		"by its holder": func(_ parley.ID, claim store.Claim) {
			_, err := w.store.FinishTurn(w.ctx, claim.Fence, store.TurnEnd{Status: parley.TurnCancelled})
			must(t, "FinishTurn", err)
		},
	} {
		session := w.session(t)
		loop := w.loop(t, session, 5)
		cancel(session, w.iteration(t, loop.ID, 1))
		w.loopIs(t, loop.ID, parley.LoopStopped, parley.LoopReasonCancelled, 1)
		if s := w.check(t, session); len(s.Turns) != 1 {
			t.Errorf("%s: %d turns were made", name, len(s.Turns))
		}
	}
}

func loopStopped(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 5)
	claim := w.iteration(t, loop.ID, 1)
	stopped, err := w.store.StopLoop(w.ctx, w.scope, session, loop.ID)
	if err != nil || stopped.State != parley.LoopStopped || w.turn(t, claim.Turn.ID).Status != parley.TurnRunning {
		t.Fatalf("StopLoop gives %+v, %v", stopped, err)
	}
	before := w.check(t, session)
	again, err := w.store.StopLoop(w.ctx, w.scope, session, loop.ID)
	if err != nil || again.State != parley.LoopStopped {
		t.Errorf("a second StopLoop gives %+v, %v", again, err)
	}
	w.unchanged(t, "a second StopLoop", session, before)
	w.answer(t, claim, "last")
	w.claimsNothing(t)
	w.loopIs(t, loop.ID, parley.LoopStopped, parley.LoopReasonStopped, 1)
	done := w.loop(t, session, 1)
	w.answer(t, w.iteration(t, done.ID, 1), "1")
	_, err = w.store.StopLoop(w.ctx, w.scope, session, done.ID)
	refused(t, "stopping an exhausted loop", err, parley.CodeConflict)
	w.check(t, session)
}

func loopStoppedQueued(t *testing.T, w *world) {
	for _, busy := range []bool{false, true} { // its turn is the first one, or waits behind another
		session := w.session(t)
		if busy {
			w.post(t, session, w.say("first"))
		}
		loop := w.loop(t, session, 5)
		_, err := w.store.StopLoop(w.ctx, w.scope, session, loop.ID)
		must(t, "StopLoop", err)
		if turn := w.turn(t, loop.TurnID); turn.Status != parley.TurnCancelled {
			t.Errorf("busy %t: an iteration that had not begun is %s", busy, turn.Status)
		}
		w.loopIs(t, loop.ID, parley.LoopStopped, parley.LoopReasonStopped, 1)
		if busy {
			w.answer(t, w.claim(t), "1")
		}
		w.claimsNothing(t)
		w.check(t, session)
	}
}

func loopBetween(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 2)
	first := w.iteration(t, loop.ID, 1)
	asked := w.post(t, session, w.say("how far are you?"))
	steer := w.steer(t, session, "also")
	settle := settlement(w.begin(t, first.Fence, 1), "not yet")
	settle.End = completed()
	if settled := w.settle(t, first.Fence, settle); !settled.More {
		t.Fatalf("with a steer undelivered the iteration ends: %+v", settled)
	}
	w.loopIs(t, loop.ID, parley.LoopRunning, "", 1)
	settle = settlement(w.begin(t, first.Fence, 2, steer), "done")
	settle.End = completed()
	w.settle(t, first.Fence, settle)
	w.check(t, session)
	between := w.claim(t)
	if between.Turn.ID != asked.Turn.ID || !between.Turn.LoopID.IsZero() || between.Loop != nil {
		t.Fatalf("turn %+v runs; want the message that arrived meanwhile", between.Turn)
	}
	w.answer(t, between, "half")
	w.answer(t, w.iteration(t, loop.ID, 2), "2")
	w.loopIs(t, loop.ID, parley.LoopExhausted, parley.LoopReasonMax, 2)
	w.check(t, session)
}

func loopAlone(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 2)
	before := w.check(t, session)
	_, err := w.store.StartLoop(w.ctx, w.scope, session, w.newLoop(2), w.process)
	refused(t, "a second loop", err, parley.CodeConflict)
	w.unchanged(t, "a second loop", session, before)
	_, err = w.store.StopLoop(w.ctx, w.scope, session, loop.ID)
	must(t, "StopLoop", err)
	next := w.loop(t, session, 1)
	w.answer(t, w.iteration(t, next.ID, 1), "1")
	w.check(t, session)
}

func loopRepeated(t *testing.T, w *world) {
	const n = 20
	session := w.session(t)
	keyed := func(body string) store.NewLoop {
		return w.newLoop(2, func(l *store.NewLoop) {
			l.Idempotency = store.Idempotency{Key: "k", Fingerprint: parley.HashOf([]byte(body))}
		})
	}
	started, errs := make([]store.LoopStarted, n), make([]error, n)
	atOnce(n, func(i int) {
		started[i], errs[i] = w.store.StartLoop(w.ctx, w.scope, session, keyed("body"), parley.ID{})
	})
	for i := range n {
		must(t, "a concurrent StartLoop", errs[i])
		if started[i].Loop.ID != started[0].Loop.ID || started[i].EventSequence != started[0].EventSequence {
			t.Fatalf("two starts give the loops %s and %s", started[i].Loop.ID, started[0].Loop.ID)
		}
	}
	before := w.check(t, session)
	_, err := w.store.StartLoop(w.ctx, w.scope, session, keyed("other"), parley.ID{})
	refused(t, "another loop under the key", err, parley.CodeKeyReused)
	w.unchanged(t, "another loop under the key", session, before)
}

func loopRetried(t *testing.T, w *world) {
	for name, c := range map[string]struct {
		end   store.TurnEnd
		stop  bool
		state parley.LoopState
	}{
		"failed":    {end: *failed(parley.ClassNetwork), state: parley.LoopRunning},
		"cancelled": {end: store.TurnEnd{Status: parley.TurnCancelled}, state: parley.LoopRunning},
		"stopped":   {end: *failed(parley.ClassNetwork), stop: true, state: parley.LoopStopped},
	} {
		session := w.session(t)
		loop := w.loop(t, session, 2)
		claim := w.iteration(t, loop.ID, 1)
		if c.stop {
			_, err := w.store.StopLoop(w.ctx, w.scope, session, loop.ID)
			must(t, "StopLoop", err)
		}
		_, err := w.store.FinishTurn(w.ctx, claim.Fence, c.end)
		must(t, "FinishTurn", err)
		resumed := w.retry(t, session, claim.Turn.ID)
		again := w.claim(t)
		if again.Turn.ID != resumed.Turn.ID || again.Turn.LoopID != loop.ID || again.Turn.Iteration != 1 ||
			again.Loop == nil ||
			again.Loop.State != c.state {
			t.Fatalf("%s: the retry is %+v of loop %+v", name, again.Turn, again.Loop)
		}
		w.answer(t, again, "ok")
		w.check(t, session)
		if c.state == parley.LoopRunning {
			w.answer(t, w.iteration(t, loop.ID, 2), "2")
			w.loopIs(t, loop.ID, parley.LoopExhausted, parley.LoopReasonMax, 2)
		}
		w.claimsNothing(t)
		w.check(t, session)
	}
}

func loopArchives(t *testing.T, w *world) {
	archive := func(l *store.NewLoop) { l.Loop.ArchiveDone = true }
	session := w.session(t, func(s *parley.Session) { s.Tags = []string{"kept"} })
	loop := w.loop(t, session, 1, archive)
	w.answer(t, w.iteration(t, loop.ID, 1), "1")
	if state := w.sessionState(
		t,
		session,
	); state.ArchivedAt == 0 || len(state.Tags) != 1 ||
		state.Status != parley.SessionCompleted {
		t.Errorf("after the loop the session is %+v", state)
	}
	w.check(t, session)
	busy := w.session(t)
	loop = w.loop(t, busy, 1, archive)
	claim := w.iteration(t, loop.ID, 1)
	w.post(t, busy, w.say("and?"))
	w.answer(t, claim, "1")
	if state := w.sessionState(t, busy); state.ArchivedAt != 0 {
		t.Errorf("a session with a waiting message was archived")
	}
	w.loopIs(t, loop.ID, parley.LoopExhausted, parley.LoopReasonMax, 1)
	w.check(t, busy)
}

func loopNoSteer(t *testing.T, w *world) {
	session := w.session(t)
	w.post(t, session, w.say("first"))
	running := w.claim(t)
	loop := w.loop(t, session, 2)
	s := w.check(t, session)
	_, err := w.store.SendQueued(w.ctx, w.scope, s.Queue[0].ID, parley.DuringSteer, parley.ID{})
	refused(t, "an iteration sent as a steer", err, parley.CodeConflict)
	w.unchanged(t, "an iteration sent as a steer", session, s)
	_, err = w.store.RemoveQueued(w.ctx, w.scope, s.Queue[0].ID)
	must(t, "RemoveQueued", err)
	w.loopIs(t, loop.ID, parley.LoopStopped, parley.LoopReasonCancelled, 1)
	w.answer(t, running, "1")
	w.check(t, session)
}

func loopTakenOver(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 2)
	w.begin(t, w.iteration(t, loop.ID, 1).Fence, 1)
	w.expire(t, w.process)
	w.process = w.register(t)
	again := w.iteration(t, loop.ID, 1)
	if again.Turn.Attempt != 2 {
		t.Errorf("the iteration is taken over as attempt %d", again.Turn.Attempt)
	}
	_, err := w.store.RecoverTurn(w.ctx, again.Fence)
	must(t, "RecoverTurn", err)
	_, err = w.store.FinishTurn(w.ctx, again.Fence, *completed())
	must(t, "FinishTurn", err)
	w.loopIs(t, loop.ID, parley.LoopRunning, "", 2)
	w.answer(t, w.iteration(t, loop.ID, 2), "2")
	w.check(t, session)
}

func loopLists(t *testing.T, w *world) {
	session := w.session(t)
	var ids []parley.ID
	for range 3 {
		loop := w.loop(t, session, 1)
		ids = append(ids, loop.ID)
		w.answer(t, w.iteration(t, loop.ID, 1), "1")
	}
	page, err := w.store.Loops(w.ctx, w.scope, session, store.LoopQuery{Limit: 2})
	if err != nil || len(page) != 2 || page[0].ID != ids[2] || page[1].ID != ids[1] {
		t.Fatalf("the newest two are %+v, %v", page, err)
	}
	if page, err = w.store.Loops(
		w.ctx,
		w.scope,
		session,
		store.LoopQuery{AfterID: page[1].ID, Limit: 2},
	); err != nil || len(page) != 1 ||
		page[0].ID != ids[0] {
		t.Errorf("after them come %+v, %v", page, err)
	}
	if page, err = w.store.Loops(
		w.ctx,
		w.scope,
		session,
		store.LoopQuery{Ascending: true, Limit: 1},
	); err != nil || len(page) != 1 ||
		page[0].ID != ids[0] {
		t.Errorf("the oldest is %+v, %v", page, err)
	}
	for name, scope := range map[string]store.Scope{
		"another workspace": w.neighbour(t, "other").scope,
		"another principal": {WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()},
	} {
		_, err := w.store.Loop(w.ctx, scope, ids[0])
		refused(t, "a loop read from "+name, err, parley.CodeNotFound)
		_, err = w.store.Loops(w.ctx, scope, session, store.LoopQuery{Limit: 1})
		refused(t, "loops listed from "+name, err, parley.CodeNotFound)
		_, err = w.store.StartLoop(w.ctx, scope, session, w.newLoop(1), parley.ID{})
		refused(t, "a loop started from "+name, err, parley.CodeNotFound)
		_, err = w.store.StopLoop(w.ctx, scope, session, ids[0])
		refused(t, "a loop stopped from "+name, err, parley.CodeNotFound)
	}
	_, err = w.store.StopLoop(w.ctx, w.scope, w.session(t), ids[0])
	refused(t, "another session's loop", err, parley.CodeNotFound)
}

func loopPurged(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 3)
	w.iteration(t, loop.ID, 1)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, session))
	_, err := w.store.Loop(w.ctx, w.scope, loop.ID)
	refused(t, "the loop of a deleted session", err, parley.CodeNotFound)
	for {
		_, more, err := w.store.ApplyOutbox(w.ctx, parley.ID{})
		must(t, "ApplyOutbox", err)
		if !more {
			break
		}
	}
	w.claimsNothing(t)
}

func loopFullQueue(t *testing.T, w *world) {
	session := w.session(t)
	loop := w.loop(t, session, 2)
	claim := w.iteration(t, loop.ID, 1)
	for range parley.MaxQueued {
		w.post(t, session, w.say("a note", alone))
	}
	w.answer(t, claim, "1")
	w.answer(t, w.iteration(t, loop.ID, 2), "2")
	if s := w.sessionState(t, session); s.Statistics.Messages != parley.MaxQueued+4 {
		t.Errorf("there are %d messages", s.Statistics.Messages)
	}
}

func loopArchived(t *testing.T, w *world) {
	session, yes := w.session(t), true
	_, err := w.store.UpdateSession(w.ctx, w.scope, session, store.SessionChange{Archived: &yes})
	must(t, "UpdateSession", err)
	_, err = w.store.StartLoop(w.ctx, w.scope, session, w.newLoop(1), parley.ID{})
	refused(t, "a loop in an archived session", err, parley.CodeArchived)
}
