package storetest

import (
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testBudgets(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"Warning":                  testLimitWarning,
		"Patched":                  testLimitsPatched,
		"ACallThatDoesNotFit":      budgetRefuses,
		"ATreeCannotOverspend":     budgetTree,
		"AnInterruptedCallKeeps":   budgetInterrupted,
		"ARefusedCallCostsNothing": budgetReleased,
		"AFailedCallThatSpoke":     budgetFailed,
		"EstimatedByWhatStreamed":  budgetEstimated,
		"DryRunsCount":             budgetDryRuns,
		"WhoWaitsGoesOn":           budgetWakes,
		"AParkThatHoldsNoMore":     budgetParkRaces,
		"RaisedLimits":             budgetRaised,
		"AgentsLimits":             budgetAgents,
		"MadeFromTheRecord":        budgetMade,
		"WarnedOnce":               budgetWarnsOnce,
		"ADeletedSession":          budgetDeleted,
		"OfAnotherWorkspace":       budgetForeign,
		"Rates":                    rateBounds,
		"RatesOfManyAtOnce":        rateRaces,
		"PostsOfASession":          ratePosts,
		"ATurnThatWaitsForItsRate": rateWaits,
	})
}

// testLimitWarning: a warning is an event of the turn, with money in dollars; a process that lost the claim cannot give
// one.
func testLimitWarning(t *testing.T, w *world) {
	claim := w.started(t, "Go")
	warning := parley.LimitWarning{
		Limit: parley.LimitSessionCost,
		Scope: parley.BudgetOfSession,
		Spent: 900_000_000,
		Of:    1_000_000_000,
	}
	must(t, "WarnLimit", w.store.WarnLimit(w.ctx, claim.Fence, warning, parley.ID{}))
	lost := claim.Fence
	lost.Epoch--
	refused(t, "WarnLimit", w.store.WarnLimit(w.ctx, lost, warning, parley.ID{}), parley.CodeFenced)
	events, err := w.store.Events(w.ctx, w.scope, claim.Session.ID, 0, parley.MaxPage)
	must(t, "Events", err)
	last := events[len(events)-1]
	const want = `,"limit":"session_cost","scope":"session","spent":0.9,"of":1,"share":0.900}`
	if last.Type != parley.EventLimitWarning || string(last.Data) != `{"turn_id":"`+claim.Turn.ID.String()+`"`+want {
		t.Errorf("the last event is %s %s", last.Type, last.Data)
	}
}

// testLimitsPatched: limits change one by one; null removes one, or all of them.
func testLimitsPatched(t *testing.T, w *world) {
	id := w.session(
		t,
		func(s *parley.Session) { s.Limits = &parley.Limits{MaxSteps: new(7), SessionTokens: tokens(1000)} },
	)
	for _, c := range []struct{ patch, want string }{
		{`{"session_tokens":2000,"daily_cost":1.25}`, `{"max_steps":7,"session_tokens":2000,"daily_cost":1.25}`},
		{`{"max_steps":null}`, `{"session_tokens":2000,"daily_cost":1.25}`},
		{`null`, `{}`},
	} {
		var change parley.Change[*parley.LimitsPatch]
		must(t, "Unmarshal", json.Unmarshal([]byte(c.patch), &change))
		_, err := w.store.UpdateSession(
			w.ctx,
			w.scope,
			id,
			store.SessionChange{Settings: parley.SettingsPatch{Limits: change}},
		)
		must(t, "UpdateSession", err)
		var want, got parley.Limits
		must(t, "Unmarshal", json.Unmarshal([]byte(c.want), &want))
		if limits := w.sessionState(t, id).Limits; limits != nil {
			got = *limits
		}
		is, err := json.Marshal(got)
		must(t, "Marshal", err)
		should, err := json.Marshal(want)
		must(t, "Marshal", err)
		if string(is) != string(should) {
			t.Errorf("after %s the limits are %s; want %s", c.patch, is, should)
		}
	}
}

func cents(n int64) *parley.Money { return new(parley.Money(n * 10_000_000)) }

