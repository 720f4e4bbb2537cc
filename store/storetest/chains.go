package storetest

import (
	"testing"

	"example.org/parley"
	"example.org/parley/store"
)

func testChains(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"EveryTurnOfAChainHasItsRoot": chainRoots,
		"NoLimitNoChain":              chainUnlimited,
		"AChainCannotOverspend":       chainReserves,
		"MadeFromTheRecord":           chainMade,
		"ChangedLimits":               chainRelimited,
		"ADeletedSession":             chainDeleted,
	})
}

// limits changes the limits of an agent.
func (c *crew) limits(t reporter, agent *parley.Agent, limits parley.Limits) {
	t.Helper()
	agent.Limits = &limits
	changed, err := c.store.UpdateAgent(c.ctx, *agent)
	must(t, "UpdateAgent", err)
	*agent = changed
}

// chain returns the root of a turn's limited chain.
func (w *world) chain(t reporter, turnID parley.ID) parley.ID {
	t.Helper()
	root, err := w.store.Chain(w.ctx, w.scope.WorkspaceID, turnID)
	must(t, "Chain", err)
	return root
}

func ofChain(root parley.ID) store.BudgetSubject {
	return store.BudgetSubject{ID: root, Scope: parley.BudgetOfChain}
}

// spends reserves for a step of a chain and settles it with the same number of tokens.
func (c *crew) spends(t reporter, claim store.Claim, root parley.ID, n int64) error {
	t.Helper()
	b := c.budgetOf(t, ofChain(root))
	begin, err := c.budgeted(claim.Fence, 1, &store.Reservation{
		Reserved: parley.Reserved{Tokens: n, Cost: new(parley.Money(n))},
		Charges: []store.Charge{{
			Subject: root, Revision: b.Revision, Tokens: b.Limits.ChainTokens, Cost: b.Limits.ChainCost,
		}},
	})
	if err == nil {
		c.settle(t, claim.Fence, used(begin, n))
	}
	return err
}

// chainRoots: the turns that carry tasks, that read answers and that run in tool sessions below work for the message
// that began the chain; another message of a person begins another.
func chainRoots(t *testing.T, w *world) {
	c := w.crew(t)
	c.limits(t, &c.lead, parley.Limits{ChainTokens: tokens(1000)})
	claim := c.begins(t)
	root := claim.Trigger.ID
	c.sends(t, claim, 1, c.task(c.scout, "Look."))
	if got := c.chain(t, claim.Turn.ID); got != root {
		t.Errorf("the first turn works for %s; want its trigger %s", got, root)
	}
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	c.errands(t)
	work := c.claimed(t)["scout"]
	if got := c.chain(t, work.Turn.ID); got != root {
		t.Errorf("the task's turn works for %s; want %s", got, root)
	}
	id := c.sends(t, work, 1, c.task(c.runner, "Run."))[0]
	call := c.delegation(t, id).CallMessageID
	inside := func(parent, message parley.ID) parley.ID {
		child := c.session(t, func(s *parley.Session) {
			s.Kind, s.Mode = parley.KindTool, parley.ModeBackground
			s.ParentSessionID, s.ParentMessageID = parent, message
		})
		posted := c.post(t, child, c.say("Help."))
		if got := c.chain(t, posted.Turn.ID); got != root {
			t.Errorf("the turn of a tool session works for %s; want %s", got, root)
		}
		return child
	}
	outer := inside(work.Fence.SessionID, call)
	inside(outer, c.claimAll(t)[outer].Trigger.ID)
	c.errands(t)
	c.answer(t, c.claimed(t)["runner"], "It is far.")
	work.Turn.Step = 1
	c.answer(t, work, "I have asked.")
	c.errands(t)
	back := c.claimed(t)["scout"]
	if got := c.chain(t, back.Turn.ID); got != root || back.Turn.ID == work.Turn.ID {
		t.Errorf("the turn that reads the answer works for %s; want %s", got, root)
	}
	if other := c.post(t, work.Fence.SessionID, c.say("Me too.")); !c.chain(t, other.Turn.ID).IsZero() {
		t.Error("a person's message to the scout works for a limited chain; the scout has no limits")
	}
	if foreign := w.neighbour(t, "other"); !foreign.chain(t, work.Turn.ID).IsZero() {
		t.Error("another workspace sees the chain")
	}
}

