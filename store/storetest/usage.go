package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/parley"
	"example.org/parley/store"
)

func testUsage(t *testing.T, open Open) {
	cases(t, open, map[string]func(*testing.T, *world){
		"SumsByGroup":     usageGroups,
		"OnlyWhatIsSeen":  usageSeen,
		"UnknownIsSaid":   usageUnknown,
		"NoHitIsNone":     usageNoHit,
		"OpenCallsAreNot": usageOpen,
	})
}

// lately asks for the usage of the last minutes.
func lately(group parley.UsageGroup) store.UsageQuery {
	now := time.Now()
	return store.UsageQuery{
		Group: group,
		From:  parley.TimeOf(now.Add(-time.Hour)),
		To:    parley.TimeOf(now.Add(time.Hour)),
		Limit: 10,
	}
}

func (w *world) usage(t reporter, query store.UsageQuery) []parley.UsageSum {
	t.Helper()
	sums, err := w.store.Usage(w.ctx, w.scope, query)
	must(t, "Usage", err)
	return sums
}

// sum returns the usage of n exchanges of the world.
func sum(n int64) parley.UsageSum {
	return parley.UsageSum{
		Calls:            n,
		Tokens:           parley.Tokens{InputTokens: 10 * n, OutputTokens: 4 * n, CachedTokens: 3 * n},
		Cost:             parley.Money(7 * n),
		CacheHits:        n,
		CacheWriteTokens: 2 * n,
		Saved:            parley.Money(-5 * n),
	}
}

func of(u parley.UsageSum, change func(*parley.UsageSum)) parley.UsageSum {
	change(&u)
	return u
}

func usageGroups(t *testing.T, w *world) {
	other := w.createAgent(t, "other")
	first := w.session(t, func(s *parley.Session) { s.Title = "First" })
	second := w.session(t, func(s *parley.Session) { s.AgentID, s.Title = other.ID, "Second" })
	w.exchange(t, first, "one", "1")
	w.exchange(t, second, "one", "1")
	w.exchange(t, second, "two", "2")
	today := parley.TimeOf(time.Now().UTC().Truncate(24 * time.Hour))
	for group, want := range map[parley.UsageGroup][]parley.UsageSum{
		"": {sum(3)},
		parley.UsageByAgent: {of(sum(2), func(u *parley.UsageSum) { u.AgentID, u.Name = other.ID, other.Slug }),
			of(sum(1), func(u *parley.UsageSum) { u.AgentID, u.Name = w.agent.ID, w.agent.Slug })},
		parley.UsageByModel: {of(sum(3), func(u *parley.UsageSum) { u.Model = modelID })},
		parley.UsageBySession: {of(sum(2), func(u *parley.UsageSum) { u.SessionID, u.Name = second, "Second" }),
			of(sum(1), func(u *parley.UsageSum) { u.SessionID, u.Name = first, "First" })},
		parley.UsageByDay: {of(sum(3), func(u *parley.UsageSum) { u.Day = today })},
	} {
		if diff := cmp.Diff(want, w.usage(t, lately(group))); diff != "" {
			t.Errorf("by %q (-want +got):\n%s", group, diff)
		}
	}
	for group, want := range map[parley.UsageGroup][]parley.UsageSum{
		"":                  {sum(3)},
		parley.UsageByModel: {of(sum(3), func(u *parley.UsageSum) { u.Model, u.Day = modelID, today })},
		parley.UsageByAgent: {of(sum(2), func(u *parley.UsageSum) {
			u.AgentID, u.Name, u.Day = other.ID, other.Slug, today
		}),
			of(sum(1), func(u *parley.UsageSum) { u.AgentID, u.Name, u.Day = w.agent.ID, w.agent.Slug, today })},
		parley.UsageByDay: {of(sum(3), func(u *parley.UsageSum) { u.Day = today })},
	} {
		daily := lately(group)
		daily.Daily = true
		if diff := cmp.Diff(want, w.usage(t, daily)); diff != "" {
			t.Errorf("by %q and day (-want +got):\n%s", group, diff)
		}
	}
	one := lately(parley.UsageBySession)
	one.Limit = 1
	if sums := w.usage(t, one); len(sums) != 1 || sums[0].SessionID != second {
		t.Errorf("the most expensive session is %+v", sums)
	}
	query := lately("")
	for name, of := range map[string]struct {
		set   func(*store.UsageQuery)
		calls int64
	}{
		"one agent":      {func(q *store.UsageQuery) { q.AgentIDs = []parley.ID{other.ID} }, 2},
		"both agents":    {func(q *store.UsageQuery) { q.AgentIDs = []parley.ID{other.ID, w.agent.ID} }, 3},
		"one session":    {func(q *store.UsageQuery) { q.SessionIDs = []parley.ID{first} }, 1},
		"another's":      {func(q *store.UsageQuery) { q.SessionIDs = []parley.ID{parley.NewID()} }, 0},
		"another's area": {func(q *store.UsageQuery) { q.ProjectIDs = []parley.ID{parley.NewID()} }, 0},
	} {
		query := lately("")
		of.set(&query)
		if sums := w.usage(t, query); sums[0].Calls != of.calls {
			t.Errorf("of %s: %+v", name, sums)
		}
	}
	query.AgentIDs = []parley.ID{other.ID}
	query.To = query.From
	query.From -= 1000
	if sums := w.usage(t, query); sums[0].Calls != 0 {
		t.Errorf("of another time: %+v", sums)
	}
}