// capped returns a session with limits and an existing budget.
func (w *world) capped(t reporter, limits parley.Limits) parley.ID {
	t.Helper()
	id := w.session(t, func(s *parley.Session) { s.Limits = &limits })
	must(
		t,
		"MakeBudgets",
		w.store.MakeBudgets(w.ctx, w.scope.WorkspaceID, []store.BudgetSubject{{ID: id, Scope: parley.BudgetOfSession}}),
	)
	return id
}

func (w *world) budget(t reporter, id parley.ID) store.Budget {
	t.Helper()
	return w.budgetOf(t, store.BudgetSubject{ID: id, Scope: parley.BudgetOfSession})
}

func (w *world) budgetOf(t reporter, subject store.BudgetSubject) store.Budget {
	t.Helper()
	budgets, err := w.store.Budgets(w.ctx, w.scope.WorkspaceID, []store.BudgetSubject{subject})
	must(t, "Budgets", err)
	if len(budgets) != 1 || budgets[0].DayLeft <= 0 || budgets[0].DayLeft > 24*time.Hour {
		t.Fatalf("Budgets read %+v", budgets)
	}
	return budgets[0]
}

// asks returns a reservation in a session's budget, with its current revision and limits.
func (w *world) asks(t reporter, subject parley.ID, tokens int64) *store.Reservation {
	t.Helper()
	b := w.budget(t, subject)
	return &store.Reservation{
		Reserved: parley.Reserved{Tokens: tokens, Cost: new(parley.Money(tokens))},
		Charges: []store.Charge{{
			Subject: subject, Revision: b.Revision, Tokens: b.Limits.SessionTokens, Cost: b.Limits.SessionCost,
			DailyTokens: b.Limits.DailyTokens, DailyCost: b.Limits.DailyCost,
		}},
	}
}

// used returns a call's end with usage and cost.
func used(begin store.StepBegin, tokens int64) store.StepSettle {
	settle := settlement(begin, "said")
	settle.Call.Usage = parley.Usage{InputTokens: new(tokens - 1), OutputTokens: new(int64(1))}
	settle.Call.Cost = new(parley.Money(tokens))
	settle.End = completed()
	return settle
}

// budgeted begins a step with a reservation.
func (w *world) budgeted(fence store.Fence, step int, reservation *store.Reservation) (store.StepBegin, error) {
	begin := w.stepBegin(step, 1)
	begin.Reservation = reservation
	_, err := w.store.BeginStep(w.ctx, fence, begin)
	return begin, err
}

// budgetFailed: a failed call is charged its estimate if it had begun to answer, since its usage is unknown; before
// that it costs nothing.
func budgetFailed(t *testing.T, w *world) {
	for name, c := range map[string]struct {
		firstToken *int64
		charged    int64
	}{"before it answered": {nil, 0}, "in its answer": {tokens(1), 70}} {
		id := w.capped(t, parley.Limits{SessionTokens: tokens(100), SessionCost: cents(100)})
		w.post(t, id, w.say("Go"))
		claim := w.claim(t)
		begin, err := w.budgeted(claim.Fence, 1, w.asks(t, id, 70))
		must(t, "BeginStep", err)
		settle := settlement(begin, "Well")
		settle.Call = store.CallSettled{CallID: begin.Call.ID, Outcome: parley.CallFailed, FirstTokenMS: c.firstToken,
			Error: &parley.Failure{Class: parley.ClassStream, Sentence: parley.ClassStream.Sentence()}}
		settle.Blocks[0].Status, settle.Blocks[0].Error, settle.Blocks[0].Usage = parley.MessageFailed,
			settle.Call.Error, nil
		settle.End = failed(parley.ClassStream)
		w.settle(t, claim.Fence, settle)
		if b := w.budget(
			t,
			id,
		); b.Tokens != c.charged || int64(b.Cost) != c.charged || b.DayTokens != c.charged || b.ReservedTokens != 0 ||
			b.ReservedCost != 0 {
			t.Errorf("after a call that failed %s the budget is %+v; want %d charged", name, b, c.charged)
		}
		calls, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{Limit: 1})
		must(t, "Calls", err)
		if calls[0].Estimated != (c.charged > 0) {
			t.Errorf("the call that failed %s is stored as %+v", name, calls[0])
		}
	}
}

