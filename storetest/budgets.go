package storetest

import (
	"encoding/json"
	"testing"

	"parley"
)

func testBudgets(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"Warning": testLimitWarning,
		"Patched": testLimitsPatched,
	})
}

// A warning is an event of the turn, with money in dollars; who lost the claim
// gives none.
func testLimitWarning(t *testing.T, w *world) {
	claim := w.started(t, "Go")
	warning := parley.LimitWarning{Limit: parley.LimitSessionCost, Scope: parley.BudgetOfSession, Spent: 900_000_000, Of: 1_000_000_000}
	must(t, "WarnLimit", w.store.WarnLimit(w.ctx, claim.Fence, warning))
	lost := claim.Fence
	lost.Epoch--
	refused(t, "WarnLimit", w.store.WarnLimit(w.ctx, lost, warning), parley.CodeFenced)
	events, err := w.store.Events(w.ctx, w.scope, claim.Session.ID, 0, parley.MaxPage)
	must(t, "Events", err)
	last := events[len(events)-1]
	const want = `,"limit":"session_cost","scope":"session","spent":0.9,"of":1,"share":0.900}`
	if last.Type != parley.EventLimitWarning || string(last.Data) != `{"turn_id":"`+claim.Turn.ID.String()+`"`+want {
		t.Errorf("the last event is %s %s", last.Type, last.Data)
	}
}

// Limits change one by one, null lifts one, and null in place of them all.
func testLimitsPatched(t *testing.T, w *world) {
	id := w.session(t, func(s *parley.Session) { s.Limits = &parley.Limits{MaxSteps: new(7), SessionTokens: tokens(1000)} })
	for _, c := range []struct{ patch, want string }{
		{`{"session_tokens":2000,"daily_cost":1.25}`, `{"max_steps":7,"session_tokens":2000,"daily_cost":1.25}`},
		{`{"max_steps":null}`, `{"session_tokens":2000,"daily_cost":1.25}`},
		{`null`, `{}`},
	} {
		var change parley.Change[*parley.LimitsPatch]
		must(t, "Unmarshal", json.Unmarshal([]byte(c.patch), &change))
		_, err := w.store.UpdateSession(w.ctx, w.scope, id, parley.SessionChange{Overrides: parley.OverridesChange{Limits: change}})
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
