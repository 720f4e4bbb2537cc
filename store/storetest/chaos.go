package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/store"
)

// testChaos lets many actors work on the same sessions concurrently, loses some claims, and finally requires that every
// turn can be finished and that every invariant holds.
func testChaos(t *testing.T, open Open) {
	const actors, sessions, rounds = 8, 5, 40
	w := newWorld(t, open)
	shared := make([]parley.ID, sessions)
	for i := range shared {
		shared[i] = w.session(t)
	}
	atOnce(actors, func(i int) {
		actor := &chaotic{w: w, t: t, random: rand.New(rand.NewPCG(uint64(i), 7)), sessions: shared}
		actor.register()
		for range rounds {
			actor.act()
		}
	})
	w.settleAll(t)
	for _, id := range shared {
		s := w.check(t, id)
		if len(s.Queue) != 0 || !s.Session.TurnID.IsZero() {
			t.Errorf("session %s: %d are queued, turn %s is unfinished", id, len(s.Queue), s.Session.TurnID)
		}
		for _, turn := range s.Turns {
			if !turn.Status.Finished() {
				t.Errorf("turn %s stays %s forever", turn.ID, turn.Status)
			}
		}
	}
}

// settleAll finishes every turn: the leases of the actors expire and one process answers the rest.
func (w *world) settleAll(t *testing.T) {
	t.Helper()
	w.process = w.register(t)
	for deadline := time.Now().Add(patience); ; {
		touched, err := w.store.Sweep(w.ctx)
		must(t, "Sweep", err)
		claims, err := w.store.Claim(w.ctx, w.process, 10, roomy())
		must(t, "Claim", err)
		for _, claim := range claims {
			_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
			must(t, "RecoverTurn", err)
			steers, err := w.store.PendingSteers(w.ctx, claim.Fence)
			must(t, "PendingSteers", err)
			begin := w.begin(t, claim.Fence, claim.Turn.Step+1, steers...)
			settle := settlement(begin, "at last")
			settle.End = completed()
			w.settle(t, claim.Fence, settle)
		}
		if touched == 0 && len(claims) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the turns did not end")
		}
	}
}

// chaotic is one actor: both a client and a worker.
type chaotic struct {
	w        *world
	t        *testing.T
	random   *rand.Rand
	sessions []parley.ID
	process  parley.ID
}

func (c *chaotic) register() {
	c.process = parley.NewID()
	c.allow(c.w.store.RegisterProcess(c.w.ctx, store.Process{ID: c.process}, longLease))
}

// allow accepts refusals that a race explains, and reports other errors.
func (c *chaotic) allow(err error, codes ...parley.Code) bool {
	c.t.Helper()
	if err != nil && !slices.Contains(codes, parley.ErrorCode(err)) {
		c.t.Errorf("%v (code %q)", err, parley.ErrorCode(err))
	}
	return err == nil
}

func (c *chaotic) act() {
	session := c.sessions[c.random.IntN(len(c.sessions))]
	switch c.random.IntN(10) {
	case 0, 1, 2:
		policy := []parley.During{parley.DuringQueue, parley.DuringSteer, parley.DuringInterrupt}[c.random.IntN(3)]
		posted, err := c.w.store.PostMessage(c.w.ctx, c.w.scope, session, c.w.say("hello", during(policy)), c.process)
		if c.allow(err) && posted.Claim != nil {
			c.run(*posted.Claim)
		}
	case 3, 4, 5, 6:
		claims, err := c.w.store.Claim(c.w.ctx, c.process, 1, roomy())
		if c.allow(err) && len(claims) == 1 {
			c.run(claims[0])
		}
	case 7:
		cancelled, err := c.w.store.RequestCancel(c.w.ctx, c.w.scope, session, parley.ID{}, c.random.IntN(4) == 0)
		if c.allow(err, parley.CodeNothingToCancel, parley.CodeConflict) && cancelled.Held {
			_, err := c.w.store.TakeCancel(c.w.ctx, c.w.scope, session, cancelled.Turn.ID)
			c.allow(err, parley.CodeConflict)
		}
	case 8:
		_, err := c.w.store.Sweep(c.w.ctx)
		c.allow(err)
	case 9:
		queue, err := c.w.store.Messages(
			c.w.ctx,
			c.w.scope,
			session,
			store.MessageQuery{Status: parley.MessageQueued, Limit: 1},
		)
		if c.allow(err) && len(queue) == 1 {
			_, err := c.w.store.RemoveQueued(c.w.ctx, c.w.scope, queue[0].ID)
			c.allow(err, parley.CodeConflict)
		}
	}
}

// run works on a claimed turn, and sometimes dies with it. Others may take the turn at any time.
func (c *chaotic) run(claim store.Claim) {
	fence, db, ctx := claim.Fence, c.w.store, c.w.ctx
	if claim.Turn.Attempt > 1 {
		if _, err := db.RecoverTurn(ctx, fence); !c.allow(err, parley.CodeFenced) {
			return
		}
	}
	for step := claim.Turn.Step + 1; ; step++ {
		steers, err := db.PendingSteers(ctx, fence)
		if !c.allow(err, parley.CodeFenced) {
			return
		}
		begin := c.w.stepBegin(step, 1, steers...)
		switch _, err := db.BeginStep(ctx, fence, begin); {
		case parley.ErrorCode(err) == parley.CodeMore:
			step--
			continue
		case !c.allow(err, parley.CodeFenced):
			return
		}
		_, err = db.AppendVersions(ctx, []store.FencedVersion{{Fence: fence, Version: parley.Version{
			MessageID: begin.Call.MessageID, N: 1, Kind: parley.KindText, End: 4, Text: "some", Chunks: 1}}})
		c.allow(err)
		switch c.random.IntN(8) {
		case 0: // die in the middle
			_, err := db.RenewLease(ctx, c.process, -time.Second)
			c.allow(err, parley.CodeFenced)
			c.register()
			return
		case 1:
			c.allow(db.ReleaseTurn(ctx, fence), parley.CodeFenced)
			return
		}
		settle := settlement(begin, "some text")
		settle.End = completed()
		settled, err := db.SettleStep(ctx, fence, settle)
		if !c.allow(err, parley.CodeFenced) || !settled.More {
			return
		}
	}
}