func budgetRefuses(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100), SessionCost: cents(100)})
	w.post(t, id, w.say("Go"))
	claim := w.claim(t)
	before := w.snapshot(t, id)
	_, err := w.budgeted(claim.Fence, 1, w.asks(t, id, 101))
	refused(t, "BeginStep", err, parley.CodeOverBudget)
	w.unchanged(t, "a call over budget", id, before)
	begin, err := w.budgeted(claim.Fence, 1, w.asks(t, id, 100))
	must(t, "BeginStep", err)
	if b := w.budget(t, id); b.ReservedTokens != 100 || b.ReservedCost != 100 || b.Tokens != 0 {
		t.Errorf("while the call is open the budget is %+v", b)
	}
	w.settle(t, claim.Fence, used(begin, 60))
	if b := w.budget(
		t,
		id,
	); b.ReservedTokens != 0 || b.ReservedCost != 0 || b.Tokens != 60 || b.Cost != 60 || b.DayTokens != 60 ||
		b.DayCost != 60 {
		t.Errorf("when it has ended the budget is %+v", b)
	}
	calls, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{Limit: 1})
	must(t, "Calls", err)
	if calls[0].Reserved == nil || calls[0].Reserved.Tokens != 100 || calls[0].Estimated {
		t.Errorf("the call keeps %+v, estimated %t", calls[0].Reserved, calls[0].Estimated)
	}
}

// budgetTree: many sessions of one tree ask concurrently, each for more than it then uses. Spending and reservations
// together never exceed the limit.
func budgetTree(t *testing.T, w *world) { treeCannotOverspend(t, w, w) }

func treeCannotOverspend(t *testing.T, w, other *world) {
	const children, limit, estimate = 24, 1000, 90
	root := w.capped(t, parley.Limits{SessionTokens: tokens(limit)})
	var spent, refusals atomic.Int64
	var group sync.WaitGroup
	for i := range children {
		mine := []*world{w, other}[i%2]
		child := mine.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
		posted, err := mine.store.PostMessage(w.ctx, w.scope, child, mine.say("Go"), mine.process)
		must(t, "PostMessage", err)
		group.Go(func() {
			fence := posted.Claim.Fence
			for step := 1; ; step++ {
				begin, err := mine.budgeted(fence, step, mine.asks(t, root, estimate))
				if parley.ErrorCode(err) == parley.CodeOverBudget {
					refusals.Add(1)
					return
				}
				if err != nil {
					t.Errorf("BeginStep: %v", err)
					return
				}
				if b := mine.budget(t, root); b.Tokens+b.ReservedTokens > limit {
					t.Errorf("%d spent and %d open are more than %d", b.Tokens, b.ReservedTokens, limit)
				}
				actual := int64(20 + (i*7+step*13)%70)
				settle := used(begin, actual)
				settle.End = nil
				if _, err := mine.store.SettleStep(w.ctx, fence, settle); err != nil {
					t.Errorf("SettleStep: %v", err)
					return
				}
				spent.Add(actual)
			}
		})
	}
	group.Wait()
	b := w.budget(t, root)
	if b.Tokens != spent.Load() || b.ReservedTokens != 0 || b.Tokens > limit || b.Tokens+estimate <= limit ||
		refusals.Load() != children {
		t.Errorf("%d were used, the budget says %+v after %d refusals", spent.Load(), b, refusals.Load())
	}
}

// budgetInterrupted: the usage of an interrupted call is unknown, so its estimate stays spent.
func budgetInterrupted(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	w.post(t, id, w.say("Go"))
	w.crash(t, func(claim store.Claim) {
		_, err := w.budgeted(claim.Fence, 1, w.asks(t, id, 80))
		must(t, "BeginStep", err)
	})
	claim := w.claim(t)
	_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
	must(t, "RecoverTurn", err)
	if b := w.budget(t, id); b.Tokens != 80 || b.Cost != 80 || b.ReservedTokens != 0 || b.ReservedCost != 0 {
		t.Errorf("the budget is %+v", b)
	}
	calls, err := w.store.Calls(w.ctx, w.scope, id, store.CallQuery{Limit: 1})
	must(t, "Calls", err)
	if c := calls[0]; !c.Estimated || !c.Usage.IsZero() || c.Cost == nil || *c.Cost != 80 ||
		c.Outcome != parley.CallInterrupted {
		t.Errorf("the interrupted call is stored as %+v", c)
	}
	_, err = w.budgeted(claim.Fence, 1, w.asks(t, id, 21))
	refused(t, "BeginStep", err, parley.CodeOverBudget)
}

