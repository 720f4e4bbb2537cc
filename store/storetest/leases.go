package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

func testLeases(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"ALeaseIsKeptAndReleased":   leaseLife,
		"ALiveLeaseIsLeftAlone":     leaseAlive,
		"NextExpiry":                leaseNextExpiry,
		"AnExpiredLeaseIsRenewed":   leaseLate,
		"HeldTurns":                 leaseHeld,
		"AnExpiredLeaseIsTakenOver": leaseExpired,
		"AFlaggedTurnIsCancelled":   leaseFlagged,
		"CrashLoop":                 leaseCrashLoop,
		"CrashLoopAtItsTools":       leaseCrashLoopAtTools,
		"ProgressForgivesCrashes":   leaseProgress,
		"ADrainIsNoCrash":           leaseDrain,
		"OnlyCrashesCount":          leaseOnlyCrashes,
		"SeveralTurnsOfOneProcess":  leaseSeveral,
		"MoreThanOneSweepFinds":     leaseMany,
		"AWaitingTurnNeedsNoLease":  leaseWaiting,
	})
}

func leaseLife(t *testing.T, w *world) {
	process := w.register(t)
	cancels, err := w.store.RenewLease(w.ctx, process, longLease)
	if err != nil || len(cancels) != 0 {
		t.Errorf("RenewLease: %v, %v", cancels, err)
	}
	must(t, "ReleaseProcess", w.store.ReleaseProcess(w.ctx, process))
	for name, id := range map[string]parley.ID{"released": process, "unknown": parley.NewID()} {
		_, err := w.store.RenewLease(w.ctx, id, longLease)
		refused(t, "renewing a lease that is "+name, err, parley.CodeFenced)
	}
}

func leaseNextExpiry(t *testing.T, w *world) {
	next := func() time.Duration {
		t.Helper()
		left, err := w.store.NextExpiry(w.ctx)
		must(t, "NextExpiry", err)
		return left
	}
	const short = time.Minute
	brief := w.register(t)
	_, err := w.store.RenewLease(w.ctx, brief, short)
	must(t, "RenewLease", err)
	if left := next(); left <= 0 || left > short {
		t.Errorf("with a long lease and one of %s, the next expiry is in %s", short, left)
	}
	must(t, "ReleaseProcess", w.store.ReleaseProcess(w.ctx, brief))
	if left := next(); left <= short || left > longLease {
		t.Errorf("with only a lease of %s, the next expiry is in %s", longLease, left)
	}
	_, err = w.store.RenewLease(w.ctx, w.process, 0)
	must(t, "RenewLease", err)
	if left := next(); left > 0 {
		t.Errorf("a lease has expired, but the next expiry is in %s", left)
	}
	must(t, "ReleaseProcess", w.store.ReleaseProcess(w.ctx, w.process))
	if left := next(); left <= 0 {
		t.Errorf("without a process the next expiry is in %s", left)
	}
}

// leaseHeld: a process holds what it claimed and has not released.
func leaseHeld(t *testing.T, w *world) {
	holds := func(process parley.ID, want ...store.Fence) {
		t.Helper()
		held, err := w.store.HeldTurns(w.ctx, process)
		must(t, "HeldTurns", err)
		if len(held) != len(want) {
			t.Fatalf("the process holds %+v; want %d claims", held, len(want))
		}
		for _, fence := range want {
			if !slices.Contains(held, fence) {
				t.Errorf("%+v is not among what the process holds: %+v", fence, held)
			}
		}
	}
	other := w.register(t)
	w.post(t, w.session(t), w.say("waits"))
	holds(w.process)
	posted, claimed := w.started(t, "posted"), w.claim(t)
	deleted := w.started(t, "deleted")
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, deleted.Fence.SessionID))
	w.parked(t, 1)
	holds(w.process, posted.Fence, claimed.Fence)
	holds(other)
	holds(parley.NewID())
	must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, claimed.Fence))
	w.answer(t, posted, "done")
	holds(w.process)
}

// leaseLate: a process that slept past its lease continues if nobody took over.
func leaseLate(t *testing.T, w *world) {
	claim := w.started(t, "one")
	_, err := w.store.RenewLease(w.ctx, w.process, 0)
	must(t, "RenewLease", err)
	_, err = w.store.RenewLease(w.ctx, w.process, longLease)
	must(t, "renewing an expired lease that was not swept", err)
	touched, err := w.store.Sweep(w.ctx)
	if err != nil || touched != 0 {
		t.Errorf("Sweep touched %d sessions, %v; the lease lives on", touched, err)
	}
	w.answer(t, claim, "1")
}

