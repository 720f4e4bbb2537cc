package storetest

import (
	"slices"
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testSuspects(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"FewAtOnce":                  suspectsFew,
		"CaughtTwiceRunAlone":        suspectsAlone,
		"AStepClears":                suspectsCleared,
		"FreshTurnsPassThem":         suspectsPassed,
		"TheSoleSuspectIsGuilty":     suspectsGuilty,
		"ItWaitsForThoseBeside":      suspectsHeldBack,
		"AnotherExplainsTheDeath":    suspectsExplained,
		"OtherDeathsRaiseDoubt":      suspectsDoubted,
		"AnUnknownEndRaisesDoubt":    suspectsUnknown,
		"AnAccusedTurnIsCancelled":   suspectsCancelled,
		"AtALimitItWaitsForAClaim":   suspectsAtALimit,
		"BackgroundTurnsAreNoOthers": suspectsBackground,
	})
	t.Run("Poison", func(t *testing.T) {
		t.Parallel()
		testPoison(t, open)
	})
}

// running starts n turns, run by their own process.
func (w *world) running(t reporter, n int) (process parley.ID, claims []store.Claim) {
	t.Helper()
	process = w.register(t)
	for range n {
		posted, err := w.store.PostMessage(w.ctx, w.scope, w.session(t), w.say("go"), process)
		must(t, "PostMessage", err)
		claims = append(claims, *posted.Claim)
	}
	return process, claims
}

// claims claims up to n sessions.
func (w *world) claims(t reporter, process parley.ID, n int) []store.Claim {
	t.Helper()
	claims, err := w.store.Claim(w.ctx, process, n, roomy())
	must(t, "Claim", err)
	return claims
}

// die lets a process die and sweeps until nothing is left to take over.
func (w *world) die(t reporter, process parley.ID) {
	t.Helper()
	w.expire(t, process)
	w.sweep(t)
}

func (w *world) sweep(t reporter) {
	t.Helper()
	for {
		touched, err := w.store.Sweep(w.ctx)
		must(t, "Sweep", err)
		if touched == 0 {
			return
		}
	}
}

func (w *world) finishAll(t reporter, claims []store.Claim) {
	t.Helper()
	for _, claim := range claims {
		if claim.Turn.Attempt > 1 {
			_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
			must(t, "RecoverTurn", err)
		}
		w.answer(t, claim, "done")
	}
}

// suspectsFew: however often a process asks, it runs no more suspects than the bound.
func suspectsFew(t *testing.T, w *world) {
	const more = 6
	process, _ := w.running(t, parley.MaxSuspects+more)
	w.die(t, process)
	w.post(t, w.session(t), w.say("fresh"))
	var held []store.Claim
	for range 3 {
		held = append(held, w.claims(t, w.process, parley.MaxSuspects)...)
	}
	fresh := slices.IndexFunc(held, func(c store.Claim) bool { return c.Turn.Takeovers == 0 })
	if len(held) != parley.MaxSuspects+1 || fresh < 0 {
		t.Fatalf(
			"one process claims %d turns (the fresh one is number %d); want %d suspects and a fresh one",
			len(held),
			fresh,
			parley.MaxSuspects,
		)
	}
	w.finishAll(t, held[:2])
	if again := w.claims(t, w.process, parley.MaxSuspects); len(again) != 2 {
		t.Errorf("after 2 of them have settled a step %d more are claimed", len(again))
	}
	if others := w.claims(t, w.register(t), parley.MaxSuspects); len(others) != more-2 {
		t.Errorf("another process claims %d of the %d that are left", len(others), more-2)
	}
}

// twice returns turns that two processes have died with.
func (w *world) twice(t reporter, n int) []store.Claim {
	t.Helper()
	process, claims := w.running(t, n)
	w.die(t, process)
	second := w.register(t)
	if again := w.claims(t, second, n); len(again) != n {
		t.Fatalf("%d of %d suspects are claimed", len(again), n)
	}
	w.die(t, second)
	return claims
}

func suspectsAlone(t *testing.T, w *world) {
	w.twice(t, 3)
	first := w.claims(t, w.process, 10)
	if len(first) != 1 || first[0].Turn.Takeovers != 2 {
		t.Fatalf("a process claims %d turns that were caught twice", len(first))
	}
	if more := w.claims(t, w.process, 10); len(more) != 0 {
		t.Errorf("and %d more with it", len(more))
	}
	other := w.claims(t, w.register(t), 10)
	if len(other) != 1 || other[0].Turn.ID == first[0].Turn.ID {
		t.Errorf("another process claims %d", len(other))
	}
	process, _ := w.running(t, 1)
	w.die(t, process) // caught once, so not together with one that was caught twice
	if more := w.claims(t, w.process, 10); len(more) != 0 {
		t.Errorf("a suspect runs beside the one that was caught twice")
	}
	w.finishAll(t, first)
	if next := w.claims(t, w.process, 10); len(next) != 1 || next[0].Turn.Takeovers != 1 {
		t.Errorf("afterwards %d turns are claimed; want the one caught once", len(next))
	}
}