// budgetEstimated: a call that a crash or a cancel interrupted costs its request and what had streamed, with limits and
// without.
func budgetEstimated(t *testing.T, w *world) {
	expected := parley.Expected{
		InputTokens: 30, InputCost: new(parley.Money(300)), OutputPrice: new(parley.Money(2_000_000)),
	}
	const said = "Four words of it"
	spoken := int64(parley.EstimateTokens(said))
	for _, limited := range []bool{true, false} {
		limits := parley.Limits{}
		if limited {
			limits.SessionTokens, limits.SessionCost = tokens(1000), cents(100_000)
		}
		id := w.capped(t, limits)
		var call parley.ID
		speak := func(claim store.Claim, step int) {
			begin := w.stepBegin(step, 1)
			begin.Call.Expected = expected
			if limited {
				begin.Reservation = w.asks(t, id, 800)
			}
			_, err := w.store.BeginStep(w.ctx, claim.Fence, begin)
			must(t, "BeginStep", err)
			w.flush(t, claim.Fence, begin.Call.MessageID, 1, 0, said)
			call = begin.Call.ID
		}
		estimated := func(how string, outcome parley.CallOutcome) {
			got, err := w.store.Call(w.ctx, w.scope, call)
			must(t, "Call", err)
			want := parley.CallEstimate{InputTokens: 30, OutputTokens: spoken}
			if !got.Estimated || parley.ValueOf(got.Estimate) != want || got.Cost == nil ||
				*got.Cost != parley.Money(300+2*spoken) || !got.Usage.IsZero() || got.Outcome != outcome {
				t.Errorf("%s (limited: %t) the call is stored as %+v, %v, %s", how, limited, got.Estimate, got.Cost,
					got.Outcome)
			}
		}
		w.post(t, id, w.say("Go"))
		w.crash(t, func(claim store.Claim) { speak(claim, 1) })
		claim := w.claim(t)
		_, err := w.store.RecoverTurn(w.ctx, claim.Fence)
		must(t, "RecoverTurn", err)
		estimated("after a crash", parley.CallInterrupted)
		speak(claim, 2)
		asked := w.cancel(t, id)
		if !asked.Held {
			t.Errorf("the cancel is %+v", asked)
		}
		_, err = w.store.TakeCancel(w.ctx, w.scope, id, claim.Turn.ID)
		must(t, "TakeCancel", err)
		estimated("cancelled", parley.CallCancelled)
		if b := w.budget(t, id); limited && (b.Tokens != 2*(30+spoken) || int64(b.Cost) != 2*(300+2*spoken) ||
			b.ReservedTokens != 0) {
			t.Errorf("the budget is %+v", b)
		}
		if got := w.sessionState(t, id).Statistics; int64(got.Cost) != 2*(300+2*spoken) || got.Unpriced != 0 ||
			got.Unknown != 2 {
			t.Errorf("limited: %t, the session counts %+v", limited, got)
		}
		must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, id))
	}
}

// tried counts a dry run in a session, which was left in the middle.
func (w *world) tried(t reporter, session parley.ID) {
	t.Helper()
	run := store.DryRun{SessionID: session, RootID: session, AgentID: w.agent.ID, OwnerID: w.owner.ID}
	run.Calls = []parley.Call{{
		ID: parley.NewID(), Model: modelID, Outcome: parley.CallCancelled, CreatedAt: parley.Now(), Estimated: true,
		Estimate: &parley.CallEstimate{InputTokens: 6, OutputTokens: 4}, Cost: new(parley.Money(7)),
	}}
	must(t, "CountDryRun", w.store.CountDryRun(w.ctx, w.scope.WorkspaceID, run))
}