func leaseAlive(t *testing.T, w *world) {
	claim := w.started(t, "one")
	before := w.snapshot(t, claim.Fence.SessionID)
	touched, err := w.store.Sweep(w.ctx)
	if err != nil || touched != 0 {
		t.Errorf("Sweep touched %d sessions, %v; every lease is alive", touched, err)
	}
	w.unchanged(t, "a sweep", claim.Fence.SessionID, before)
	w.answer(t, claim, "1")
}

func leaseExpired(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	w.begin(t, claim.Fence, 1)
	old := w.process
	w.expire(t, old)
	if turn := w.turn(t, claim.Turn.ID); turn.Status != parley.TurnQueued || turn.Takeovers != 1 {
		t.Errorf("the turn taken over is %s after %d takeovers", turn.Status, turn.Takeovers)
	}
	w.check(t, session)
	touched, err := w.store.Sweep(w.ctx)
	if err != nil || touched != 0 {
		t.Errorf("a second sweep touched %d sessions, %v", touched, err)
	}
	_, err = w.store.RenewLease(w.ctx, old, longLease)
	refused(t, "renewing a lease that was swept", err, parley.CodeFenced)
	if again := w.claimAs(t, w.register(t)); again.Turn.ID != claim.Turn.ID {
		t.Errorf("the turn taken over is not ready")
	}
}

func leaseFlagged(t *testing.T, w *world) {
	claim := w.started(t, "one")
	session := claim.Fence.SessionID
	begin := w.begin(t, claim.Fence, 1)
	w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, "half")
	w.cancel(t, session)
	w.expire(t, w.process)
	s := w.check(t, session)
	if s.Session.Status != parley.SessionCancelled || s.Record[1].Status != parley.MessageCancelled ||
		string(s.Record[1].Content) != `{"parts":[{"text":"half","type":"text"}]}` {
		t.Errorf(
			"a flagged turn whose process died leaves the session %s and the message %s %s",
			s.Session.Status,
			s.Record[1].Status,
			s.Record[1].Content,
		)
	}
	w.process = w.register(t)
	w.claimsNothing(t)
}

// crash claims the ready session with its own process, and lets that die.
func (w *world) crash(t reporter, work func(store.Claim)) store.Claim {
	t.Helper()
	process := w.register(t)
	claim := w.claimAs(t, process)
	if work != nil {
		work(claim)
	}
	w.expire(t, process)
	return claim
}

func leaseCrashLoop(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	queued := w.post(t, session, w.say("two"))
	for i := 1; i <= parley.CrashLoopLimit; i++ {
		claim := w.crash(t, func(claim store.Claim) {
			_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
			must(t, "RecoverTurn", err)
			w.begin(t, claim.Fence, 1) // a begun step is not a settled one
		})
		if claim.Turn.ID != posted.Turn.ID {
			t.Fatalf("claim %d is of turn %s", i, claim.Turn.ID)
		}
		w.check(t, session)
	}
	turn := w.turn(t, posted.Turn.ID)
	if turn.Status != parley.TurnFailed || turn.Error == nil || turn.Error.Class != parley.ClassCrashLoop {
		t.Errorf("after %d takeovers the turn is %s, %+v", parley.CrashLoopLimit, turn.Status, turn.Error)
	}
	if next := w.claim(t); next.Turn.ID != queued.Turn.ID {
		t.Errorf("turn %s runs; want the next one", next.Turn.ID)
	}
	w.check(t, session)
}

// leaseCrashLoopAtTools: a turn that fails as crash_loop leaves no call without a result. The process life that settled
// the last step counts if it dies after that, so the record shows one beginning less after that step than there were
// takeovers.
func leaseCrashLoopAtTools(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	w.crash(t, func(claim store.Claim) { w.callTools(t, claim.Fence, 1, 2) })
	for range parley.CrashLoopLimit - 1 {
		w.crash(t, nil)
	}
	if turn := w.turn(t, posted.Turn.ID); turn.Status != parley.TurnFailed {
		t.Fatalf("the turn is %s", turn.Status)
	}
	snapshot := w.check(t, session)
	behind := 0
	for _, event := range snapshot.Events {
		switch event.Type {
		case parley.EventStepGenerated:
			behind = 0
		case parley.EventSessionStarted:
			behind++
		}
	}
	if behind != parley.CrashLoopLimit-1 {
		t.Errorf("the turn began %d times after its last step", behind)
	}
	results := 0
	for _, m := range snapshot.Record {
		if m.Role == parley.RoleToolResult && strings.Contains(string(m.Content), parley.EffectUnknown) {
			results++
		}
	}
	if results != 2 {
		t.Errorf("%d of 2 calls were told that their effect is unknown", results)
	}
}