func suspectsCleared(t *testing.T, w *world) {
	w.twice(t, 2)
	claim := w.claims(t, w.process, 1)[0]
	_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
	must(t, "RecoverTurn", err)
	w.callTools(t, claim.Fence, claim.Turn.Step+1, 1)
	if turn := w.turn(t, claim.Turn.ID); turn.Takeovers != 0 {
		t.Errorf("with a step settled the turn still counts %d takeovers", turn.Takeovers)
	}
	next := w.claims(t, w.process, 10)
	if len(next) != 1 {
		t.Fatalf("beside a turn that has settled a step %d suspects are claimed; want one", len(next))
	}
	w.die(t, w.process)
	if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnQueued || turn.Takeovers != 1 {
		t.Errorf("the cleared turn is %s after %d takeovers; want it suspected again", turn.Status, turn.Takeovers)
	}
	if turn := w.turn(t, next[0].Turn.ID); turn.Status != parley.TurnQueued || turn.Takeovers != parley.CrashLoopLimit {
		t.Errorf("the sole suspect is %s after %d takeovers; want it held back", turn.Status, turn.Takeovers)
	}
}

// suspectsPassed: suspects that may not run do not keep others from running.
func suspectsPassed(t *testing.T, w *world) {
	w.twice(t, 3)
	w.claims(t, w.process, 10)
	w.post(t, w.session(t), w.say("fresh"))
	if claims := w.claims(t, w.process, 1); len(claims) != 1 || claims[0].Turn.Takeovers != 0 {
		t.Errorf("waiting suspects keep a fresh turn from being claimed: %d", len(claims))
	}
}