// budgetDryRuns: what a dry run used counts in the budgets that exist, and in those made later; a session that is gone
// leaves it to its agent.
func budgetDryRuns(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100), SessionCost: cents(100)})
	run := store.DryRun{SessionID: id, RootID: id, AgentID: w.agent.ID, OwnerID: w.owner.ID}
	count := func() {
		t.Helper()
		run.Calls = []parley.Call{{
			ID: parley.NewID(), Model: modelID, Outcome: parley.CallCompleted, CreatedAt: parley.Now(),
			Usage: parley.Usage{InputTokens: tokens(6), OutputTokens: tokens(4)}, Cost: new(parley.Money(7)),
		}}
		must(t, "CountDryRun", w.store.CountDryRun(w.ctx, w.scope.WorkspaceID, run))
	}
	before, err := w.store.Session(w.ctx, w.scope, id)
	must(t, "Session", err)
	count()
	if b := w.budget(t, id); b.Tokens != 10 || b.Cost != 7 || b.DayTokens != 10 || b.DayCost != 7 {
		t.Errorf("a budget that exists has %+v", b)
	}
	later := w.session(t)
	run.SessionID, run.RootID = later, later
	count()
	w.session(t) // of another tree
	subjects := []store.BudgetSubject{
		{ID: later, Scope: parley.BudgetOfSession}, {ID: w.agent.ID, Scope: parley.BudgetOfAgent},
	}
	must(t, "MakeBudgets", w.store.MakeBudgets(w.ctx, w.scope.WorkspaceID, subjects))
	for i, want := range []int64{10, 20} {
		if b := w.budgetOf(t, subjects[i]); b.DayTokens != want || i == 0 && b.Tokens != want {
			t.Errorf("a budget made later has %+v; want %d tokens", b, want)
		}
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, later))
	count()
	if b := w.budgetOf(t, subjects[1]); b.DayTokens != 30 {
		t.Errorf("of a session that is gone, the agent's budget has %+v", b)
	}
	after, err := w.store.Session(w.ctx, w.scope, id)
	must(t, "Session", err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("a dry run changes its session (-before +after):\n%s", diff)
	}
	sums := w.usage(t, lately(parley.UsageByPurpose))
	want := parley.UsageSum{
		Purpose: parley.UsageOfDryRuns, Calls: 2, Tokens: parley.Tokens{InputTokens: 12, OutputTokens: 8}, Cost: 14,
	}
	if diff := cmp.Diff([]parley.UsageSum{want}, sums); diff != "" { // of the deleted session, the first is left out
		t.Errorf("usage by purpose (-want +got):\n%s", diff)
	}
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	seen, err := w.store.Usage(w.ctx, stranger, lately(parley.UsageByPurpose))
	must(t, "Usage", err)
	if len(seen) != 0 {
		t.Errorf("a stranger sees %+v", seen)
	}
}

// budgetReleased: a call that the provider refused before sending anything returns its estimate.
func budgetReleased(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	w.post(t, id, w.say("Go"))
	claim := w.claim(t)
	begin, err := w.budgeted(claim.Fence, 1, w.asks(t, id, 80))
	must(t, "BeginStep", err)
	failed := store.CallSettled{
		CallID:  begin.Call.ID,
		Outcome: parley.CallFailed,
		Error:   &parley.Failure{Class: parley.ClassNetwork},
	}
	must(
		t,
		"RetryCall",
		w.store.RetryCall(w.ctx, claim.Fence, 1, failed, store.RetryNotice{Attempt: 2, Class: parley.ClassNetwork}),
	)
	if b := w.budget(t, id); b.Tokens != 0 || b.ReservedTokens != 0 {
		t.Errorf("the budget is %+v", b)
	}
	again := begin
	again.Call.ID, again.Call.Attempt, again.Reservation = parley.NewID(), 2, w.asks(t, id, 101)
	refused(t, "BeginCall", w.store.BeginCall(w.ctx, claim.Fence, again), parley.CodeOverBudget)
	again.Reservation = w.asks(t, id, 100)
	must(t, "BeginCall", w.store.BeginCall(w.ctx, claim.Fence, again))
}