// chainUnlimited: without limits on chains, and outside background sessions, there is no chain.
func chainUnlimited(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	if got := c.chain(t, claim.Turn.ID); !got.IsZero() {
		t.Errorf("without limits the chain is %s", got)
	}
	c.limits(t, &c.lead, parley.Limits{ChainCost: cents(10), SessionTokens: tokens(1000)})
	if got := c.chain(t, claim.Turn.ID); got != claim.Trigger.ID {
		t.Errorf("with the agent's limits the chain is %s", got)
	}
	talk := c.session(t, func(s *parley.Session) { s.AgentID = c.lead.ID })
	if got := c.chain(t, c.post(t, talk, c.say("Hello.")).Turn.ID); !got.IsZero() {
		t.Errorf("a conversation works for the chain %s", got)
	}
	var change store.SessionChange
	change.Settings.Limits = to(&parley.LimitsPatch{ChainTokens: to(tokens(77))})
	_, err := c.store.UpdateSession(c.ctx, c.scope, c.at, change)
	must(t, "UpdateSession", err)
	b := c.budgetOf(t, ofChain(claim.Trigger.ID))
	if *b.Limits.ChainTokens != 77 || *b.Limits.ChainCost != *cents(10) || b.AgentID != c.lead.ID || b.Made {
		t.Errorf("the chain's budget is %+v; want the session's tokens and the agent's money", b)
	}
}

// chainReserves: turns of several sessions share the budget of their chain, and another chain has its own.
func chainReserves(t *testing.T, w *world) {
	c := w.crew(t)
	c.limits(t, &c.lead, parley.Limits{ChainTokens: tokens(100)})
	c.hands(t, c.task(c.scout, "Look."), c.task(c.clerk, "Count."))
	work := c.claimed(t)
	root := work["scout"].Trigger.ID
	if found := c.chain(t, work["scout"].Turn.ID); found == root || found != c.chain(t, work["clerk"].Turn.ID) {
		t.Fatalf("the chain of both is %s", found)
	} else {
		root = found
	}
	must(t, "MakeBudgets", c.store.MakeBudgets(c.ctx, c.scope.WorkspaceID, []store.BudgetSubject{ofChain(root)}))
	before := c.budgetOf(t, ofChain(root)).Tokens
	b := c.budgetOf(t, ofChain(root))
	open, err := c.budgeted(work["scout"].Fence, 1, &store.Reservation{
		Reserved: parley.Reserved{Tokens: 40},
		Charges:  []store.Charge{{Subject: root, Revision: b.Revision, Tokens: b.Limits.ChainTokens}},
	})
	must(t, "BeginStep", err)
	refused(t, "a call beyond the chain's budget", c.spends(t, work["clerk"], root, 61-before), parley.CodeOverBudget)
	must(t, "a call that fits", c.spends(t, work["clerk"], root, 60-before))
	c.settle(t, work["scout"].Fence, used(open, 10))
	if b := c.budgetOf(t, ofChain(root)); b.Tokens != 70 || b.ReservedTokens != 0 {
		t.Errorf("the chain's budget is %+v; want 70 tokens", b)
	}
	other := c.post(t, c.at, c.say("Again."))
	if b := c.budgetOf(t, ofChain(other.Message.ID)); b.Made || b.Tokens != 0 || *b.Limits.ChainTokens != 100 {
		t.Errorf("another chain has %+v", b)
	}
}

// chainMade: a budget that is made late knows what the turns of the chain spent, and those of tool sessions below.
func chainMade(t *testing.T, w *world) {
	c := w.crew(t)
	claim := c.begins(t)
	root := claim.Trigger.ID
	c.sends(t, claim, 1, c.task(c.scout, "Look."))
	claim.Turn.Step = 1
	c.answer(t, claim, "It is at work.")
	c.errands(t)
	work := c.claimed(t)["scout"]
	id := c.sends(t, work, 1, c.task(c.runner, "Run."))[0]
	child := c.session(t, func(s *parley.Session) {
		s.Kind, s.Mode, s.ParentSessionID = parley.KindTool, parley.ModeBackground, work.Fence.SessionID
		s.ParentMessageID = c.delegation(t, id).CallMessageID
	})
	c.post(t, child, c.say("Help."))
	c.answer(t, c.claim(t), "There.")
	c.errands(t)
	c.answer(t, c.claimed(t)["runner"], "It is far.")
	work.Turn.Step = 1
	c.answer(t, work, "I have asked.")
	c.errands(t)
	c.answer(t, c.claimed(t)["scout"], "All quiet.")
	c.errands(t)
	c.answer(t, c.claim(t), "Done.")
	c.post(t, c.at, c.say("Something else.")) // begins another chain
	c.answer(t, c.claim(t), "Yes.")
	c.limits(t, &c.lead, parley.Limits{ChainTokens: tokens(1000)})
	var want, cost int64
	for _, session := range []parley.ID{
		c.at, work.Fence.SessionID, c.background(t, &c.runner).ID, child,
	} {
		calls, err := c.store.Calls(c.ctx, c.scope, session, store.CallQuery{Limit: parley.MaxPage})
		must(t, "Calls", err)
		for i := range calls {
			want += *calls[i].Usage.InputTokens + *calls[i].Usage.OutputTokens
			cost += int64(*calls[i].Cost)
		}
	}
	one := c.budgetOf(t, ofChain(root))
	if one.Made {
		t.Fatalf("before, the budget is %+v", one)
	}
	other, err := c.store.Calls(c.ctx, c.scope, c.at, store.CallQuery{Limit: 1}) // the newest: of the other chain
	must(t, "Calls", err)
	want -= *other[0].Usage.InputTokens + *other[0].Usage.OutputTokens
	cost -= int64(*other[0].Cost)
	for range 2 {
		must(t, "MakeBudgets", c.store.MakeBudgets(c.ctx, c.scope.WorkspaceID, []store.BudgetSubject{ofChain(root)}))
	}
	if b := c.budgetOf(t, ofChain(root)); !b.Made || b.Tokens != want || int64(b.Cost) != cost || want == 0 {
		t.Errorf("the budget is %+v; want %d tokens for %d", b, want, cost)
	}
}