func usageSeen(t *testing.T, w *world) {
	mine, shared := w.session(t), w.session(t, func(s *parley.Session) { s.Visibility = parley.VisibilityWorkspace })
	w.exchange(t, mine, "one", "1")
	w.exchange(t, shared, "one", "1")
	stranger := store.Scope{WorkspaceID: w.scope.WorkspaceID, ViewerID: parley.NewID()}
	sums, err := w.store.Usage(w.ctx, stranger, lately(parley.UsageBySession))
	must(t, "Usage", err)
	if len(sums) != 1 || sums[0].SessionID != shared {
		t.Errorf("another member sees %+v", sums)
	}
	must(t, "DeleteSession", w.store.DeleteSession(w.ctx, w.scope, shared))
	if sums := w.usage(t, lately("")); sums[0].Calls != 1 {
		t.Errorf("with one of two sessions deleted: %+v", sums)
	}
	n := w.neighbour(t, "neighbour")
	if sums := n.usage(t, lately("")); sums[0].Calls != 0 {
		t.Errorf("another workspace sees %+v", sums)
	}
}

func usageUnknown(t *testing.T, w *world) {
	claim := w.started(t, "one")
	settle := settlement(w.begin(t, claim.Fence, 1), "hello")
	settle.Call.Usage, settle.Call.Cost, settle.Call.Saved, settle.End = parley.Usage{}, nil, nil, completed()
	w.settle(t, claim.Fence, settle)
	want := []parley.UsageSum{{Calls: 1, Tokens: parley.Tokens{Unknown: 1}, Unpriced: 1}}
	if diff := cmp.Diff(want, w.usage(t, lately(""))); diff != "" {
		t.Errorf("of a call without any figures (-want +got):\n%s", diff)
	}
}

// usageNoHit: a provider that reports no cached tokens counts as no hit, in the sums and in the session's own
// statistics.
func usageNoHit(t *testing.T, w *world) {
	claim := w.started(t, "one")
	settle := settlement(w.begin(t, claim.Fence, 1), "hello")
	settle.Call.Usage.CachedTokens, settle.End = tokens(0), completed()
	w.settle(t, claim.Fence, settle)
	want := of(sum(1), func(u *parley.UsageSum) { u.CachedTokens, u.CacheHits = 0, 0 })
	if diff := cmp.Diff([]parley.UsageSum{want}, w.usage(t, lately(""))); diff != "" {
		t.Errorf("of a call without a hit (-want +got):\n%s", diff)
	}
	if s := w.check(
		t,
		claim.Fence.SessionID,
	).Session.Statistics; s.Calls != 1 || s.CacheHits != 0 ||
		s.CachedTokens != 0 {
		t.Errorf("the session's statistics are %+v; want one call and no hit", s)
	}
}

func usageOpen(t *testing.T, w *world) {
	w.begin(t, w.started(t, "one").Fence, 1)
	if sums := w.usage(t, lately(parley.UsageByDay)); len(sums) != 0 {
		t.Errorf("while the call runs: %+v", sums)
	}
}