// park parks a turn that a session's budget has no room for.
func (w *world) park(fence store.Fence, reservation *store.Reservation, session *parley.Limits) (parley.Turn, error) {
	return w.store.ParkRefused(w.ctx, fence, store.Refusal{Reservation: *reservation, Reason: parley.WaitBudget,
		Limit: parley.LimitSessionTokens, Sentence: "No room.", Session: session})
}

// budgetWakes: a turn without room waits, holding nothing, until a call of its tree leaves room.
func budgetWakes(t *testing.T, w *world) {
	root := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	child := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	w.post(t, root, w.say("Go"))
	first := w.claim(t)
	begin, err := w.budgeted(first.Fence, 1, w.asks(t, root, 60))
	must(t, "BeginStep", err)
	w.post(t, child, w.say("Go"))
	second := w.claim(t)
	turn, err := w.park(second.Fence, w.asks(t, root, 50), nil)
	must(t, "ParkRefused", err)
	events, err := w.store.Events(w.ctx, w.scope, child, 0, parley.MaxPage)
	must(t, "Events", err)
	const data = `,"reason":"budget","limit":"session_tokens","sentence":"No room."}`
	if last := events[len(events)-1]; last.Type != parley.EventSessionWaiting ||
		string(last.Data) != `{"turn_id":"`+turn.ID.String()+`"`+data {
		t.Errorf("the last event is %s %s", last.Type, last.Data)
	}
	if s := w.check(
		t,
		child,
	).Session; turn.Status != parley.TurnWaiting || s.Status != parley.SessionWaiting ||
		s.WaitReason != parley.WaitBudget {
		t.Errorf("the turn is %s, the session %s for %s", turn.Status, s.Status, s.WaitReason)
	}
	w.drainOutbox(t)
	w.claimsNothing(t)
	w.settle(t, first.Fence, used(begin, 20))
	w.drainOutbox(t)
	again := w.claim(t)
	if again.Session.ID != child || again.Turn.ID != turn.ID {
		t.Fatalf("%s resumed instead of the waiting session", again.Session.ID)
	}
	_, err = w.budgeted(again.Fence, 1, w.asks(t, root, 50))
	must(t, "BeginStep", err)
}

// budgetParkRaces: a turn does not park for an obstacle that is gone, because nothing would wake it.
func budgetParkRaces(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	w.post(t, id, w.say("Go"))
	claim := w.claim(t)
	limits := claim.Session.Limits
	old := w.asks(t, id, 200)
	before := w.snapshot(t, id)
	_, err := w.park(claim.Fence, w.asks(t, id, 100), limits)
	refused(t, "ParkRefused with room", err, parley.CodeMore)
	_, err = w.park(claim.Fence, old, nil)
	refused(t, "ParkRefused after reading other limits", err, parley.CodeMore)
	w.unchanged(t, "a park that was refused", id, before)
	stale := *old
	stale.Charges = []store.Charge{old.Charges[0]}
	stale.Charges[0].Revision--
	_, err = w.park(claim.Fence, &stale, limits)
	refused(t, "ParkRefused at an older revision", err, parley.CodeMore)
	w.unchanged(t, "a park that was refused", id, before)
	_, err = w.park(claim.Fence, old, limits)
	must(t, "ParkRefused", err)
}

