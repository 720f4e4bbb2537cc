package storetest

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/store"
)

// testPoison simulates a cluster in which some turns kill any process that runs them. It requires that each of those is
// found, within a bounded number of deaths, and that no other turn ever fails.
func testPoison(t *testing.T, open Open) {
	w := newWorld(t, open)
	rapid.Check(t, func(t *rapid.T) {
		c := &ward{w: w, poisoned: map[parley.ID]bool{}, turns: map[parley.ID]parley.ID{}}
		defer c.clear() // a failed check must not feed the next one's claims
		poison := rapid.IntRange(1, 3).Draw(t, "poisoned turns")
		bystanders := rapid.IntRange(1, 6).Draw(t, "bystanders")
		for range rapid.IntRange(1, 3).Draw(t, "processes") {
			c.processes = append(c.processes, &patient{id: w.register(t)})
		}
		most := 3
		if poison > 1 {
			most = 6 * poison
		}
		for range 100 * (poison + bystanders) {
			switch {
			case poison > 0 && rapid.IntRange(0, 3).Draw(t, "begin one that kills") == 0:
				poison--
				c.post(t, true)
			case bystanders > 0 && rapid.IntRange(0, 3).Draw(t, "begin one that does not") == 0:
				bystanders--
				c.post(t, false)
			}
			if c.ended() && poison+bystanders == 0 {
				break
			}
			c.claim(t, rapid.IntRange(1, 4).Draw(t, "places"))
			c.run(t)
			if c.deaths > most {
				t.Fatalf("%d processes died; want %d at most", c.deaths, most)
			}
		}
		c.judged(t)
	})
}

// ward is the test's view of the cluster.
type ward struct {
	w         *world
	processes []*patient
	poisoned  map[parley.ID]bool      // by turn
	turns     map[parley.ID]parley.ID // sessions by turn
	open      int                     // turns that have not ended
	deaths    int
}

// patient is a process with the claims that it holds.
type patient struct {
	id   parley.ID
	held []store.Claim
}

func (c *ward) post(t *rapid.T, poisoned bool) {
	p := rapid.SampledFrom(c.processes).Draw(t, "posted to")
	session := c.w.session(t)
	claimBy := p.id
	if rapid.Bool().Draw(t, "without a place") {
		claimBy = parley.ID{}
	}
	posted, err := c.w.store.PostMessage(c.w.ctx, c.w.scope, session, c.w.say("go"), claimBy)
	must(t, "PostMessage", err)
	if posted.Claim != nil {
		p.held = append(p.held, *posted.Claim)
	}
	c.poisoned[posted.Turn.ID], c.turns[posted.Turn.ID] = poisoned, session
	c.open++
}

// claim lets a process claim, and checks what it then holds.
func (c *ward) claim(t *rapid.T, n int) {
	p := rapid.SampledFrom(c.processes).Draw(t, "claims")
	p.held = append(p.held, c.w.claims(t, p.id, n)...)
	suspects, twice := 0, 0
	for _, claim := range p.held {
		turn := c.w.turn(t, claim.Turn.ID)
		if turn.Takeovers > 0 {
			suspects++
		}
		if turn.Takeovers > 1 {
			twice++
		}
	}
	if suspects > parley.MaxSuspects || twice > 0 && suspects > 1 {
		t.Fatalf("a process holds %d suspects, %d of them caught twice", suspects, twice)
	}
}

// run advances one turn of a process: it settles a step or ends, or its process dies.
func (c *ward) run(t *rapid.T) {
	p := rapid.SampledFrom(c.processes).Draw(t, "runs")
	if len(p.held) == 0 {
		c.w.sweep(t) // as its sweeper does eventually
		return
	}
	at := rapid.IntRange(0, len(p.held)-1).Draw(t, "turn")
	claim := p.held[at]
	if c.poisoned[claim.Turn.ID] {
		c.deaths++
		c.w.die(t, p.id)
		p.id, p.held = c.w.register(t), nil
		return
	}
	_, err := c.w.store.RecoverTurn(c.w.ctx, claim.Fence)
	must(t, "RecoverTurn", err)
	turn := c.w.turn(t, claim.Turn.ID)
	if rapid.Bool().Draw(t, "goes on") && turn.Step < 3 {
		call := c.w.callTools(t, claim.Fence, turn.Step+1, 1)[0]
		_, err := c.w.store.SettleTool(c.w.ctx, claim.Fence, c.w.toolSettle(turn.Step+1, call))
		must(t, "SettleTool", err)
		return
	}
	claim.Turn.Step = turn.Step
	c.w.answer(t, claim, "done")
	p.held = slices.Delete(p.held, at, at+1)
	c.open--
}

// ended reports whether nothing is left to run.
func (c *ward) ended() bool {
	for id := range c.turns {
		turn, err := c.w.store.Turn(c.w.ctx, c.w.scope, id)
		if err != nil || !turn.Status.Finished() {
			return false
		}
	}
	return true
}

func (c *ward) judged(t *rapid.T) {
	c.w.sweep(t)
	for id, poisoned := range c.poisoned {
		turn := c.w.turn(t, id)
		guilty := turn.Error != nil && turn.Error.Class == parley.ClassCrashLoop
		switch {
		case !poisoned && turn.Status != parley.TurnCompleted:
			t.Fatalf("a harmless turn is %s after %d takeovers (%+v)", turn.Status, turn.Takeovers, turn.Error)
		case poisoned && !guilty:
			t.Fatalf(
				"a killing turn is %s after %d takeovers and %d deaths (%+v)",
				turn.Status,
				turn.Takeovers,
				c.deaths,
				turn.Error,
			)
		}
		c.w.check(t, c.turns[id])
	}
}

func (c *ward) clear() {
	for _, session := range c.turns {
		_ = c.w.store.DeleteSession(c.w.ctx, c.w.scope, session)
	}
	for _, p := range c.processes {
		_ = c.w.store.ReleaseProcess(c.w.ctx, p.id)
	}
}