// suspectsGuilty: nothing ran beside the suspect.
func suspectsGuilty(t *testing.T, w *world) {
	guilty := w.twice(t, 1)[0]
	last := w.claims(t, w.process, 10)
	w.begin(t, last[0].Fence, 1)
	w.die(t, w.process)
	turn := w.turn(t, guilty.Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error == nil || turn.Error.Class != parley.ClassCrashLoop {
		t.Fatalf("a turn that killed three processes is %s, %+v", turn.Status, turn.Error)
	}
	w.check(t, guilty.Fence.SessionID)
}

// accuse lets a process die with a sole suspect and n fresh turns beside it.
func (w *world) accuse(t reporter, fresh int) (accused store.Claim, beside []store.Claim) {
	t.Helper()
	process, beside := w.running(t, fresh)
	claims := w.claims(t, process, 10)
	if len(claims) != 1 || claims[0].Turn.Takeovers < 2 {
		t.Fatalf("%d suspects are claimed; want one that was caught twice", len(claims))
	}
	w.die(t, process)
	return claims[0], beside
}

// status requires the state of a turn, and how often it was taken over.
func (w *world) status(t reporter, what string, turn parley.ID, status parley.TurnStatus, takeovers int) {
	t.Helper()
	if got := w.turn(t, turn); got.Status != status || got.Takeovers != takeovers {
		t.Fatalf(
			"%s the turn is %s after %d takeovers (%+v); want %s after %d",
			what,
			got.Status,
			got.Takeovers,
			got.Error,
			status,
			takeovers,
		)
	}
}

// suspectsHeldBack: turns that no earlier death had caught decide about the accused.
func suspectsHeldBack(t *testing.T, w *world) {
	w.twice(t, 1)
	accused, _ := w.accuse(t, 2)
	w.status(t, "beside two others", accused.Turn.ID, parley.TurnQueued, 3)
	claims := w.claims(t, w.process, 10)
	if len(claims) != 2 {
		t.Fatalf("%d turns are claimed; want the two that ran beside it, and not the accused", len(claims))
	}
	w.finishAll(t, claims[:1])
	w.sweep(t)
	w.status(t, "with one of them cleared", accused.Turn.ID, parley.TurnQueued, 3)
	if more := w.claims(t, w.process, 10); len(more) != 0 {
		t.Fatalf("the accused turn runs before it is judged")
	}
	w.finishAll(t, claims[1:])
	w.sweep(t)
	w.status(t, "with both of them cleared", accused.Turn.ID, parley.TurnFailed, 3)
	w.check(t, accused.Fence.SessionID)
}

// suspectsExplained: a killing turn ran beside a sole suspect that is innocent.
func suspectsExplained(t *testing.T, w *world) {
	w.twice(t, 1)
	innocent, beside := w.accuse(t, 1)
	kills := beside[0].Turn.ID
	for deaths := 2; deaths <= parley.CrashLoopLimit; deaths++ {
		w.status(t, "before the other has killed again", innocent.Turn.ID, parley.TurnQueued, 3)
		process := w.register(t)
		if claims := w.claims(t, process, 10); len(claims) != 1 || claims[0].Turn.ID != kills {
			t.Fatalf("%d turns are claimed; want the one that kills", len(claims))
		}
		w.die(t, process)
	}
	w.status(t, "which died alone twice", kills, parley.TurnFailed, 3)
	w.finishAll(t, w.claims(t, w.process, 10))
	w.status(t, "after it has run again", innocent.Turn.ID, parley.TurnCompleted, 0)
}

// suspectsDoubted: while processes die without it, a turn is not found guilty, a bounded number of times.
func suspectsDoubted(t *testing.T, w *world) {
	accused := w.twice(t, 1)[0].Turn.ID
	foreign, claims := w.running(t, 1)
	w.die(t, foreign)
	w.finishAll(t, w.claims(t, w.process, 1)) // the other one, caught once
	if turn := w.turn(t, claims[0].Turn.ID); turn.Status != parley.TurnCompleted {
		t.Fatalf("the other turn is %s", turn.Status)
	}
	for takeovers := 3; takeovers < 5; takeovers++ {
		w.accuse(t, 0)
		w.status(t, "in doubt", accused, parley.TurnQueued, takeovers)
	}
	w.accuse(t, 0)
	w.status(t, "beyond doubt", accused, parley.TurnFailed, 5)
}

// suspectsUnknown: the turn that ran beside the accused was cancelled before it could kill again.
func suspectsUnknown(t *testing.T, w *world) {
	w.twice(t, 1)
	accused, beside := w.accuse(t, 1)
	w.cancel(t, beside[0].Fence.SessionID)
	w.sweep(t)
	claims := w.claims(t, w.process, 10)
	if len(claims) != 1 || claims[0].Turn.ID != accused.Turn.ID {
		t.Fatalf("%d turns are claimed; want the accused one", len(claims))
	}
	w.finishAll(t, claims)
}

func suspectsCancelled(t *testing.T, w *world) {
	w.twice(t, 1)
	accused, beside := w.accuse(t, 1)
	w.cancel(t, accused.Fence.SessionID)
	w.status(t, "cancelled", accused.Turn.ID, parley.TurnCancelled, 3)
	w.check(t, accused.Fence.SessionID)
	claims := w.claims(t, w.process, 10)
	if len(claims) != 1 || claims[0].Turn.ID != beside[0].Turn.ID {
		t.Fatalf("%d turns are claimed; want the one that ran beside it", len(claims))
	}
}

// suspectsAtALimit: an event that wakes a suspected turn must not claim it, too.
func suspectsAtALimit(t *testing.T, w *world) {
	process, claims := w.running(t, 1)
	w.die(t, process)
	claim := w.claims(t, w.process, 1)[0]
	_, err := w.store.ParkTurn(w.ctx, claim.Fence, parley.WaitBudget)
	must(t, "ParkTurn", err)
	resumed, err := w.store.ContinueTurn(
		w.ctx,
		w.scope,
		claim.Fence.SessionID,
		claims[0].Turn.ID,
		store.TurnAgain{TurnID: parley.NewID()},
		w.process,
	)
	must(t, "ContinueTurn", err)
	if resumed.Claim != nil {
		t.Errorf("a suspected turn is claimed without Claim, which knows how many may run")
	}
	w.finishAll(t, w.claims(t, w.process, 1))
}

func suspectsBackground(t *testing.T, w *world) {
	session := w.session(t, func(s *parley.Session) { s.Mode = parley.ModeBackground })
	w.post(t, session, w.say("go"))
	for deaths := 1; deaths <= 2; deaths++ {
		process := w.register(t)
		if claims := w.claims(t, process, 1); len(claims) != 1 || claims[0].Turn.Takeovers != deaths-1 {
			t.Fatalf("%d turns are claimed after %d deaths", len(claims), deaths-1)
		}
		w.die(t, process)
	}
	w.twice(t, 1) // of the foreground
	if claims := w.claims(t, w.process, 10); len(claims) != 1 || claims[0].Session.Mode != parley.ModeForeground {
		t.Fatalf("%d turns that were caught twice are claimed; want only the foreground's", len(claims))
	}
}