// budgetRaised: a raised limit resumes waiting turns: the session's own immediately, those of its tool sessions through
// the outbox. A new model does, too.
func budgetRaised(t *testing.T, w *world) {
	root := w.capped(t, parley.Limits{SessionTokens: tokens(10)})
	child := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	for _, id := range []parley.ID{root, child} {
		w.post(t, id, w.say("Go"))
		claim := w.claim(t)
		_, err := w.park(claim.Fence, w.asks(t, root, 50), claim.Session.Limits)
		must(t, "ParkRefused", err)
	}
	revision := w.budget(t, root).Revision
	var change store.SessionChange
	change.Settings.Limits = to(&parley.LimitsPatch{SessionTokens: to(tokens(100))})
	session, err := w.store.UpdateSession(w.ctx, w.scope, root, change)
	must(t, "UpdateSession", err)
	if session.Status != parley.SessionRunning || session.WaitReason != "" {
		t.Errorf("the raised session is %s %s", session.Status, session.WaitReason)
	}
	if b := w.budget(t, root); b.Revision == revision || *b.Limits.SessionTokens != 100 {
		t.Errorf("the budget is %+v", b)
	}
	if claim := w.claim(t); claim.Session.ID != root {
		t.Errorf("%s resumed first", claim.Session.ID)
	}
	w.drainOutbox(t)
	claim := w.claim(t)
	if claim.Session.ID != child {
		t.Errorf("%s resumed instead of the tool session", claim.Session.ID)
	}
	_, err = w.store.ParkRefused(
		w.ctx,
		claim.Fence,
		store.Refusal{Reason: parley.WaitBudget, Sentence: "No price.", Certain: true},
	)
	must(t, "ParkRefused", err)
	_, err = w.store.UpdateSession(
		w.ctx,
		w.scope,
		child,
		store.SessionChange{Settings: parley.SettingsPatch{Model: to(parley.ModelID("sim/echo"))}},
	)
	must(t, "UpdateSession", err)
	if claim := w.claim(t); claim.Session.ID != child {
		t.Errorf("%s resumed with another model", claim.Session.ID)
	}
	w.check(t, root)
	w.check(t, child)
}

// budgetAgents: an agent's budget covers all its sessions; a new version with a higher limit resumes waiting turns.
func budgetAgents(t *testing.T, w *world) {
	agent := w.createAgent(t, "thrifty")
	agent.Limits = &parley.Limits{DailyTokens: tokens(10)}
	agent, err := w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	subject := store.BudgetSubject{ID: agent.ID, Scope: parley.BudgetOfAgent}
	must(t, "MakeBudgets", w.store.MakeBudgets(w.ctx, w.scope.WorkspaceID, []store.BudgetSubject{subject}))
	id := w.session(t, func(s *parley.Session) { s.AgentID = agent.ID })
	w.post(t, id, w.say("Go"))
	claim := w.claim(t)
	b := w.budgetOf(t, subject)
	reservation := &store.Reservation{
		Reserved: parley.Reserved{Tokens: 20},
		Charges:  []store.Charge{{Subject: agent.ID, Revision: b.Revision, DailyTokens: b.Limits.DailyTokens}},
	}
	_, err = w.budgeted(claim.Fence, 1, reservation)
	refused(t, "BeginStep", err, parley.CodeOverBudget)
	_, err = w.park(claim.Fence, reservation, nil)
	must(t, "ParkRefused", err)
	agent.Limits = &parley.Limits{DailyTokens: tokens(100)}
	agent, err = w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	w.drainOutbox(t)
	claim = w.claim(t)
	_, err = w.budgeted(claim.Fence, 1, reservation)
	refused(t, "BeginStep under the old limit", err, parley.CodeOverBudget)
	b = w.budgetOf(t, subject)
	reservation.Charges[0].Revision, reservation.Charges[0].DailyTokens = b.Revision, b.Limits.DailyTokens
	_, err = w.budgeted(claim.Fence, 1, reservation)
	must(t, "BeginStep", err)
	agent.Limits = &parley.Limits{}
	_, err = w.store.UpdateAgent(w.ctx, agent)
	must(t, "UpdateAgent", err)
	if b := w.budgetOf(t, subject); b.Made || !b.Limits.IsZero() {
		t.Errorf("without limits the budget is %+v", b)
	}
}