// chainRelimited: a raised limit, of the session or of its agent, wakes the turns of the chain that wait in other
// sessions; lifted limits take the budget away.
func chainRelimited(t *testing.T, w *world) {
	for _, ofSession := range []bool{false, true} {
		c := &crew{world: w}
		c.lead = w.worker(t, "lead-"+parley.NewID().String())
		c.scout = w.worker(t, "scout-"+parley.NewID().String(), func(a *parley.Agent) { a.LeadID = c.lead.ID })
		c.at = w.background(t, &c.lead).ID
		raise := func(limits parley.Limits) {
			t.Helper()
			if !ofSession {
				c.limits(t, &c.lead, limits)
				return
			}
			var change store.SessionChange
			change.Settings.Limits = to(&parley.LimitsPatch{ChainTokens: to(limits.ChainTokens)})
			_, err := c.store.UpdateSession(c.ctx, c.scope, c.at, change)
			must(t, "UpdateSession", err)
		}
		raise(parley.Limits{ChainTokens: tokens(100)})
		c.hands(t, c.task(c.scout, "Look."))
		work := c.claim(t)
		root := c.chain(t, work.Turn.ID)
		subjects := []store.BudgetSubject{ofChain(root)}
		must(t, "MakeBudgets", c.store.MakeBudgets(c.ctx, c.scope.WorkspaceID, subjects))
		b := c.budgetOf(t, ofChain(root))
		_, err := c.park(work.Fence, &store.Reservation{
			Reserved: parley.Reserved{Tokens: 200},
			Charges:  []store.Charge{{Subject: root, Revision: b.Revision, Tokens: b.Limits.ChainTokens}},
		}, nil)
		must(t, "ParkRefused", err)
		c.errands(t)
		c.claimsNothing(t)
		raise(parley.Limits{ChainTokens: tokens(1000)})
		c.errands(t)
		if again := c.claim(t); again.Turn.ID != work.Turn.ID {
			t.Errorf("%s resumed", again.Turn.ID)
		} else if now := c.budgetOf(t, ofChain(root)); now.Revision == b.Revision || !now.Made {
			t.Errorf("the raised budget is %+v", now)
		} else {
			c.answer(t, again, "All quiet.")
		}
		raise(parley.Limits{})
		if now := c.budgetOf(t, ofChain(root)); now.Made {
			t.Errorf("without limits the budget is %+v", now)
		}
		c.errands(t)
		c.answer(t, c.claim(t), "Done.")
	}
}

// chainDeleted: nobody reads the budget of a chain whose session is deleted. Purge says that its row goes.
func chainDeleted(t *testing.T, w *world) {
	c := w.crew(t)
	c.limits(t, &c.lead, parley.Limits{ChainTokens: tokens(100)})
	claim := c.begins(t)
	root := c.chain(t, claim.Turn.ID)
	subjects := []store.BudgetSubject{ofChain(root)}
	must(t, "MakeBudgets", c.store.MakeBudgets(c.ctx, c.scope.WorkspaceID, subjects))
	must(t, "DeleteSession", c.store.DeleteSession(c.ctx, c.scope, c.at))
	c.drainOutbox(t)
	found, err := c.store.Budgets(c.ctx, c.scope.WorkspaceID, subjects)
	must(t, "Budgets", err)
	if len(found) != 0 {
		t.Errorf("the deleted session's chain has %+v", found)
	}
}