func leaseProgress(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	for step := 1; step <= 2*parley.CrashLoopLimit; step++ {
		w.crash(t, func(claim store.Claim) {
			_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
			must(t, "RecoverTurn", err)
			calls := w.callTools(t, claim.Fence, step, 1)
			_, err = w.store.SettleTool(w.ctx, claim.Fence, w.toolSettle(step, calls[0]))
			must(t, "SettleTool", err)
		})
	}
	if turn := w.turn(t, posted.Turn.ID); turn.Status != parley.TurnQueued || turn.Takeovers != 1 {
		t.Errorf("with a step settled each time the turn is %s after %d takeovers", turn.Status, turn.Takeovers)
	}
	w.check(t, session)
}

func leaseDrain(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	for range 2 * parley.CrashLoopLimit {
		must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, w.claim(t).Fence))
	}
	if turn := w.turn(
		t,
		posted.Turn.ID,
	); turn.Status != parley.TurnQueued || turn.Takeovers != 0 ||
		turn.Attempt != 2*parley.CrashLoopLimit {
		t.Errorf("after many drains the turn is %+v", turn)
	}
	w.check(t, session)
}

// leaseOnlyCrashes: between takeovers of expired leases a turn may be drained, and its dead holders may come back and
// be fenced: neither counts, and neither resets the count.
func leaseOnlyCrashes(t *testing.T, w *world) {
	session := w.session(t)
	posted := w.post(t, session, w.say("one"))
	for n := 1; n <= parley.CrashLoopLimit; n++ {
		dead := w.crash(t, func(claim store.Claim) {
			_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
			must(t, "RecoverTurn", err)
			w.begin(t, claim.Fence, 1)
		})
		refused(t, "ReleaseTurn by the dead", w.store.ReleaseTurn(w.ctx, dead.Fence), parley.CodeFenced)
		if turn := w.turn(
			t,
			posted.Turn.ID,
		); turn.Takeovers != n ||
			(turn.Status == parley.TurnFailed) != (n == parley.CrashLoopLimit) {
			t.Fatalf("after %d crashes the turn is %s, %d takeovers", n, turn.Status, turn.Takeovers)
		} else if turn.Status == parley.TurnQueued {
			must(t, "ReleaseTurn", w.store.ReleaseTurn(w.ctx, w.claim(t).Fence))
		}
	}
	w.check(t, session)
}

func leaseSeveral(t *testing.T, w *world) {
	const n = 5
	survivor := w.register(t)
	for range n {
		w.started(t, "go")
	}
	posted, err := w.store.PostMessage(w.ctx, w.scope, w.session(t), w.say("go"), survivor)
	must(t, "PostMessage", err)
	w.expire(t, w.process)
	for {
		touched, err := w.store.Sweep(w.ctx)
		must(t, "Sweep", err)
		if touched == 0 {
			break
		}
	}
	claims, err := w.store.Claim(w.ctx, survivor, 10, roomy())
	must(t, "Claim", err)
	if len(claims) != n {
		t.Errorf("%d of %d turns are ready again", len(claims), n)
	}
	w.answer(t, *posted.Claim, "the other process goes on")
}

// leaseMany: one sweep takes over everything that a process held, however many queries that takes.
func leaseMany(t *testing.T, w *world) {
	const many = 130 // more than one query of a store returns
	process, claims := w.running(t, many)
	_, err := w.store.RenewLease(w.ctx, process, -time.Second)
	must(t, "RenewLease", err)
	touched, err := w.store.Sweep(w.ctx)
	if err != nil || touched != many {
		t.Errorf("a sweep took over %d of %d turns, %v", touched, many, err)
	}
	for _, claim := range claims {
		w.status(t, "after one sweep", claim.Turn.ID, parley.TurnQueued, 1)
	}
}

func leaseWaiting(t *testing.T, w *world) {
	claim, calls := w.parked(t, 1)
	must(t, "ReleaseProcess", w.store.ReleaseProcess(w.ctx, w.process))
	touched, err := w.store.Sweep(w.ctx)
	if err != nil || touched != 0 {
		t.Errorf("Sweep touched %d sessions, %v; a waiting turn holds no worker", touched, err)
	}
	w.process = w.register(t)
	w.post(t, claim.Fence.SessionID, w.result(calls[0]))
	w.answer(t, w.claim(t), "done")
	w.check(t, claim.Fence.SessionID)
}