// budgetMade: a budget starts with the spending in the record, including tool sessions.
func budgetMade(t *testing.T, w *world) {
	id := w.session(t)
	child := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, id })
	w.exchange(t, id, "one", "two")
	w.exchange(t, child, "three", "four")
	subjects := []store.BudgetSubject{
		{ID: id, Scope: parley.BudgetOfSession},
		{ID: w.agent.ID, Scope: parley.BudgetOfAgent},
	}
	if b := w.budget(t, id); b.Made || b.AgentID != w.agent.ID {
		t.Errorf("before, the budget is %+v", b)
	}
	for range 2 {
		must(t, "MakeBudgets", w.store.MakeBudgets(w.ctx, w.scope.WorkspaceID, subjects))
	}
	for _, subject := range subjects {
		b := w.budgetOf(t, subject)
		if !b.Made || b.DayTokens != 28 || b.DayCost != 14 || subject.ID == id && (b.Tokens != 28 || b.Cost != 14) {
			t.Errorf("the budget of the %s is %+v", subject.Scope, b)
		}
	}
}

func budgetWarnsOnce(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	w.post(t, id, w.say("Go"))
	claim := w.claim(t)
	warning := parley.LimitWarning{Limit: parley.LimitSessionTokens, Scope: parley.BudgetOfSession, Spent: 85, Of: 100}
	must(t, "WarnLimit", w.store.WarnLimit(w.ctx, claim.Fence, warning, id))
	before := w.snapshot(t, id)
	refused(t, "WarnLimit again", w.store.WarnLimit(w.ctx, claim.Fence, warning, id), parley.CodeConflict)
	w.unchanged(t, "a second warning", id, before)
	daily := parley.LimitWarning{Limit: parley.LimitDailyTokens, Scope: parley.BudgetOfSession, Spent: 85, Of: 100}
	must(t, "WarnLimit of another limit", w.store.WarnLimit(w.ctx, claim.Fence, daily, id))
	if got := w.budget(t, id).Warned; got != parley.LimitSessionTokens.WarnedBit()|parley.LimitDailyTokens.WarnedBit() {
		t.Errorf("warned of %b", got)
	}
	var change store.SessionChange
	change.Settings.Limits = to(&parley.LimitsPatch{SessionTokens: to(tokens(101))})
	_, err := w.store.UpdateSession(w.ctx, w.scope, id, change)
	must(t, "UpdateSession", err)
	must(t, "WarnLimit of a new limit", w.store.WarnLimit(w.ctx, claim.Fence, warning, id))
}

// budgetDeleted: reservations of a deleted session stay spent in the budgets that it shared; its own budget goes.
func budgetDeleted(t *testing.T, w *world) {
	root := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	child := w.session(t, func(s *parley.Session) { s.Kind, s.ParentSessionID = parley.KindTool, root })
	w.post(t, child, w.say("Go"))
	claim := w.claim(t)
	_, err := w.budgeted(claim.Fence, 1, w.asks(t, root, 40))
	must(t, "BeginStep", err)
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, child))
	if b := w.budget(t, root); b.Tokens != 40 || b.ReservedTokens != 0 {
		t.Errorf("the budget is %+v", b)
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, root))
	w.drainOutbox(t)
	budgets, err := w.store.Budgets(
		w.ctx,
		w.scope.WorkspaceID,
		[]store.BudgetSubject{{ID: root, Scope: parley.BudgetOfSession}},
	)
	must(t, "Budgets", err)
	if len(budgets) != 0 {
		t.Errorf("the deleted session's budget is %+v", budgets)
	}
}

// budgetForeign: subjects of another workspace do not exist, and are charged nothing.
func budgetForeign(t *testing.T, w *world) {
	id := w.capped(t, parley.Limits{SessionTokens: tokens(100)})
	other := w.neighbour(t, "other")
	budgets, err := other.store.Budgets(
		w.ctx,
		other.scope.WorkspaceID,
		[]store.BudgetSubject{{ID: id, Scope: parley.BudgetOfSession}, {ID: w.agent.ID, Scope: parley.BudgetOfAgent}},
	)
	must(t, "Budgets", err)
	if len(budgets) != 0 {
		t.Errorf("another workspace reads %+v", budgets)
	}
	claim := other.started(t, "Go")
	_, err = other.budgeted(claim.Fence, 1, w.asks(t, id, 50))
	must(t, "BeginStep", err) // a missing budget has no limit
	if b := w.budget(t, id); b.ReservedTokens != 0 {
		t.Errorf("another workspace's call was charged: %+v", b)
	}
}
